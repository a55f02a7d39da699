import type { RemoteGroups } from '../src/core/auth/permission.ts';
import type { DeviceFacts } from '../src/core/devices/device-names.ts';

/** A home without devices. */
export const NO_DEVICE_FACTS: DeviceFacts = {
  areaOf: () => undefined,
  areaMeant: (key) => key,
  namedDevice: () => undefined,
  typesOf: () => new Set(),
};

/** No device of another hub is in a group. */
export const NO_REMOTE_GROUPS: RemoteGroups = { isMember: () => false };
