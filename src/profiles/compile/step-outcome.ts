import type { Effect } from '../../core/auth/authorizer.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { type AttributeChange, type Changes, CLIMATE_CHANGES, LIGHT_CHANGES, MOVING_CHANGES, TouchedCluster } from './attribute-changes.ts';
import type { LiveValues } from './cluster-view.ts';
import type { CompiledValue } from './compile-value.ts';
import { type DeviceStep, elementOf, type ToolBlueprint } from './compiled-device.ts';

/** What a step sets, by the names of the device's values in human units, and what it may change besides. */
export type StepOutcome = Pick<Effect, 'values' | 'unforeseen'>;

/** What the outcome of a step depends on. */
export interface OutcomeContext {
  readonly tools: readonly ToolBlueprint[];
  readonly values: readonly CompiledValue[];
  readonly live: LiveValues;
}

/** Of a device that nobody has described yet: any value. */
export const UNKNOWN_OUTCOME = { unforeseen: ['*'] } as const satisfies StepOutcome;

const KNOWN: ReadonlyMap<string, Changes> = new Map(Object.entries({ ...LIGHT_CHANGES, ...CLIMATE_CHANGES, ...MOVING_CHANGES }));
/** These bring an endpoint into a state of which the call says nothing. */
const ANY_STATE_CLUSTERS = new Set(['ScenesManagement.RecallScene', 'OnOff.OnWithRecallGlobalScene', 'Actions']);

/**
 * The outcome of one command or write, whatever tool it comes from: it is read off the raw step, so that a rule about a
 * value cannot be passed by another name, unit or path. What nobody knows is assumed to change the whole cluster.
 */
export function outcomeOf(step: DeviceStep, ground: OutcomeContext): StepOutcome {
  if (step.kind === 'read') return {};
  const here = ground.values.filter((value) => value.endpoint === step.endpoint);
  const path = `${step.cluster}.${elementOf(step)}`;
  if (ANY_STATE_CLUSTERS.has(path) || ANY_STATE_CLUSTERS.has(step.cluster)) return shown({}, here);
  const changes = KNOWN.get(path)?.(touchedBy(step, ground.live));
  if (changes) return outcomeOfChanges(withCluster(changes, step.cluster), here);
  const own = here.filter((value) => value.cluster === step.cluster);
  if (step.kind === 'invoke') return shown(namedByTools(step, ground.tools), own);
  const written = own.filter((value) => value.attribute === step.attribute);
  return written.length > 0 ? outcomeOfChanges([{ ...step, raw: step.value }], written) : shown({}, own);
}

/** Names of the values of a cluster, or of a whole endpoint when none is named or none has that name. */
export function valueNames(
  values: readonly CompiledValue[],
  at: { readonly endpoint: number; readonly cluster?: string },
): readonly string[] {
  const here = values.filter((value) => value.endpoint === at.endpoint);
  const own = here.filter((value) => value.cluster.toLowerCase() === at.cluster?.toLowerCase());
  return [...new Set((own.length > 0 ? own : here).map((value) => value.name))];
}

function touchedBy(step: Exclude<DeviceStep, { kind: 'read' }>, live: LiveValues): TouchedCluster {
  const given = step.kind === 'invoke' ? { fields: step.fields } : { value: step.value };
  return new TouchedCluster(step.cluster, given, (cluster, attribute) => live(step.endpoint, cluster, attribute));
}

function withCluster(changes: readonly AttributeChange[], cluster: string): readonly Required<AttributeChange>[] {
  return changes.map((change) => ({ cluster, ...change }));
}

function outcomeOfChanges(changes: readonly Required<AttributeChange>[], here: readonly CompiledValue[]): StepOutcome {
  const values: Record<string, Json> = {};
  const touched: CompiledValue[] = [];
  for (const value of here) {
    const change = changes.find(({ cluster, attribute }) => cluster === value.cluster && attribute === value.attribute);
    if (!change) continue;
    touched.push(value);
    const human = change.raw === undefined || change.raw === null ? null : value.toHuman(change.raw);
    if (human !== null) values[value.name] = human;
  }
  return shown(values, touched);
}

/** What the tools that send the same command with the same fixed fields say it does. */
function namedByTools(step: DeviceStep & { readonly kind: 'invoke' }, tools: readonly ToolBlueprint[]): JsonObject {
  const same = tools.filter(
    (tool) => tool.endpoint === step.endpoint && tool.cluster === step.cluster && tool.elements.includes(step.command),
  );
  return Object.fromEntries(same.flatMap((tool) => Object.entries(tool.outcome?.(step.fields) ?? {})));
}

function shown(values: JsonObject, touched: readonly CompiledValue[]): StepOutcome {
  const unforeseen = [...new Set(touched.map(({ name }) => name))].filter((name) => !Object.hasOwn(values, name));
  return { ...(Object.keys(values).length > 0 && { values }), ...(unforeseen.length > 0 && { unforeseen }) };
}
