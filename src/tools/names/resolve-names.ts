import type { Device } from '../../core/devices/device-model.ts';
import { areaKey, foldedName, type HomeNames, NO_HOME_NAMES } from '../../core/devices/device-names.ts';
import type { Reading } from '../../core/devices/sensor-readings.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId, SensorId } from '../../core/ids.ts';
import { quoted } from '../../core/untrusted-text.ts';
import type { CallerView } from '../definition/tool-definition.ts';

/** The id and name of a device. `aliases` are its further names. */
export type DeviceName = Pick<Device, 'id' | 'name'> & { readonly aliases?: readonly string[] };

/** Port: finds a device by its id or name. */
export interface DeviceNames {
  resolve(text: string, caller: CallerView): DeviceId;
}

/** Returns a resolver for device names. Each call of the resolver gets the current devices from `list`. */
export function deviceNames(list: () => readonly DeviceName[], names: AliasSource = NO_HOME_NAMES): DeviceNames {
  return { resolve: (text, caller) => resolveDevice(text, withAliases(list(), names), caller) };
}

/** Returns the devices with their aliases and former names as `aliases`. */
export function withAliases(devices: readonly DeviceName[], names: AliasSource): readonly DeviceName[] {
  return devices.map(({ id, name }) => ({ id, name, aliases: [...names.deviceAliases(id), ...names.formerNames(id)] }));
}

type AliasSource = Pick<HomeNames, 'deviceAliases' | 'formerNames'>;

/**
 * Returns the device with the id `text`, or the only visible device with that name, former name or alias. Ignores the letter case of names.
 * A name has no precedence over an alias, so that a new name cannot take over another device's alias. Throws DEVICE_NOT_FOUND with
 * suggestions, or AMBIGUOUS_DEVICE with ids. Neither error mentions a device that the caller may not see.
 */
export function resolveDevice(text: string, devices: readonly DeviceName[], caller: CallerView): DeviceId {
  const byId = devices.find((device) => device.id === text);
  if (byId && canSeeDevice(byId.id, caller)) return byId.id;
  const visible = devices.filter((device) => canSeeDevice(device.id, caller));
  const matches = visible.filter((device) => hasName(text, device));
  const [match] = matches;
  if (matches.length > 1) throw ambiguousDevice(text, matches);
  if (!match) throw deviceNotFound(text, visible);
  return match.id;
}

/** Returns whether the caller holds any grant on the device. */
export function canSeeDevice(id: DeviceId, caller: CallerView): boolean {
  return caller.canSee(`device:read:${id}`) || caller.canSee(`admin:device:${id}`);
}

/** An object with a name and aliases. */
interface NamedThing {
  readonly name: string;
  readonly aliases?: readonly string[];
}

/** Returns whether `text` is the device's id, name or alias. Letter case is ignored. */
export function isDeviceNamed(text: string, device: NamedThing & { readonly id: string }): boolean {
  return device.id === text || hasName(text, device);
}

function hasName(text: string, { name, aliases = [] }: NamedThing): boolean {
  const wanted = foldedName(text);
  return foldedName(name) === wanted || aliases.some((alias) => foldedName(alias) === wanted);
}

function ambiguousDevice(text: string, matches: readonly DeviceName[]): AtmoError {
  const candidates = matches.map((device) => device.id);
  return new AtmoError(
    'AMBIGUOUS_DEVICE',
    `${shortQuote(text)} is the name of ${matches.length} devices; use an id: ${candidates.join(', ')}`,
    { candidates },
  );
}

function deviceNotFound(text: string, visible: readonly DeviceName[]): AtmoError {
  const byText = new Map(visible.flatMap(({ id, name, aliases = [] }) => [name, id, ...aliases].map((one) => [one, id] as const)));
  const suggestions = [...new Set(nearestTexts(text, byText.keys(), 6).map((near) => byText.get(near) ?? ''))].slice(0, 3);
  const hint = suggestions.length === 0 ? 'list the devices to see what there is' : `did you mean ${suggestions.join(' or ')}?`;
  return new AtmoError('DEVICE_NOT_FOUND', `There is no device ${shortQuote(text)}; ${hint}`, { suggestions });
}

function shortQuote(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}

const MAX_AREA_CANDIDATES = 20;

/** The functions that return the aliases and the current names of areas. */
export type AreaAliases = Pick<HomeNames, 'areaNames' | 'areaToday'>;

/** Returns the area named `text`, spelled as in `areas`. Throws NOT_FOUND if there is none, AMBIGUOUS_DEVICE if there are several. */
export function resolveArea(text: string, areas: Iterable<string | undefined>, names: AreaAliases): string {
  const known = distinctAreas(areas);
  const matches = known.filter((area) => isAreaNamed(text, area, names));
  const [match] = matches;
  if (matches.length > 1) {
    const called = `${shortQuote(text)} is what ${matches.length} areas are called`;
    throw new AtmoError('AMBIGUOUS_DEVICE', `${called}: ${matches.map(quoted).join(', ')}; name one`, { candidates: matches });
  }
  if (match !== undefined) return match;
  const candidates = nearAreas(text, known, names);
  const hint = candidates.length > 0 ? `there is ${candidates.map(quoted).join(', ')}` : 'no device is in any area';
  throw new AtmoError('NOT_FOUND', `There is no area ${shortQuote(text)}; ${hint}`, { candidates });
}

/** Returns whether `text` is the area's name, a former name, or an alias. */
export function isAreaNamed(text: string, area: string, names: AreaAliases): boolean {
  const key = areaKey(text);
  return areaKey(area) === areaKey(names.areaToday(text)) || names.areaNames(area).aliases.some((alias) => areaKey(alias) === key);
}

/** Returns each area once, in the spelling that comes first. */
export function distinctAreas(areas: Iterable<string | undefined>): string[] {
  const byKey = new Map<string, string>();
  for (const area of areas) if (area !== undefined && !byKey.has(areaKey(area))) byKey.set(areaKey(area), area);
  return [...byKey.values()];
}

function nearAreas(text: string, areas: readonly string[], names: AreaAliases): string[] {
  const byText = new Map(areas.flatMap((area) => [area, ...names.areaNames(area).aliases].map((name) => [name, area] as const)));
  const near = new Set(nearestTexts(text, byText.keys()).map((name) => byText.get(name) ?? ''));
  return near.size > 0 ? [...near] : areas.slice(0, MAX_AREA_CANDIDATES);
}

/** Kinds of readings that can describe the air in a room. */
const AMBIENT_KINDS: ReadonlySet<string> = new Set(['temperature', 'humidity', 'co2']);
/** Matches types of devices whose sensors measure the inside of the device, such as food or water, and not the air in the room. */
const APPLIANCE_TYPES = /cabinet|refrigerator|freezer|oven|heater|cook|dish_?washer|laundry|(?<!heat_?)pump|boiler|battery/i;

const MAX_SUGGESTED_SENSORS = 3;
const MAX_LISTED_SENSORS = 5;

/** Returns whether a reading is the temperature, humidity or CO2 of a room's air. Readings of appliances do not count. */
export function isRoomAir({ kind }: Pick<Reading['sensor'], 'kind'>, deviceTypes: readonly string[]): boolean {
  return AMBIENT_KINDS.has(kind) && isInRoom(deviceTypes);
}

/** Returns whether a device of these types measures the room instead of its own content. */
export function isInRoom(deviceTypes: readonly string[]): boolean {
  return !APPLIANCE_TYPES.test(deviceTypes.join(' '));
}

/** Returns the readings of sensors that the caller may see. */
function visibleReadings(readings: readonly Reading[], caller: CallerView): readonly Reading[] {
  return readings.filter(({ sensor }) => caller.canSee(`sensor:read:${sensor.id}`));
}

/** Returns the sensor with this id or title. Throws SENSOR_NOT_FOUND if there is none, AMBIGUOUS_DEVICE if several have the title. */
export function resolveSensor(text: string, readings: readonly Reading[], caller: CallerView): SensorId {
  const visible = visibleReadings(readings, caller);
  const exact = visible.find(({ sensor }) => sensor.id === text);
  const titled = visible.filter(({ sensor }) => titleKey(sensor.title) === titleKey(text));
  return onlySensor(text, exact ? [exact] : titled, visible);
}

/** The caller, and functions that know the names of devices and areas. */
interface SensorContext {
  readonly caller: CallerView;
  readonly names?: HomeNames;
  /** The kind that all the readings have. Absent if their kinds differ. */
  readonly kind?: string;
  /** Returns the types of a device, or an empty list if the device is unknown. */
  typesOf(device: string): readonly string[];
}

/** Returns the sensor with this id, title, alias, device or area. Throws SENSOR_NOT_FOUND if none fits, AMBIGUOUS_DEVICE if several fit. */
export function resolveSensorAt(
  place: string,
  readings: readonly Reading[],
  { caller, names = NO_HOME_NAMES, kind, typesOf }: SensorContext,
): SensorId {
  const visible = visibleReadings(readings, caller);
  const wanted = foldedName(place);
  const exact = visible.filter(({ sensor }) => sensor.id === place || sensor.device === place);
  if (exact.length > 0) return onlySensor(place, exact, visible);
  const named = visible.filter(
    ({ sensor: { title, device } }) =>
      titleKey(title) === titleKey(place) ||
      [...names.deviceAliases(device), ...names.formerNames(device)].some((alias) => foldedName(alias) === wanted),
  );
  const inArea = visible.filter(({ sensor: { area } }) => area !== undefined && isAreaNamed(place, area, names));
  // A climate sensor inside an appliance, such as a refrigerator's thermometer, does not measure the air of the area.
  const ofRoom = inArea.filter(({ sensor }) => !AMBIENT_KINDS.has(sensor.kind) || isInRoom(typesOf(sensor.device)));
  const matches = [...new Set([...named, ...ofRoom])];
  if (matches.length === 0 && inArea.length > 0) throw onlyAppliances(place, inArea);
  if (visible.length === 0) throw nothingReadable(place, kind);
  return onlySensor(place, matches, visible);
}

function nothingReadable(text: string, kind?: string): AtmoError {
  const what = kind === undefined ? 'no sensor' : `no sensor of the kind ${kind}`;
  return new AtmoError('SENSOR_NOT_FOUND', `No sensor fits ${shortQuote(text)}; there is ${what} that you may read`, { candidates: [] });
}

function onlyAppliances(place: string, readings: readonly Reading[]): AtmoError {
  const candidates = readings.map(({ sensor }) => sensor.id);
  return new AtmoError(
    'SENSOR_NOT_FOUND',
    `Nothing measures the air of ${shortQuote(place)}; what appliances there measure in themselves is ${candidates.join(', ')}`,
    { candidates },
  );
}

function onlySensor(text: string, matches: readonly Reading[], visible: readonly Reading[]): SensorId {
  const [match] = matches;
  if (matches.length > 1) {
    const candidates = matches.map(({ sensor }) => sensor.id);
    throw new AtmoError('AMBIGUOUS_DEVICE', `${shortQuote(text)} fits ${matches.length} sensors; use an id: ${candidates.join(', ')}`, {
      candidates,
    });
  }
  if (match) return match.sensor.id;
  if (visible.length === 0) throw nothingReadable(text);
  const place = ofAreaAndKind(text, visible);
  const candidates = place?.candidates ?? nearestSensors(text, visible);
  const where = place ? `of the kind ${place.kind} in ${JSON.stringify(place.area)} ` : '';
  const message = `No sensor fits ${shortQuote(text)}; ${where}there is ${candidates.join(', ')}`;
  throw new AtmoError('SENSOR_NOT_FOUND', message, { candidates, ...(place && { area: place.area, kind: place.kind }) });
}

function nearestSensors(text: string, readings: readonly Reading[]): readonly string[] {
  const names = new Map(readings.flatMap(({ sensor }) => namesOf(sensor).map((name) => [name, sensor.id] as const)));
  const near = [...new Set(nearestTexts(text, names.keys(), 6).map((name) => names.get(name) ?? ''))].slice(0, MAX_SUGGESTED_SENSORS);
  return near.length > 0 ? near : readings.slice(0, MAX_LISTED_SENSORS).map(({ sensor }) => sensor.id);
}

/** Finds the area and the kind in a text such as `kitchen temperature`. Also returns the ids of the sensors that match both. */
function ofAreaAndKind(
  text: string,
  readings: readonly Reading[],
): { readonly area: string; readonly kind: string; readonly candidates: readonly string[] } | undefined {
  const words = asWords(text);
  const holds = (name: string) => words.includes(asWords(name));
  const found = readings.find(({ sensor: { area, kind } }) => area !== undefined && holds(area) && holds(kind));
  if (found?.sensor.area === undefined) return undefined;
  const { area, kind } = found.sensor;
  const alike = readings.filter(({ sensor }) => sensor.area === area && sensor.kind === kind);
  return { area, kind, candidates: alike.slice(0, MAX_LISTED_SENSORS).map(({ sensor }) => sensor.id) };
}

/** Returns a text with a blank before and after each word, so that a search in it finds only whole words. */
function asWords(text: string): string {
  return ` ${foldedName(text)
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
}

/** Returns a title for comparison, without the quotes around the device's name. People need not type these quotes. */
function titleKey(title: string): string {
  return foldedName(title.replaceAll('"', ''));
}

function namesOf(sensor: Reading['sensor']): readonly string[] {
  return [sensor.id, sensor.title, sensor.area].filter((name) => name !== undefined);
}
