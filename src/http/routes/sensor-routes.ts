import type { Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { parseSensorId } from '../../core/devices/device-names.ts';
import { AGGREGATIONS, type HistoryPoint, type HistoryQuery, type Reading, type ReadingStore } from '../../core/devices/sensor-readings.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { SensorId } from '../../core/ids.ts';
import { json } from '../server/answer.ts';
import { field, type QueryOf } from '../server/query.ts';
import { defineRoute, type Route } from '../server/route.ts';
import type { VisibleHome } from '../visible-home.ts';
import { readingView, timeText } from './device-view.ts';

interface SensorCollaborators {
  readonly readings: ReadingStore;
  readonly home: VisibleHome;
  readonly clock: Clock;
}

/** Returns the routes for sensors and their histories. */
export function sensorRoutes(collaborators: SensorCollaborators): readonly Route[] {
  return [listRoute(collaborators), historyRoute(collaborators)];
}

function listRoute({ home, clock }: SensorCollaborators): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/v1/sensors',
    summary: 'Every sensor that the caller may read, with its present value, unit and age',
    query: {
      device: field.text('only sensors of this device, by id or unique name'),
      kind: field.text('only this kind, such as temperature'),
      area: field.text('only sensors in this area'),
    },
    answers: { 200: { description: 'sensors', schema: { $ref: '#/components/schemas/Readings' } } },
    handle({ principal }, { device, kind, area }) {
      const of = device === undefined ? undefined : deviceWith(home, principal, device);
      const shown = home
        .readings(principal)
        .filter(
          ({ sensor }) =>
            (of === undefined || sensor.device === of) && equalsIgnoringCase(sensor.kind, kind) && home.isInArea(sensor.area, area),
        );
      home.noteRead(shown.map(({ sensor }) => sensor.device));
      return json({ sensors: shown.map((reading) => readingView(reading, clock.now())) });
    },
  });
}

function historyRoute(collaborators: SensorCollaborators): Route {
  return defineRoute({
    method: 'GET',
    // A sensor id contains a slash, so the pattern matches slashes. Requests may also write the slash as %2F.
    path: '/api/v1/sensors/:id{.+}/readings',
    summary: 'History of one sensor, raw or in buckets',
    query: HISTORY_QUERY,
    answers: { 200: { description: 'points, oldest first', schema: { $ref: '#/components/schemas/History' } } },
    handle: ({ principal, path }, query) => json(historyView(collaborators, principal, { sensor: path.id ?? '', query })),
  });
}

/** Returns the id of the device with this id or name. An id also works if the caller may only read a sensor of the device. */
function deviceWith(home: VisibleHome, principal: Principal, text: string): string {
  const hasSensors = home.readings(principal).some(({ sensor }) => sensor.device === text);
  return hasSensors ? text : home.device(principal, text).id;
}

function equalsIgnoringCase(value: string | undefined, wanted: string | undefined): boolean {
  return wanted === undefined || value?.toLowerCase() === wanted.toLowerCase();
}

const DAY_MS = 86_400_000;

/** Query parameters of the history route. */
export const HISTORY_QUERY = {
  since: field.time('begin of the range, 24 h ago by default'),
  until: field.time('end of the range, now by default'),
  every: field.duration('width of one bucket'),
  agg: field.choice('how a bucket becomes one value: avg when `every` is given, else none', AGGREGATIONS),
  limit: field.integer('at most this many points, the newest', 1, 10_000),
};

interface HistoryCollaborators {
  readonly readings: ReadingStore;
  readonly home: VisibleHome;
  readonly clock: Clock;
}

interface HistoryRequest {
  /** Id of the sensor as the caller wrote it. */
  readonly sensor: string;
  readonly query: QueryOf<typeof HISTORY_QUERY>;
}

/**
 * Returns the history of a sensor, oldest point first. Throws VALIDATION_ERROR if the range is invalid. Throws SENSOR_NOT_FOUND if the
 * sensor does not exist, or if the caller may not read it.
 */
export function historyView({ readings, home, clock }: HistoryCollaborators, principal: Principal, { sensor, query }: HistoryRequest) {
  const id = parseSensorId(sensor);
  if (!home.mayRead(principal, id)) throw sensorNotFound(id, home.readings(principal));
  const history = historyQuery(id, query, clock.now());
  const points = pointsOf(readings, history);
  const current = readings.current(id);
  if (current) home.noteRead([current.sensor.device]);
  if (!current && points.length === 0) throw sensorNotFound(id, home.readings(principal));
  return {
    sensor: current ? readingView(current, clock.now()) : { id },
    since: timeText(history.startMs),
    until: timeText(history.endMs),
    aggregation: history.aggregation,
    points: points.map(({ atMs, value }) => ({ at: timeText(atMs), value })),
  };
}

/** Returns the stored points. If the store throws SENSOR_NOT_FOUND because it has no readings of the sensor, returns an empty list. */
function pointsOf(readings: ReadingStore, query: HistoryQuery): readonly HistoryPoint[] {
  try {
    return readings.history(query);
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'SENSOR_NOT_FOUND') return [];
    throw error;
  }
}

function historyQuery(sensor: SensorId, query: QueryOf<typeof HISTORY_QUERY>, nowMs: number): HistoryQuery {
  return {
    sensor,
    ...timeRange(query.since ?? nowMs - DAY_MS, query.until ?? nowMs),
    aggregation: query.agg ?? (query.every === undefined ? 'none' : 'avg'),
    ...(query.every !== undefined && { everyMs: query.every }),
    ...(query.limit !== undefined && { limit: query.limit }),
  };
}

/** Returns the range between two times. Throws VALIDATION_ERROR if it ends before it begins. */
export function timeRange(startMs: number, endMs: number): { readonly startMs: number; readonly endMs: number } {
  if (startMs <= endMs) return { startMs, endMs };
  throw new AtmoError('VALIDATION_ERROR', `since (${timeText(startMs)}) lies after until (${timeText(endMs)}); swap them`);
}

/** Returns the error for an unknown sensor. A sensor that the caller may not read gets the same error. */
function sensorNotFound(id: SensorId, known: readonly Reading[]): AtmoError {
  const near = nearestTexts(
    id,
    known.map(({ sensor }) => sensor.id),
  );
  const hint = near.length > 0 ? `; near it are ${near.join(', ')}` : '; GET /api/v1/sensors lists them';
  return new AtmoError('SENSOR_NOT_FOUND', `There is no sensor ${id}${hint}`, { nearest: [...near] });
}
