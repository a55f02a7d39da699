import type { Clock } from '../../core/clock.ts';
import type { ReadingStore } from '../../core/reading-store.ts';
import { json } from '../door/answer.ts';
import { field } from '../door/query.ts';
import { defineRoute, type Route } from '../door/route.ts';
import type { CallerSight } from './caller-sight.ts';
import { readingView } from './reading-view.ts';
import { HISTORY_QUERY, historyView } from './sensor-history.ts';

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
    answers: { 200: { description: 'sensors', schema: { $ref: '#/components/schemas/Readings' } } },
    handle({ principal }, { device, kind, area }) {
      const shown = sight
        .readings(principal)
        .filter(({ sensor }) => fits(sensor.device, device) && fits(sensor.kind, kind) && fits(sensor.area, area));
      return json({ sensors: shown.map((reading) => readingView(reading, clock.now())) });
    },
  });
}

function historyRoute(collaborators: SensorCollaborators): Route {
  return defineRoute({
    method: 'GET',
    // Sensor ids hold a slash; it may come as %2F or as it is.
    path: '/api/v1/sensors/:id{.+}/readings',
    summary: 'History of one sensor, raw or in buckets',
    query: HISTORY_QUERY,
    answers: { 200: { description: 'points, oldest first', schema: { $ref: '#/components/schemas/History' } } },
    handle: ({ principal, path }, query) => json(historyView(collaborators, principal, { sensor: path.id ?? '', query })),
  });
}

function fits(value: string | undefined, wanted: string | undefined): boolean {
  return wanted === undefined || value?.toLowerCase() === wanted.toLowerCase();
}
