import { foldedName, type HomeNames, NO_HOME_NAMES } from '../../core/devices/home-names.ts';
import type { Reading } from '../../core/devices/reading-store.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { SensorId } from '../../core/ids.ts';
import type { CallerView } from '../definition/tool-definition.ts';
import { isAreaNamed } from './resolve-area.ts';

/** What an area has that people ask about as the room's. */
const AMBIENT_KINDS: ReadonlySet<string> = new Set(['temperature', 'humidity', 'co2']);
/** Types of devices that measure what is in them: food, water, a drum, not the air of the room. */
const NOT_THE_ROOM = /cabinet|refrigerator|freezer|oven|heater|cook|dish_?washer|laundry|(?<!heat_?)pump|boiler|battery/i;

const MAX_NEAR = 3;
const MAX_LISTED = 5;

/** True for temperature, humidity and CO2 of the air of a room, by the types of the device that measures it. */
export function isRoomAir({ kind }: Pick<Reading['sensor'], 'kind'>, deviceTypes: readonly string[]): boolean {
  return AMBIENT_KINDS.has(kind) && isInRoom(deviceTypes);
}

/** False for a device that measures what is in itself. */
export function isInRoom(deviceTypes: readonly string[]): boolean {
  return !NOT_THE_ROOM.test(deviceTypes.join(' '));
}

/** The readings of sensors that the caller may see. */
export function visibleReadings(readings: readonly Reading[], caller: CallerView): readonly Reading[] {
  return readings.filter(({ sensor }) => caller.canSee(`sensor:read:${sensor.id}`));
}

/** The sensor of an id or title; SENSOR_NOT_FOUND names the nearest. */
export function resolveSensor(text: string, readings: readonly Reading[], caller: CallerView): SensorId {
  const visible = visibleReadings(readings, caller);
  const exact = visible.find(({ sensor }) => sensor.id === text);
  const titled = visible.filter(({ sensor }) => titleKey(sensor.title) === titleKey(text));
  return pick(text, exact ? [exact] : titled, visible);
}

/** Who asks, and what people call devices and areas besides. */
interface PlaceContext {
  readonly caller: CallerView;
  readonly names?: HomeNames;
  /** What all of the given readings measure, where they are of one kind. */
  readonly kind?: string;
  /** Types of a device; none where they are not known. */
  typesOf(device: string): readonly string[];
}

/**
 * The one sensor of a kind at a place: its own id, its device, its title, or an area that has only one; aliases count. An area means
 * the air of the room, never what an appliance in it measures in itself.
 */
export function resolveSensorAt(
  place: string,
  readings: readonly Reading[],
  { caller, names = NO_HOME_NAMES, kind, typesOf }: PlaceContext,
): SensorId {
  const visible = visibleReadings(readings, caller);
  const wanted = foldedName(place);
  const exact = visible.filter(({ sensor }) => sensor.id === place || sensor.device === place);
  if (exact.length > 0) return pick(place, exact, visible);
  const named = visible.filter(
    ({ sensor: { title, device } }) =>
      titleKey(title) === titleKey(place) ||
      [...names.deviceAliases(device), ...names.formerNames(device)].some((alias) => foldedName(alias) === wanted),
  );
  const inArea = visible.filter(({ sensor: { area } }) => area !== undefined && isAreaNamed(place, area, names));
  const ofRoom = inArea.filter(({ sensor }) => !AMBIENT_KINDS.has(sensor.kind) || isInRoom(typesOf(sensor.device)));
  const matches = [...new Set([...named, ...ofRoom])];
  if (matches.length === 0 && inArea.length > 0) throw onlyAppliances(place, inArea);
  if (visible.length === 0) throw nothingReadable(place, kind);
  return pick(place, matches, visible);
}

function nothingReadable(text: string, kind?: string): AtmoError {
  const what = kind === undefined ? 'no sensor' : `no sensor of the kind ${kind}`;
  return new AtmoError('SENSOR_NOT_FOUND', `No sensor fits ${shown(text)}; there is ${what} that you may read`, { candidates: [] });
}

function onlyAppliances(place: string, readings: readonly Reading[]): AtmoError {
  const candidates = readings.map(({ sensor }) => sensor.id);
  return new AtmoError(
    'SENSOR_NOT_FOUND',
    `Nothing measures the air of ${shown(place)}; what appliances there measure in themselves is ${candidates.join(', ')}`,
    { candidates },
  );
}

function pick(text: string, matches: readonly Reading[], visible: readonly Reading[]): SensorId {
  const [match] = matches;
  if (matches.length > 1) {
    const candidates = matches.map(({ sensor }) => sensor.id);
    throw new AtmoError('AMBIGUOUS_DEVICE', `${shown(text)} fits ${matches.length} sensors; use an id: ${candidates.join(', ')}`, {
      candidates,
    });
  }
  if (match) return match.sensor.id;
  if (visible.length === 0) throw nothingReadable(text);
  const place = ofAreaAndKind(text, visible);
  const candidates = place?.candidates ?? nearestSensors(text, visible);
  const where = place ? `of the kind ${place.kind} in ${JSON.stringify(place.area)} ` : '';
  const message = `No sensor fits ${shown(text)}; ${where}there is ${candidates.join(', ')}`;
  throw new AtmoError('SENSOR_NOT_FOUND', message, { candidates, ...(place && { area: place.area, kind: place.kind }) });
}

function nearestSensors(text: string, readings: readonly Reading[]): readonly string[] {
  const names = new Map(readings.flatMap(({ sensor }) => namesOf(sensor).map((name) => [name, sensor.id] as const)));
  const near = [...new Set(nearestTexts(text, names.keys(), 6).map((name) => names.get(name) ?? ''))].slice(0, MAX_NEAR);
  return near.length > 0 ? near : readings.slice(0, MAX_LISTED).map(({ sensor }) => sensor.id);
}

/** `kitchen temperature` names an area and a kind: what there is of that kind in that area. */
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
  return { area, kind, candidates: alike.slice(0, MAX_LISTED).map(({ sensor }) => sensor.id) };
}

/** Its words with a blank before and after each, so that a word is found whole. */
function asWords(text: string): string {
  return ` ${foldedName(text)
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}

/** Titles quote the name of a device; who writes one need not. */
function titleKey(title: string): string {
  return foldedName(title.replaceAll('"', ''));
}

function namesOf(sensor: Reading['sensor']): readonly string[] {
  return [sensor.id, sensor.title, sensor.area].filter((name) => name !== undefined);
}
