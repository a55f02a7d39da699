import type { Clock } from '../../core/clock.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import { parseSensorId, type SensorId } from '../../core/ids.ts';
import { AGGREGATIONS, type HistoryQuery, type Reading, type ReadingStore } from '../../core/reading-store.ts';
import { json } from '../door/answer.ts';
import { field, type QueryOf } from '../door/query.ts';
import { defineRoute, type Route } from '../door/route.ts';
import type { CallerSight } from './caller-sight.ts';
import { timeText } from './device-view.ts';
import { readingView } from './reading-view.ts';

const DAY_MS = 86_400_000;
const HISTORY_QUERY = {
  since: field.time('begin of the range, 24 h ago by default'),
  until: field.time('end of the range, now by default'),
  every: field.duration('width of one bucket'),
  agg: field.choice('how a bucket becomes one value: avg when `every` is given, else none', AGGREGATIONS),
  limit: field.integer('at most this many points, the newest', 1, 10_000),
};

interface SensorCollaborators {
  readonly readings: ReadingStore;
  readonly sight: CallerSight;
  readonly clock: Clock;
}

/** Sensors now and their history. */
export function sensorRoutes(collaborators: SensorCollaborators): readonly Route[] {
  return [listRoute(collaborators), historyRoute(collaborators)];
}

function listRoute({ sight, clock }: SensorCollaborators): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/v1/sensors',
    summary: 'Every sensor that the caller may read, with its present value, unit and age',
    query: {
      device: field.text('only sensors of this device id'),
      kind: field.text('only this kind, such as temperature'),
      area: field.text('only sensors in this area'),
    },
    answers: { 200: 'sensors' },
    handle({ principal }, { device, kind, area }) {
      const shown = sight
        .readings(principal)
        .filter(({ sensor }) => fits(sensor.device, device) && fits(sensor.kind, kind) && fits(sensor.area, area));
      return json({ sensors: shown.map((reading) => readingView(reading, clock.now())) });
    },
  });
}

function historyRoute({ readings, sight, clock }: SensorCollaborators): Route {
  return defineRoute({
    method: 'GET',
    // Sensor ids hold a slash; it may come as %2F or as it is.
    path: '/api/v1/sensors/:id{.+}/readings',
    summary: 'History of one sensor, raw or in buckets',
    query: HISTORY_QUERY,
    answers: { 200: 'points, oldest first' },
    handle({ principal, path }, query) {
      const id = parseSensorId(path.id ?? '');
      if (!sight.mayRead(principal, id)) throw sensorNotFound(id, sight.readings(principal));
      const history = historyQuery(id, query, clock.now());
      const points = readings.history(history);
      const current = readings.current(id);
      if (!current && points.length === 0) throw sensorNotFound(id, sight.readings(principal));
      return json({
        sensor: current ? readingView(current, clock.now()) : { id },
        since: timeText(history.startMs),
        until: timeText(history.endMs),
        aggregation: history.aggregation,
        points: points.map(({ atMs, value }) => ({ at: timeText(atMs), value })),
      });
    },
  });
}

function historyQuery(sensor: SensorId, query: QueryOf<typeof HISTORY_QUERY>, nowMs: number): HistoryQuery {
  const startMs = query.since ?? nowMs - DAY_MS;
  const endMs = query.until ?? nowMs;
  if (startMs > endMs)
    throw new AtmoError('VALIDATION_ERROR', `since (${timeText(startMs)}) lies after until (${timeText(endMs)}); swap them`);
  return {
    sensor,
    startMs,
    endMs,
    aggregation: query.agg ?? (query.every === undefined ? 'none' : 'avg'),
    ...(query.every !== undefined && { everyMs: query.every }),
    ...(query.limit !== undefined && { limit: query.limit }),
  };
}

function fits(value: string | undefined, wanted: string | undefined): boolean {
  return wanted === undefined || value?.toLowerCase() === wanted.toLowerCase();
}

function sensorNotFound(id: SensorId, known: readonly Reading[]): AtmoError {
  const near = nearestTexts(
    id,
    known.map(({ sensor }) => sensor.id),
  );
  const hint = near.length > 0 ? `; near it are ${near.join(', ')}` : '; GET /api/v1/sensors lists them';
  return new AtmoError('SENSOR_NOT_FOUND', `There is no sensor ${id}${hint}`, { nearest: [...near] });
}
