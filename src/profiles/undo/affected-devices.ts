import type { Effect } from '../../core/auth/principal.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { CompiledValue } from '../compile/cluster-view.ts';
import type { CompiledDevice, CompiledDevices } from '../compile/compiled-device.ts';
import { keptValues } from './kept-values.ts';
import { type DeviceEffect, deviceEffect, isReadOnly, onePerAttribute, touchedValues } from './touched-values.ts';

/** A device, and the effects that a call has on it. */
export interface AffectedDevice {
  readonly compiled: CompiledDevice;
  readonly effects: readonly DeviceEffect[];
  /** The values that may change. */
  readonly touched: readonly CompiledValue[];
  /** Those of them that have to be brought back to undo the call. */
  readonly kept: readonly CompiledValue[];
}

/** Returns the devices that effects change, with the values that may change; each device once, in the order of the effects. */
export function affectedDevices(devices: Pick<CompiledDevices, 'get'>, effects: readonly Effect[]): readonly AffectedDevice[] {
  const acting = effects.flatMap((effect) => (isReadOnly(effect) ? [] : (deviceEffect(effect) ?? [])));
  const byDevice = Map.groupBy(acting, ({ effect }) => effect.device as DeviceId);
  return [...byDevice].flatMap(([id, own]) => {
    const compiled = devices.get(id);
    if (!compiled) return [];
    const touched = onePerAttribute(own.flatMap((one) => touchedValues(compiled, one)));
    return [{ compiled, effects: own, touched, kept: keptValues(compiled, own) }];
  });
}

/** Returns why what a call did to a device cannot be put back, whatever the device shows now; undefined if it may be put back. */
export function irreversibleEffect({ compiled, effects }: AffectedDevice): string | undefined {
  for (const one of effects) {
    const tools = toolsOf(compiled, one);
    const final = tools.find(({ undo }) => undo === 'never');
    if (final) return `"${final.title}" cannot be undone`;
    if (keptValues(compiled, [one]).length === 0) {
      return `"${tools[0]?.title ?? one.element}" leaves no state that could be put back`;
    }
  }
  return undefined;
}

function toolsOf({ tools }: CompiledDevice, { endpoint, cluster, element }: DeviceEffect) {
  return tools.filter((tool) => tool.endpoint === endpoint && tool.cluster === cluster && tool.elements.includes(element));
}
