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
 * A value that a step changes. `raw` is its new raw value. Where only the tools of the device say what becomes of it, `human` has the new
 * value in human units instead. Without both, the new value is unknown.
 */
export interface ValueChange {
  readonly value: CompiledValue;
  readonly raw?: Json;
  readonly human?: Json;
}

/** The parts of a device that determine what a step changes. */
type SteppedDevice = Pick<CompiledDevice, 'tools' | 'values' | 'live'>;

/**
 * Returns the outcome of a command or write in the device's current state. `fresh` values replace the last reported values. The outcome
 * follows from the raw step, so a rule about a value applies whichever tool name, unit or path the caller uses. A command or attribute that
 * the hub does not know may change its whole cluster.
 */
export function outcomeOf(step: DeviceStep, device: SteppedDevice, fresh?: LiveValues): StepOutcome {
  return outcomeOfChanges(step, changesOfStep(step, device, fresh));
}

/** Returns the outcome of a command or write that makes these changes. */
export function outcomeOfChanges(step: DeviceStep, changes: readonly ValueChange[]): StepOutcome {
  const values = Object.fromEntries(changes.flatMap((change): [string, Json][] => namedValue(change, step)));
  const unforeseen = [...new Set(changes.map(({ value }) => value.name))].filter((name) => !Object.hasOwn(values, name));
  return { ...(Object.keys(values).length > 0 && { values }), ...(unforeseen.length > 0 && { unforeseen }) };
}

/** Returns the values that a command or write changes in the device's current state, as `outcomeOf` does. */
export function changesOfStep(step: DeviceStep, device: SteppedDevice, fresh?: LiveValues): readonly ValueChange[] {
  if (step.kind === 'read') return [];
  const here = device.values.filter((value) => value.endpoint === step.endpoint);
  const path = `${step.cluster}.${elementOf(step)}`;
  if (ANY_STATE_CLUSTERS.has(path) || ANY_STATE_CLUSTERS.has(step.cluster)) return here.map((value) => ({ value }));
  const touched = new TouchedCluster(step, (...at) => fresh?.(...at) ?? device.live(...at));
  const changes = KNOWN_CHANGES[path]?.(touched);
  if (changes) return changedAttributes(changes, step.cluster, here);
  const own = here.filter((value) => value.cluster === step.cluster);
  if (step.kind === 'invoke') return changedByTools(targetsOfTools(step, device.tools), own, here);
  const written = own.filter((value) => value.attribute === step.attribute);
  if (written.length > 0) return changedAttributes({ [step.attribute]: step.value }, step.cluster, written);
  return own.map((value) => ({ value }));
}

/** Returns the name and new value of a change; nothing if it is not known. A command can also end a value: a closed valve has no time left. */
function namedValue({ value, raw, human }: ValueChange, { kind }: DeviceStep): [string, Json][] {
  if (human !== undefined) return [[value.name, human]];
  if (raw === null && kind === 'invoke') return [[value.name, null]];
  const shown = raw === undefined || raw === null ? null : value.toHuman(raw);
  return shown === null ? [] : [[value.name, shown]];
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

function changedAttributes(changes: AttributeChanges, touchedCluster: string, here: readonly CompiledValue[]): readonly ValueChange[] {
  return here.flatMap((value) => {
    const isOwn = value.cluster === touchedCluster && Object.hasOwn(changes, value.attribute);
    const path = isOwn ? value.attribute : `${value.cluster}.${value.attribute}`;
    if (!Object.hasOwn(changes, path)) return [];
    const raw = changes[path];
    return [raw === undefined ? { value } : { value, raw }];
  });
}

function changedByTools(targets: JsonObject, own: readonly CompiledValue[], here: readonly CompiledValue[]): readonly ValueChange[] {
  const touched = here.filter((value) => own.includes(value) || Object.hasOwn(targets, value.name));
  return touched.map((value) => {
    const human = targets[value.name];
    return human === undefined ? { value } : { value, human };
  });
}

/** Returns the values that this command sets, according to the device's tools for the command. */
function targetsOfTools(step: DeviceStep & { readonly kind: 'invoke' }, tools: CompiledDevice['tools']): JsonObject {
  const same = tools.filter(
    (tool) => tool.endpoint === step.endpoint && tool.cluster === step.cluster && tool.elements.includes(step.command),
  );
  return Object.fromEntries(same.flatMap((tool) => Object.entries(tool.outcome?.(step.fields) ?? {})));
}
