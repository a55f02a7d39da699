import { type HomeNames, NO_HOME_NAMES } from '../../core/devices/home-names.ts';
import type { Reading } from '../../core/devices/reading-store.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { SensorId } from '../../core/ids.ts';
import type { CallerView } from '../definition/tool-definition.ts';
import { isAreaNamed } from './resolve-area.ts';

/** The readings of sensors that the caller may see. */
export function visibleReadings(readings: readonly Reading[], caller: CallerView): readonly Reading[] {
  return readings.filter(({ sensor }) => caller.canSee(`sensor:read:${sensor.id}`));
}

/** The sensor of an id or title; SENSOR_NOT_FOUND names the nearest. */
export function resolveSensor(text: string, readings: readonly Reading[], caller: CallerView): SensorId {
  const visible = visibleReadings(readings, caller);
  const wanted = fold(text);
  const exact = visible.find(({ sensor }) => sensor.id === text);
  const titled = visible.filter(({ sensor }) => fold(sensor.title) === wanted);
  return pick(text, exact ? [exact] : titled, visible);
}

/** Who asks, and what people call devices and areas besides. */
interface PlaceContext {
  readonly caller: CallerView;
  readonly names?: HomeNames;
}

/** The one sensor of a kind at a place: its own id, its device, its title, or an area that has only one; aliases count. */
export function resolveSensorAt(place: string, readings: readonly Reading[], { caller, names = NO_HOME_NAMES }: PlaceContext): SensorId {
  const visible = visibleReadings(readings, caller);
  const wanted = fold(place);
  const exact = visible.filter(({ sensor }) => sensor.id === place || sensor.device === place);
  if (exact.length > 0) return pick(place, exact, visible);
  const named = visible.filter(
    ({ sensor: { area, title, device } }) =>
      fold(title) === wanted ||
      names.deviceAliases(device).some((alias) => fold(alias) === wanted) ||
      (area !== undefined && isAreaNamed(place, area, names)),
  );
  return pick(place, named, visible);
}

function pick(text: string, matches: readonly Reading[], visible: readonly Reading[]): SensorId {
  const [match] = matches;
  const shown = JSON.stringify(text.slice(0, 80));
  if (matches.length > 1) {
    const candidates = matches.map(({ sensor }) => sensor.id);
    throw new AtmoError('AMBIGUOUS_DEVICE', `${shown} fits ${matches.length} sensors; use an id: ${candidates.join(', ')}`, { candidates });
  }
  if (match) return match.sensor.id;
  const names = new Map(visible.flatMap(({ sensor }) => namesOf(sensor).map((name) => [name, sensor.id] as const)));
  const suggestions = [...new Set(nearestTexts(text, names.keys(), 6).map((name) => names.get(name) ?? ''))].slice(0, 3);
  const candidates = suggestions.length > 0 ? suggestions : visible.slice(0, 5).map(({ sensor }) => sensor.id);
  const hint = candidates.length === 0 ? 'there are no sensors that you may read' : `there is ${candidates.join(', ')}`;
  throw new AtmoError('SENSOR_NOT_FOUND', `No sensor fits ${shown}; ${hint}`, { candidates });
}

function namesOf(sensor: Reading['sensor']): readonly string[] {
  return [sensor.id, sensor.title, sensor.area].filter((name) => name !== undefined);
}

function fold(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}
