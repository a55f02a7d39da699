import type { Effect } from '../../core/auth/principal.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { type AttributeChanges, KNOWN_CHANGES, TouchedCluster } from './attribute-changes.ts';
import type { CompiledValue, LiveValues } from './cluster-view.ts';
import type { CompiledDevice, DeviceStep } from './compiled-device.ts';

/** `values` are the values that a step sets, by name in human units. `unforeseen` names the values that may change in unknown ways. */
export type StepOutcome = Pick<Effect, 'values' | 'unforeseen'>;

/** Outcome for a device without a description: any value may change. */
export const UNKNOWN_OUTCOME = { unforeseen: ['*'] } as const satisfies StepOutcome;

/**
 * After these commands, such as recalling a scene, an endpoint can have any state; so it can at the next recall of a scene that they wrote.
 * `Actions` stands for all commands of that cluster.
 */
const ANY_STATE_CLUSTERS = new Set([
  'ScenesManagement.RecallScene',
  'ScenesManagement.AddScene',
  'ScenesManagement.StoreScene',
  'ScenesManagement.CopyScene',
  'OnOff.OnWithRecallGlobalScene',
  'Actions',
]);

/**
 * Returns the outcome of a command or write in the device's current state. `fresh` values replace the last reported values. The outcome
 * follows from the raw step, so a rule about a value applies whichever tool name, unit or path the caller uses. A command or attribute that
 * the hub does not know may change its whole cluster.
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

/** Returns the command or attribute that a step uses. */
export function elementOf(step: DeviceStep): string {
  return step.kind === 'invoke' ? step.command : step.attribute;
}

/** Returns the names of a cluster's values. Without a cluster, or if it has no values, returns the names of all values on the endpoint. */
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

/** Returns the values that this command sets, according to the device's tools for the command. */
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
