import type { DeviceFacts } from '../src/core/devices/device-names.ts';

/** A home without devices. */
export const NO_DEVICE_FACTS: DeviceFacts = {
  areaOf: () => undefined,
  areaMeant: (key) => key,
  namedDevice: () => undefined,
  typesOf: () => new Set(),
};
