import { slug } from '../ids.ts';

/** Port: what permissions and rules may say of a device beside its id. */
export interface DeviceFacts {
  /** Key of its area as `areaKey` makes it; undefined without an area or without the device. */
  areaOf(device: string): string | undefined;
  /** Slugs of its Matter device types (`dimmable-light`) and of the families that they belong to (`light`). */
  typesOf(device: string): ReadonlySet<string>;
}

/** For places that know no devices. */
export const NO_DEVICE_FACTS: DeviceFacts = { areaOf: () => undefined, typesOf: () => new Set() };

/** By this areas are compared: `Kids' room` and `kids-room` are one; names without Latin letters stay as they are. */
export function areaKey(name: string): string {
  return slug(name, '-') || name.trim().toLowerCase();
}
