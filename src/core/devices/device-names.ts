import { AtmoError } from '../errors.ts';
import { type DeviceId, type SensorId, slug } from '../ids.ts';
import type { NamedDevice } from './action-descriptions.ts';

const DEVICE_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const SENSOR_ID = /^[a-z0-9][a-z0-9_-]{0,63}(\/[a-z0-9][a-z0-9_-]{0,63}){1,2}$/;

/** Parses a device id. Throws VALIDATION_ERROR with the allowed form. */
export function parseDeviceId(text: string): DeviceId {
  if (!DEVICE_ID.test(text)) {
    throw new AtmoError('VALIDATION_ERROR', `Device id ${JSON.stringify(text)} is not of the form ${DEVICE_ID.source}`);
  }
  return text as DeviceId;
}

/** Parses a sensor id. Throws VALIDATION_ERROR with the allowed form. */
export function parseSensorId(text: string): SensorId {
  if (!SENSOR_ID.test(text)) {
    throw new AtmoError('VALIDATION_ERROR', `Sensor id ${JSON.stringify(text)} is not of the form <device id>/<reading>`);
  }
  return text as SensorId;
}

/** Port: properties of devices by which grants and rules select them. */
export interface DeviceFacts {
  /** Key of its area as `areaKey` makes it; undefined without an area or without the device. */
  areaOf(device: string): string | undefined;
  /** Returns the present key of the area that a key in a grant or a rule names: a renamed room keeps its grants and rules. */
  areaMeant(key: string): string;
  /** Returns the device with its names for people; undefined for an unknown device. */
  namedDevice(device: string): NamedDevice | undefined;
  /** Slugs of its Matter device types (`dimmable-light`) and of the families that they belong to (`light`). */
  typesOf(device: string): ReadonlySet<string>;
}

/** Returns a device type of the Matter device library as hubs announce it: `DimmableLight` as `dimmable_light`. */
export function announcedType(deviceType = 'unknown'): string {
  return deviceType
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase()
    .slice(0, 64);
}

/** Returns the name in the device library of an announced type. */
export function libraryType(announced: string): string {
  return announced.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Returns the key by which areas are compared: `Kids' room` and `kids-room` are the same; names without Latin letters are kept in lower
 * case.
 */
export function areaKey(name: string): string {
  return slug(name, '-') || name.trim().toLowerCase();
}

/** Further names of an area. */
export interface AreaNames {
  /** `Upstairs`, `Ground floor`; absent when not set. */
  readonly floor?: string;
  readonly aliases: readonly string[];
}

/** Port: names beside those that devices have themselves. Areas are the same by `areaKey`. */
export interface HomeNames {
  /** Changes with every change of a name, so that caches can be renewed. */
  readonly revision: number;
  deviceAliases(device: string): readonly string[];
  /** Fixed prefix of the names of a device's tools; undefined for a device without one. */
  toolPrefix(device: string): string | undefined;
  /** Earlier names of a device, which still resolve to it. */
  formerNames(device: string): readonly string[];
  areaNames(area: string): AreaNames;
  /** Returns the present area of a name: a renamed or merged area keeps its earlier names. Unknown names are returned unchanged. */
  areaToday(area: string): string;
}

/** Port: notifies of renamed areas. */
export interface AreaChanges {
  areaToday(area: string): string;
  /** Calls `listener` after present or earlier names of areas changed; the returned function unsubscribes. */
  onAreaRenamed(listener: () => void): () => void;
}

/** A home without given names. */
export const NO_HOME_NAMES: HomeNames = {
  revision: 0,
  deviceAliases: () => [],
  toolPrefix: () => undefined,
  formerNames: () => [],
  areaNames: () => ({ aliases: [] }),
  areaToday: (area) => area,
};

/** Returns the form in which names are compared: without differences of case, surrounding spaces and Unicode forms (NFKC, UAX #15). */
export function foldedName(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}
