import type { DeviceSpec, HomeSpec } from './home-spec.ts';

/** What a house of many devices is mostly made of. */
const TYPES = [
  'dimmable-light',
  'temperature-sensor',
  'contact-sensor',
  'on-off-light',
  'occupancy-sensor',
  'metered-plug',
  'humidity-sensor',
  'window-covering',
  'extended-color-light',
  'thermostat',
] as const;
const AREAS = ['Kitchen', 'Living room', 'Bedroom', 'Study', 'Hall', 'Cellar', 'Attic', 'Garden'] as const;
const PER_PROCESS = 25;
const FIRST_PORT = 6000;

/** A home of `count` devices of ten types, at most 25 to a process, always the same for the same count. At most 4,096: discriminators are unique. */
export function fleet(count: number): HomeSpec {
  return { devices: Array.from({ length: count }, (_, index) => member(index)) };
}

function member(index: number): DeviceSpec {
  return {
    name: `Device ${index + 1}`,
    type: TYPES[index % TYPES.length] ?? 'dimmable-light',
    area: AREAS[index % AREAS.length] ?? 'Hall',
    passcode: 10_000_019 + index * 1009,
    // 257 has no factor in common with 4096: every step gives another value, and neighbours differ in the short form too.
    discriminator: (index * 257) % 4096,
    port: FIRST_PORT + index,
    group: `fleet-${Math.floor(index / PER_PROCESS)}`,
  };
}
