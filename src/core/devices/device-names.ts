import { AtmoError } from '../errors.ts';
import { type DeviceId, type SensorId, slug } from '../ids.ts';
import { oncePerText } from '../lifecycle.ts';
import type { NamedDevice } from './action-descriptions.ts';

const DEVICE_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const SENSOR_ID = /^[a-z0-9][a-z0-9_-]{0,63}(\/[a-z0-9][a-z0-9_-]{0,63}){1,2}$/;

/** Returns the text as a device id. For any other text, throws VALIDATION_ERROR, which names the permitted form. */
export function parseDeviceId(text: string): DeviceId {
  if (!DEVICE_ID.test(text)) {
    throw new AtmoError('VALIDATION_ERROR', `Device id ${JSON.stringify(text)} is not of the form ${DEVICE_ID.source}`);
  }
  return text as DeviceId;
}

/** Returns the text as a sensor id. For any other text, throws VALIDATION_ERROR, which names the permitted form. */
export const parseSensorId = oncePerText(readSensorId, { maxKept: 4_096, maxLength: 256 });

function readSensorId(text: string): SensorId {
  if (!SENSOR_ID.test(text)) {
    throw new AtmoError('VALIDATION_ERROR', `Sensor id ${JSON.stringify(text)} is not of the form <device id>/<reading>`);
  }
  return text as SensorId;
}

/** Port: the properties of devices to which grants and rules refer. */
export interface DeviceFacts {
  /** Returns the key (`areaKey`) of a device's area; undefined if the device is unknown or has no area. */
  areaOf(device: string): string | undefined;
  /** Returns the current key of the area that a grant or rule names by `key`. If the area was renamed, `key` may be the former key. */
  areaMeant(key: string): string;
  /** Returns the device with its names for people; undefined for an unknown device. */
  namedDevice(device: string): NamedDevice | undefined;
  /** Returns the slugs of a device's Matter device types (`dimmable-light`) and of their families (`light`). */
  typesOf(device: string): ReadonlySet<string>;
}

/** Matter device types that open or shut something: a lock, a water valve, a garage door, a gate. */
export const OPENING_TYPES = ['DoorLock', 'DoorLockController', 'WaterValve', 'IrrigationSystem', 'Closure', 'ClosurePanel'] as const;

/** Returns a Matter device type as a slug: `DimmableLight` is `dimmable-light`, `DeviceType0xfff1` is `device-type0xfff1`. */
export function typeSlug(type: string): string {
  return type
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase();
}

/** Returns a Matter device type in the form that hubs announce to each other: `dimmable_light` for `DimmableLight`. */
export function announcedType(deviceType = 'unknown'): string {
  return typeSlug(deviceType).replaceAll('-', '_').slice(0, 64);
}

/** Returns the Matter device type that a hub has announced: `DimmableLight` for `dimmable_light`. */
export function libraryType(announced: string): string {
  return announced.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the key by which areas are compared: `kids-room` for `Kids' room`. Names without Latin letters only become lower case. */
export function areaKey(name: string): string {
  return slug(name, '-') || name.trim().toLowerCase();
}

/** Floor and aliases of an area. */
export interface AreaNames {
  /** Floor such as `Upstairs`; absent if not set. */
  readonly floor?: string;
  readonly aliases: readonly string[];
}

/** The order in which people want areas and floors. What is not in a list comes after it, sorted by name. */
export interface HomeOrder {
  /** Keys (`areaKey`) of areas. */
  readonly areas: readonly string[];
  readonly floors: readonly string[];
}

/** Port: names that people gave, in addition to the names that devices report. Areas with the same `areaKey` are one area. */
export interface HomeNames {
  /** Number that changes whenever a name changes. Caches compare it to find out whether they are outdated. */
  readonly revision: number;
  deviceAliases(device: string): readonly string[];
  /** Returns the fixed prefix of a device's tool names; undefined if it has none. */
  toolPrefix(device: string): string | undefined;
  formerNames(device: string): readonly string[];
  areaNames(area: string): AreaNames;
  order(): HomeOrder;
  /** Returns the current name of an area, given its current or a former name. Returns an unknown name unchanged. */
  areaToday(area: string): string;
}

/** Port: notifies listeners of renamed areas. */
export interface AreaChanges {
  areaToday(area: string): string;
  /** Calls `listener` after current or former names of areas have changed; the returned function unsubscribes. */
  onAreaRenamed(listener: () => void): () => void;
}

/** The names of a home in which nobody has set any names. */
export const NO_HOME_NAMES: HomeNames = {
  revision: 0,
  deviceAliases: () => [],
  toolPrefix: () => undefined,
  formerNames: () => [],
  areaNames: () => ({ aliases: [] }),
  order: () => ({ areas: [], floors: [] }),
  areaToday: (area) => area,
};

/** Returns the form in which names are compared: in lower case, without surrounding spaces, in Unicode form NFKC (UAX #15). */
export function foldedName(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}
