import type { Json } from '../../core/json.ts';
import { COORDINATES, isCoordinateOfOtherMode } from '../compile/attribute-changes.ts';
import type { CompiledValue } from '../compile/cluster-view.ts';
import type { CompiledDevice } from '../compile/compiled-device.ts';
import { changesOfStep, type ValueChange } from '../compile/step-outcome.ts';
import { type DeviceEffect, onePerAttribute, touchedValues } from './touched-values.ts';

/** Attributes that a device computes from its settings and that nothing can set, by cluster. They come back when the settings do (§4.2.7). */
const COMPUTED: Readonly<Record<string, readonly string[]>> = {
  PumpConfigurationAndControl: ['EffectiveOperationMode', 'EffectiveControlMode', 'Capacity', 'Speed', 'Power', 'PumpStatus'],
};

/**
 * Attributes that recalling a scene changes, by cluster: those with quality S (Application Clusters §1.4), and with them the time that is
 * left and the names of colour modes.
 */
const SCENE_ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  OnOff: ['OnOff', 'OnTime'],
  LevelControl: ['CurrentLevel', 'CurrentFrequency'],
  ColorControl: [...COORDINATES, 'ColorMode', 'EnhancedColorMode', 'EnhancedCurrentHue'],
};

/** Commands that only store a scene. The rules of the owner treat them like its recall, but the device stays as it is. */
const STORES_SCENE: ReadonlySet<string> = new Set(['AddScene', 'StoreScene', 'CopyScene']);

/** A command whose effect ends by itself: the attribute with the seconds that are left, and the command that would end it in the same way. */
interface TimedCommand {
  readonly left: string;
  readonly end: string;
}

/** Commands by `Cluster.Command` whose effect ends by itself (Application Clusters §1.5.7.6 and §4.6.8.1). */
const TIMED: Readonly<Record<string, TimedCommand>> = {
  'OnOff.OnWithTimedOff': { left: 'OnTime', end: 'Off' },
  'ValveConfigurationAndControl.Open': { left: 'RemainingDuration', end: 'Close' },
};

/** Returns whether the device computes the value from others, so that it needs no call to come back. */
export function isComputed({ cluster, attribute }: Pick<CompiledValue, 'cluster' | 'attribute'>): boolean {
  return COMPUTED[cluster]?.includes(attribute) ?? false;
}

/** Attributes of a fan that all follow from the wanted speed in percent, or from the mode while the fan chooses its speed itself (§4.4.6). */
const FAN_SPEED: ReadonlySet<string> = new Set(['PercentCurrent', 'SpeedSetting', 'SpeedCurrent']);

/**
 * Returns whether a value follows from another one that is wanted. `rawOf` returns the wanted raw values. Coordinates of other colour modes
 * than the wanted one mean nothing. The mode and speed of a fan follow from its speed in percent, which is null while it chooses it itself.
 */
export function isImplied(value: CompiledValue, rawOf: (attribute: string) => Json | undefined): boolean {
  const { cluster, attribute } = value;
  if (isComputed(value) || isCoordinateOfOtherMode(value, rawOf('ColorMode'))) return true;
  if (cluster !== 'FanControl') return false;
  const percent = rawOf('PercentSetting');
  if (percent === undefined) return false;
  return FAN_SPEED.has(attribute) || attribute === (percent === null ? 'PercentSetting' : 'FanMode');
}

/** Returns the values that an effect changes for good, so that they have to be brought back to undo it. */
export function keptValues(compiled: CompiledDevice, effects: readonly DeviceEffect[]): readonly CompiledValue[] {
  return onePerAttribute(effects.flatMap((one) => touchedValues(compiled, one).filter((value) => isKept(value, one))));
}

function isKept(value: CompiledValue, { cluster, element }: DeviceEffect): boolean {
  if (isComputed(value)) return false;
  if (cluster !== 'ScenesManagement') return true;
  if (STORES_SCENE.has(element)) return false;
  // Of the attributes of a manufacturer nobody knows whether its scenes hold them.
  const isOfManufacturer = value.cluster.startsWith('Cluster0x') || value.attribute.startsWith('Attr0x');
  return isOfManufacturer || (SCENE_ATTRIBUTES[value.cluster]?.includes(value.attribute) ?? false);
}

/** What an effect that ends by itself leaves behind, and after which time. */
export interface Expiry {
  readonly seconds: number;
  readonly changes: readonly ValueChange[];
}

/** Returns what is left when the effect has ended by itself; undefined if it does not, or if its time is not known. */
export function expiryOf(compiled: CompiledDevice, { effect, endpoint, cluster, element }: DeviceEffect): Expiry | undefined {
  const timed = TIMED[`${cluster}.${element}`];
  const left = compiled.values.find((one) => one.endpoint === endpoint && one.cluster === cluster && one.attribute === timed?.left);
  const seconds = left && effect.values?.[left.name];
  if (!timed || typeof seconds !== 'number') return undefined;
  return { seconds, changes: changesOfStep({ kind: 'invoke', endpoint, cluster, command: timed.end, fields: {} }, compiled) };
}
