import type { Effect } from '../../core/auth/principal.ts';
import { deviceElement } from '../../core/devices/action-descriptions.ts';
import type { CompiledValue } from '../compile/cluster-view.ts';
import type { CompiledDevice } from '../compile/compiled-device.ts';

/** An effect on an element of a device, such as `lamp/1/OnOff/On`. */
export interface DeviceEffect {
  readonly effect: Effect;
  readonly endpoint: number;
  readonly cluster: string;
  readonly element: string;
}

/** Returns the path of a value within its device: `<endpoint>/<cluster>/<attribute>`. */
export function pathOf({ endpoint, cluster, attribute }: Pick<CompiledValue, 'endpoint' | 'cluster' | 'attribute'>): string {
  return `${endpoint}/${cluster}/${attribute}`;
}

/** Returns whether the effect only reads a device. */
export function isReadOnly({ permission, values, unforeseen }: Effect): boolean {
  return permission.startsWith('device:read:') && values === undefined && unforeseen === undefined;
}

/** Returns whether the effect changes something. */
export function isActing(effect: Effect): boolean {
  return !isReadOnly(effect) && effect.risk !== 'none';
}

/** Returns the element that an effect uses; undefined if its target is no element of a device. */
export function deviceEffect(effect: Effect): DeviceEffect | undefined {
  const parsed = deviceElement(effect.target);
  if (!parsed || parsed.device !== effect.device) return undefined;
  return { effect, endpoint: Number(parsed.part), cluster: parsed.cluster, element: parsed.element };
}

/**
 * Clusters whose values a command of another cluster, by `Cluster.Command`, overrides for a time without setting them. The rules of the owner
 * judge the call as if it set them.
 */
const OVERRIDDEN: Readonly<Record<string, string>> = { 'WaterHeaterManagement.Boost': 'Thermostat' };

/** Returns the values that an effect sets or may change. Values of one attribute can have several names; each attribute is there once. */
export function touchedValues(compiled: CompiledDevice, { effect, endpoint, cluster, element }: DeviceEffect): readonly CompiledValue[] {
  const { values = {}, unforeseen = [] } = effect;
  const overridden = OVERRIDDEN[`${cluster}.${element}`];
  const isAny = unforeseen.includes('*');
  const touched = compiled.values.filter(
    (value) =>
      value.endpoint === endpoint &&
      value.cluster !== overridden &&
      (isAny || Object.hasOwn(values, value.name) || unforeseen.includes(value.name)),
  );
  return onePerAttribute(touched);
}

/** Returns the values without those whose attribute an earlier value has. */
export function onePerAttribute(values: readonly CompiledValue[]): readonly CompiledValue[] {
  return [...new Map(values.toReversed().map((value) => [pathOf(value), value])).values()].reverse();
}
