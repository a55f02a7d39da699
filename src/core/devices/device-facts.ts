import { slug } from '../ids.ts';
import type { NamedDevice } from './action-words.ts';

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
