import { slug } from '../ids.ts';
import type { NamedDevice } from './action-descriptions.ts';

/** Port: what permissions and rules may say of a device beside its id. */
export interface DeviceFacts {
  /** Key of its area as `areaKey` makes it; undefined without an area or without the device. */
  areaOf(device: string): string | undefined;
  /** The key of the area that a key in a grant or a rule means: a room that was renamed keeps the grants and rules that name it. */
  areaMeant(key: string): string;
  /** The device as people are told of it; undefined without it. */
  namedDevice(device: string): NamedDevice | undefined;
  /** Slugs of its Matter device types (`dimmable-light`) and of the families that they belong to (`light`). */
  typesOf(device: string): ReadonlySet<string>;
}

/** For places that know no devices. */
export const NO_DEVICE_FACTS: DeviceFacts = {
  areaOf: () => undefined,
  areaMeant: (key) => key,
  namedDevice: () => undefined,
  typesOf: () => new Set(),
};

/** `DimmableLight` of the device library as hubs tell it each other, `dimmable_light`. */
export function announcedType(deviceType = 'unknown'): string {
  return deviceType
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase()
    .slice(0, 64);
}

/** The name that `announcedType` was made from, as far as it can be told. */
export function libraryType(announced: string): string {
  return announced.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** By this areas are compared: `Kids' room` and `kids-room` are one; names without Latin letters stay as they are. */
export function areaKey(name: string): string {
  return slug(name, '-') || name.trim().toLowerCase();
}

/** What people call an area beside its name. */
export interface AreaNames {
  /** `Upstairs`, `Ground floor`; absent where nobody said. */
  readonly floor?: string;
  readonly aliases: readonly string[];
}

/** Port: names beside those that devices have themselves. Areas are the same by `areaKey`. */
export interface HomeNames {
  /** Another number after every change: whoever keeps what it made of the names looks again then. */
  readonly revision: number;
  deviceAliases(device: string): readonly string[];
  /** How the names of a device's tools begin, whatever the device is called; undefined for one without such tools. */
  toolPrefix(device: string): string | undefined;
  /** What a device was called before: a name that somebody wrote down means it still. */
  formerNames(device: string): readonly string[];
  areaNames(area: string): AreaNames;
  /** The area that a name means today: one that was renamed or joined to another keeps its names. Others mean themselves. */
  areaToday(area: string): string;
}

/** Port: what changes the names of areas. */
export interface AreaChanges {
  areaToday(area: string): string;
  /** Is called after areas got other names, or former names mean them no more; the answer stops it. */
  onAreaRenamed(listener: () => void): () => void;
}

/** For places where nobody gives names. */
export const NO_HOME_NAMES: HomeNames = {
  revision: 0,
  deviceAliases: () => [],
  toolPrefix: () => undefined,
  formerNames: () => [],
  areaNames: () => ({ aliases: [] }),
  areaToday: (area) => area,
};

/** By this names that people write are compared: case, spaces around them and forms of Unicode make no difference (NFKC, UAX #15). */
export function foldedName(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}
