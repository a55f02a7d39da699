import type { Principal } from '../../core/auth/principal.ts';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { HistoryPoint, Reading, ReadingStore } from '../../core/devices/sensor-readings.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { timeRange } from '../../http/routes/sensor-routes.ts';
import { parseTime } from '../../http/server/query.ts';
import type { VisibleHome } from '../../http/visible-home.ts';
import { p } from '../../tools/definition/define-tool.ts';
import { isDeviceNamed, resolveSensorAt, withAliases } from '../../tools/names/resolve-names.ts';
import { successResult } from '../calls/tool-result.ts';
import { type HomeTool, homeTool } from './home-tool.ts';

const DAY_MS = 86_400_000;
const MAX_READINGS = 40;
/** Maximum range in milliseconds for which single values are used. Longer ranges use hourly values. */
const MAX_RAW_MS = 3 * DAY_MS;
const HOUR_MS = 3_600_000;

/** The parts of the hub that these tools need. */
export interface MeasurementParts {
  readonly home: VisibleHome;
  readonly readings: ReadingStore;
  readonly clock: Clock;
}

/** Returns `read_sensor` and `sensor_history`. */
export function measurementTools(parts: MeasurementParts): readonly HomeTool[] {
  return [readSensorTool(parts), historyTool(parts)];
}

function readSensorTool({ home, clock }: MeasurementParts): HomeTool {
  return homeTool(
    {
      name: 'read_sensor',
      title: 'Read sensors',
      description: 'The latest values of sensors with unit and age, by sensor, area or kind. Example: {"kind": "temperature"}',
      parameters: {
        sensor: p.string({ description: 'Id (<device>/temperature), title, or device id', maxLength: 200 }).optional(),
        area: p.string({ description: 'All of an area', maxLength: 64 }).optional(),
        kind: p.string({ description: 'Such as temperature, humidity, co2, contact, power, battery', maxLength: 64 }).optional(),
      },
    },
    ({ sensor, area, kind }, { principal }) => {
      const all = home.readings(principal);
      const named = sensor === undefined ? all : sensorsNamed(sensor, home, principal);
      const place = area === undefined ? undefined : home.area(principal, area);
      const found = named.filter(
        (reading) => home.isInArea(reading.sensor.area, place) && (kind === undefined || reading.sensor.kind === kindOf(kind)),
      );
      if (found.length === 0) throw noneFits(all, kind);
      const shown = found.slice(0, MAX_READINGS);
      home.noteRead(shown.map(({ sensor }) => sensor.device));
      return successResult({
        readings: shown.map((reading) => measurementView(reading, clock.now())),
        ...(found.length > MAX_READINGS && { more: found.length - MAX_READINGS }),
      });
    },
  );
}

function historyTool({ home, readings, clock }: MeasurementParts): HomeTool {
  return homeTool(
    {
      name: 'sensor_history',
      title: "A sensor's past",
      description:
        'How a sensor went over a time: lowest and highest with when, mean, and its course. Example: {"sensor": "<id from read_sensor>", "since": "24h"}.',
      parameters: {
        sensor: p.string({ description: 'Id or title of one sensor', maxLength: 200 }),
        since: p.string({ description: 'Begin: today, yesterday, before now (90m, 24h, 7d), or ISO 8601', default: '24h', maxLength: 40 }),
        until: p.string({ description: 'End, as since; now when absent', maxLength: 40 }).optional(),
      },
    },
    ({ sensor, since, until }, { principal }) => {
      const reading = oneSensor(sensor, home, principal);
      const found = reading.sensor;
      const nowMs = clock.now();
      const range = timeRange(timeOf('since', since, nowMs), until === undefined ? nowMs : timeOf('until', until, nowMs));
      return successResult({
        sensor: found.id,
        title: found.title,
        unit: found.unit,
        since: isoTime(range.startMs),
        until: isoTime(range.endMs),
        ...historySummary(historyOf(readings, reading, range)),
      });
    },
  );
}

/** Returns the history of a range. If the range is long and the values are not texts, returns hourly means, minima and maxima. */
function historyOf(readings: ReadingStore, { sensor, value }: Reading, range: Omit<HistoryRange, 'points'>): HistoryRange {
  const query = { sensor: sensor.id, startMs: range.startMs, endMs: range.endMs };
  const isLong = range.endMs - range.startMs > MAX_RAW_MS;
  if (!isLong || typeof value === 'string') return { ...range, points: readings.history({ ...query, aggregation: 'none' }) };
  const hourly = (aggregation: 'avg' | 'min' | 'max') => readings.history({ ...query, aggregation, everyMs: HOUR_MS });
  return { ...range, points: hourly('avg'), lows: hourly('min'), highs: hourly('max') };
}

function timeOf(name: string, text: string, nowMs: number): number {
  const atMs = parseTime(text, nowMs);
  if (atMs !== undefined) return atMs;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `${name} has to be a time such as 2026-01-31T07:00:00Z, a time before now such as 24h, today or yesterday`,
  );
}

/** Returns all sensors of the device with this id, name or alias. If there are none, returns the one sensor that has this name. */
function sensorsNamed(text: string, home: VisibleHome, principal: Principal): readonly Reading[] {
  const owner = deviceNamed(text, home, principal) ?? text;
  const ofDevice = home.readings(principal).filter(({ sensor }) => sensor.device === owner);
  return ofDevice.length > 0 ? ofDevice : [oneSensor(text, home, principal)];
}

function deviceNamed(text: string, home: VisibleHome, principal: Principal): string | undefined {
  const devices = withAliases(home.devices(principal), home.names).filter((device) => isDeviceNamed(text, device));
  return devices.length === 1 ? devices[0]?.id : undefined;
}

/** Returns a sensor's kind in its canonical spelling: `air_quality` for `Air quality`. */
function kindOf(text: string): string {
  return text
    .normalize('NFKC')
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_');
}

/** Returns the only sensor with this name that the caller may read. Throws SENSOR_NOT_FOUND or AMBIGUOUS_DEVICE with candidates. */
function oneSensor(text: string, home: VisibleHome, principal: Principal): Reading {
  const readings = home.readings(principal);
  const id = resolveSensorAt(deviceNamed(text, home, principal) ?? text, readings, {
    caller: { canSee: () => true },
    names: home.names,
    typesOf: (device) => home.typesOf(device),
  });
  const reading = readings.find(({ sensor }) => sensor.id === id);
  if (reading) return reading;
  throw new AtmoError('SENSOR_NOT_FOUND', `There is no sensor ${id} any more`);
}

function noneFits(readings: readonly Reading[], kind: string | undefined): AtmoError {
  const candidates = [...new Set(readings.map(({ sensor }) => sensor.kind))].sort();
  return new AtmoError(
    'SENSOR_NOT_FOUND',
    `No sensor fits${kind === undefined ? '' : ` the kind ${JSON.stringify(kind)}`}; kinds are ${candidates.join(', ') || 'none'}`,
    {
      candidates,
    },
  );
}

function measurementView({ sensor, value, atMs, reachability }: Reading, nowMs: number): JsonObject {
  return {
    sensor: sensor.id,
    title: sensor.title,
    ...(sensor.area !== undefined && { area: sensor.area }),
    kind: sensor.kind,
    value,
    unit: sensor.unit,
    age_seconds: atMs === 0 ? null : Math.max(0, Math.round((nowMs - atMs) / 1000)),
    reachability,
  };
}

/** Maximum number of points in a summary. */
const MAX_POINTS = 48;

interface HistoryRange {
  readonly startMs: number;
  readonly endMs: number;
  /** Readings, or means of equal intervals; oldest first. */
  readonly points: readonly HistoryPoint[];
  /** The minimum of each interval, if the points are means. */
  readonly lows?: readonly HistoryPoint[];
  readonly highs?: readonly HistoryPoint[];
}

interface NumberPoint {
  readonly atMs: number;
  readonly value: number;
}

/** Returns a summary of a history: minimum and maximum with their times, the mean over time, and a few points. */
export function historySummary(history: HistoryRange): JsonObject {
  const { points, lows = points, highs = points, endMs } = history;
  const numbers = numbersOf(points);
  const [first] = numbers;
  if (!first) return { readings: points.length, changes: changesOf(points) };
  const last = numbers.at(-1) ?? first;
  return {
    [history.lows ? 'hours' : 'readings']: numbers.length,
    min: timed(numbersOf(lows).reduce((low, point) => (point.value < low.value ? point : low), first)),
    max: timed(numbersOf(highs).reduce((high, point) => (point.value > high.value ? point : high), first)),
    mean: rounded(meanOver(numbers, endMs)),
    first: timed(first),
    last: timed(last),
    points: courseOf(numbers, history),
  };
}

function numbersOf(points: readonly HistoryPoint[]): readonly NumberPoint[] {
  return points.filter((point): point is NumberPoint => typeof point.value === 'number');
}

/** Returns the time-weighted mean. Each value counts until the next value. */
function meanOver(points: readonly NumberPoint[], endMs: number): number {
  let sum = 0;
  let duration = 0;
  for (const [index, { atMs, value }] of points.entries()) {
    const lengthMs = Math.max(0, (points[index + 1]?.atMs ?? endMs) - atMs);
    sum += value * lengthMs;
    duration += lengthMs;
  }
  return duration > 0 ? sum / duration : (points.at(-1)?.value ?? 0);
}

/** Returns the points. If there are more than MAX_POINTS, returns the means of at most MAX_POINTS equal intervals instead. */
function courseOf(points: readonly NumberPoint[], history: HistoryRange): readonly JsonObject[] {
  if (points.length <= MAX_POINTS) return points.map(timed);
  const { endMs } = history;
  const startMs = Math.max(history.startMs, points[0]?.atMs ?? 0);
  const widthMs = Math.max(1, (endMs - startMs) / MAX_POINTS);
  const buckets = Map.groupBy(points, ({ atMs }) => Math.min(MAX_POINTS - 1, Math.floor((atMs - startMs) / widthMs)));
  return [...buckets].map(([bucket, members]) => {
    const bucketEndMs = startMs + (bucket + 1) * widthMs;
    return timed({ atMs: Math.round(startMs + bucket * widthMs), value: meanOver(members, bucketEndMs) });
  });
}

/** Returns the newest changes. They summarise a history of texts, because texts have no mean. */
function changesOf(points: readonly HistoryPoint[]): readonly JsonObject[] {
  const changes = points.filter(({ value }, index) => index === 0 || points[index - 1]?.value !== value);
  return changes.slice(-MAX_POINTS).map(({ atMs, value }) => ({ at: isoTime(atMs), value }));
}

function timed({ atMs, value }: NumberPoint): { readonly at: string; readonly value: number } {
  return { at: isoTime(atMs), value: rounded(value) };
}

/** Returns a number rounded to hundredths, since sensors are not more precise. */
function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
