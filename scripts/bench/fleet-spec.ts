import type { DeviceSpec, HomeSpec } from '../../test/home/home-spec.ts';

const FIRST_PASSCODE = 30_000_001;
const FIRST_PORT = 5540;
const DEVICES_PER_PROCESS = 25;

/** As many devices as `types` names, 25 to a process. `first` keeps several fleets of one network apart. */
export function fleetOf(types: readonly string[], first = 0): HomeSpec {
  return { devices: types.map((type, index) => deviceSpec(type, first + index)) };
}

function deviceSpec(type: string, number: number): DeviceSpec {
  return {
    name: `Device ${number}`,
    type,
    area: 'Bench',
    passcode: FIRST_PASSCODE + number,
    // The four high bits are all that a manual code tells; spreading them keeps a search short.
    discriminator: (number * 256 + Math.floor(number / 16)) % 4096,
    port: FIRST_PORT + number,
    group: `fleet-${Math.floor(number / DEVICES_PER_PROCESS)}`,
  };
}

/** What people have: mostly lights and sensors. */
export function mixedTypes(count: number): readonly string[] {
  const mix = ['on-off-light', 'temperature-sensor', 'dimmable-light', 'contact-sensor', 'metered-plug', 'occupancy-sensor'] as const;
  return Array.from({ length: count }, (_, index) => mix[index % mix.length] ?? mix[0]);
}
