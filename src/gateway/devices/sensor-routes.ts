import type { Principal } from '../../core/access/principal.ts';
import type { ReadingStore } from '../../core/devices/reading-store.ts';
import type { Clock } from '../../core/time/clock.ts';
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
      device: field.text('only sensors of this device, by id or unique name'),
      kind: field.text('only this kind, such as temperature'),
      area: field.text('only sensors in this area'),
    },
    answers: { 200: { description: 'sensors', schema: { $ref: '#/components/schemas/Readings' } } },
    handle({ principal }, { device, kind, area }) {
      const of = device === undefined ? undefined : deviceWith(sight, principal, device);
      const shown = sight
        .readings(principal)
        .filter(({ sensor }) => (of === undefined || sensor.device === of) && fits(sensor.kind, kind) && sight.isIn(sensor.area, area));
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

/** What has sensors of its own needs to be no device of the home. */
function deviceWith(sight: CallerSight, principal: Principal, text: string): string {
  const hasSensors = sight.readings(principal).some(({ sensor }) => sensor.device === text);
  return hasSensors ? text : sight.device(principal, text).id;
}

function fits(value: string | undefined, wanted: string | undefined): boolean {
  return wanted === undefined || value?.toLowerCase() === wanted.toLowerCase();
}
