import { type AreaNames, type HomeNames, NO_HOME_NAMES } from '../../../src/core/devices/device-names.ts';

interface Given {
  readonly devices?: Readonly<Record<string, readonly string[]>>;
  /** By the area's name in lower case. */
  readonly areas?: Readonly<Record<string, AreaNames>>;
}

/** Names that never change. */
export function namesOf({ devices = {}, areas = {} }: Given): HomeNames {
  return {
    ...NO_HOME_NAMES,
    revision: 1,
    deviceAliases: (device) => devices[device] ?? [],
    areaNames: (area) => areas[area.toLowerCase()] ?? { aliases: [] },
  };
}
