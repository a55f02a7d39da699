import type { DeviceDirectory } from './device-directory.ts';

/** The directory of a hub without device rooms. */
export const NO_DEVICES: DeviceDirectory = {
  list: () => [],
  get: () => undefined,
  describe: () => undefined,
  onChange: () => () => {},
};
