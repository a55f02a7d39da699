import { fleet } from '../../test/home/fleet.ts';
import type { HomeSpec } from '../../test/home/home-spec.ts';

/** A home with one device of each of these types, `Device 1` first, 25 to a process. */
export function fleetOf(types: readonly string[]): HomeSpec {
  const { devices } = fleet(types.length);
  return { devices: devices.map((device, index) => ({ ...device, type: types[index] ?? device.type })) };
}
