import type { DeviceDirectory } from './device-directory.ts';

/** The devices of several rooms as one directory; where two have an id, the first counts. */
export function joinedDevices(directories: readonly DeviceDirectory[]): DeviceDirectory {
  return {
    list: () => [...new Map(directories.toReversed().flatMap((one) => one.list().map((device) => [device.id, device] as const))).values()],
    get: (id) => directories.map((one) => one.get(id)).find((device) => device !== undefined),
    describe: (id) => directories.map((one) => one.describe(id)).find((description) => description !== undefined),
    onChange(listener) {
      const stops = directories.map((one) => one.onChange(listener));
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}
