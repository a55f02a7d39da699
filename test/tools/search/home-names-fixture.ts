import type { AreaNames, HomeNames } from '../../../src/core/devices/home-names.ts';
import { NO_HOME_NAMES } from '../../../src/core/devices/home-names.ts';

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
