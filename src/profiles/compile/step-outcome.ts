import type { Effect } from '../../core/auth/principal.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { type AttributeChanges, KNOWN_CHANGES, TouchedCluster } from './attribute-changes.ts';
import type { CompiledValue, LiveValues } from './cluster-view.ts';
import type { CompiledDevice, DeviceStep } from './compiled-device.ts';

/** The values that a step sets, by the names of the device's values in human units, and those that it may change besides. */
export type StepOutcome = Pick<Effect, 'values' | 'unforeseen'>;

/** Of a device without a description: any value. */
export const UNKNOWN_OUTCOME = { unforeseen: ['*'] } as const satisfies StepOutcome;

/** These bring an endpoint into a state that the call does not contain. */
const ANY_STATE_CLUSTERS = new Set(['ScenesManagement.RecallScene', 'OnOff.OnWithRecallGlobalScene', 'Actions']);

/**
 * Returns the outcome of one command or write as the device is now, whatever tool it comes from; `fresh` values count before the last
 * reported ones. It is derived from the raw step, so that a rule about a value cannot be passed by another name, unit or path. An unknown
 * element is assumed to change the whole cluster.
 */
export function outcomeOf(step: DeviceStep, device: Pick<CompiledDevice, 'tools' | 'values' | 'live'>, fresh?: LiveValues): StepOutcome {
  if (step.kind === 'read') return {};
  const here = device.values.filter((value) => value.endpoint === step.endpoint);
  const path = `${step.cluster}.${elementOf(step)}`;
  if (ANY_STATE_CLUSTERS.has(path) || ANY_STATE_CLUSTERS.has(step.cluster)) return outcome({}, here);
  const touched = new TouchedCluster(step, (...at) => fresh?.(...at) ?? device.live(...at));
  const changes = KNOWN_CHANGES[path]?.(touched);
  if (changes) return outcomeOfChanges(changes, step.cluster, here);
  const own = here.filter((value) => value.cluster === step.cluster);
  if (step.kind === 'invoke') return outcome(targetsOfTools(step, device.tools), own);
  const written = own.filter((value) => value.attribute === step.attribute);
  return written.length > 0 ? outcomeOfChanges({ [step.attribute]: step.value }, step.cluster, written) : outcome({}, own);
}

/** Command or attribute that a step touches. */
export function elementOf(step: DeviceStep): string {
  return step.kind === 'invoke' ? step.command : step.attribute;
}

/** Returns names of the values of a cluster, or of the whole endpoint when no cluster is given or it has none. */
export function valueNames(
  values: readonly CompiledValue[],
  at: { readonly endpoint: number; readonly cluster?: string },
): readonly string[] {
  const here = values.filter((value) => value.endpoint === at.endpoint);
  const own = here.filter((value) => value.cluster.toLowerCase() === at.cluster?.toLowerCase());
  return [...new Set((own.length > 0 ? own : here).map((value) => value.name))];
}

function outcomeOfChanges(changes: AttributeChanges, touchedCluster: string, here: readonly CompiledValue[]): StepOutcome {
  const values: Record<string, Json> = {};
  const touched: CompiledValue[] = [];
  for (const value of here) {
    const isOwn = value.cluster === touchedCluster && Object.hasOwn(changes, value.attribute);
    const path = isOwn ? value.attribute : `${value.cluster}.${value.attribute}`;
    if (!Object.hasOwn(changes, path)) continue;
    touched.push(value);
    const raw = changes[path] ?? null;
    const human = raw === null ? null : value.toHuman(raw);
    if (human !== null) values[value.name] = human;
  }
  return outcome(values, touched);
}

/** Returns the targets of the tools that send the same command with the same fixed fields. */
function targetsOfTools(step: DeviceStep & { readonly kind: 'invoke' }, tools: CompiledDevice['tools']): JsonObject {
  const same = tools.filter(
    (tool) => tool.endpoint === step.endpoint && tool.cluster === step.cluster && tool.elements.includes(step.command),
  );
  return Object.fromEntries(same.flatMap((tool) => Object.entries(tool.outcome?.(step.fields) ?? {})));
}

function outcome(values: JsonObject, touched: readonly CompiledValue[]): StepOutcome {
  const unforeseen = [...new Set(touched.map(({ name }) => name))].filter((name) => !Object.hasOwn(values, name));
  return { ...(Object.keys(values).length > 0 && { values }), ...(unforeseen.length > 0 && { unforeseen }) };
}
