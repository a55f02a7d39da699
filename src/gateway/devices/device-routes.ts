import type { Principal } from '../../core/access/principal.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { type Device, REACHABILITIES } from '../../core/devices/device-model.ts';
import type { HomeNames } from '../../core/devices/home-names.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Clock } from '../../core/time/clock.ts';
import { SURE_FROM } from '../../tools/search/confidence.ts';
import type { EntityMatch, EntitySearch } from '../../tools/search/search.ts';
import { json } from '../door/answer.ts';
import { field } from '../door/query.ts';
import { defineRoute, type Route } from '../door/route.ts';
import type { ToolCatalogue } from '../tools/tool-catalogue.ts';
import { thingView } from '../tools/tool-routes.ts';
import type { CallerSight } from './caller-sight.ts';
import { deviceView, endpointView } from './device-view.ts';
import { readingView } from './reading-view.ts';

interface DeviceCollaborators {
  readonly directory: DeviceDirectory;
  readonly catalogue: ToolCatalogue;
  readonly sight: CallerSight;
  readonly entities: EntitySearch;
  readonly homeNames: HomeNames;
  readonly clock: Clock;
}

const DEFAULT_MATCHES = 20;

/** Devices with what they have and say. */
export function deviceRoutes(collaborators: DeviceCollaborators): readonly Route[] {
  return [listRoute(collaborators), oneRoute(collaborators)];
}

function listRoute(collaborators: DeviceCollaborators): Route {
  const { catalogue, sight, clock, entities } = collaborators;
  return defineRoute({
    method: 'GET',
    path: '/api/v1/devices',
    isDocument: true,
    summary: 'Every device that the caller may see, or those that fit `q` best first, with reachability, age, tools and readings',
    query: {
      q: field.text('best matches for a sentence, ranked, with scores and why'),
      limit: field.integer('at most this many matches for `q`, 20 by default', 1, 1_000),
      area: field.text('only devices in this area'),
      reachability: field.choice('only devices of this reachability', REACHABILITIES),
    },
    answers: { 200: { description: 'devices', schema: { $ref: '#/components/schemas/Devices' } } },
    handle(request, query) {
      const shown = sight
        .devices(request.principal)
        .filter((device) => query.reachability === undefined || device.reachability === query.reachability)
        .filter((device) => sight.isIn(device.area, query.area));
      const toolsOf = Map.groupBy(catalogue.all(request.principal), (tool) => tool.definition.metadata.device);
      const readingsOf = Map.groupBy(sight.readings(request.principal), (reading) => reading.sensor.device);
      const view = (device: Device) => ({
        ...deviceView(device, viewContext(collaborators, request.principal)),
        tools: (toolsOf.get(device.id) ?? []).map((tool) => tool.id),
        readings: (readingsOf.get(device.id) ?? []).map((reading) => readingView(reading, clock.now())),
      });
      if (query.q === undefined) return json({ devices: shown.map(view) });
      const byId = new Map(shown.map((device) => [device.id as string, device]));
      const sensors = sight.readings(request.principal).map(({ sensor }) => sensor);
      const inList = sensors.filter(({ device }) => byId.has(device));
      const limit = query.limit ?? DEFAULT_MATCHES;
      const ranked = entities.search({ text: query.q, limit: 2 * shown.length + inList.length + 1 }, { devices: shown, sensors: inList });
      const things = (kind: EntityMatch['kind']) => ranked.filter((one) => one.kind === kind).slice(0, limit);
      const matches = ranked.flatMap(({ kind, id, score, confidence, reasons }) => {
        const device = kind === 'device' ? byId.get(id) : undefined;
        return device ? [{ device, score, confidence, reasons }] : [];
      });
      return json({
        devices: matches.slice(0, limit).map(({ device, ...match }) => ({ ...view(device), ...match })),
        unsure: !ranked.some(({ confidence }) => confidence >= SURE_FROM),
        readings: things('sensor').map(thingView),
        areas: things('area').map(thingView),
      });
    },
  });
}

function oneRoute(collaborators: DeviceCollaborators): Route {
  const { directory, catalogue, sight, clock } = collaborators;
  return defineRoute({
    method: 'GET',
    path: '/api/v1/devices/:id',
    summary: 'One device by id or unique name, with endpoints, tools and readings',
    query: { describe: field.flag('add `description`: every cluster with its schemas') },
    answers: { 200: { description: 'device', schema: { $ref: '#/components/schemas/DeviceInFull' } } },
    handle(request, query) {
      const device = sight.device(request.principal, request.path.id ?? '');
      const description = directory.describe(device.id);
      const tools = catalogue.all(request.principal, { device: device.id });
      const own = sight.readings(request.principal).filter(({ sensor }) => sensor.device === device.id);
      return json({
        ...deviceView(device, viewContext(collaborators, request.principal)),
        endpoints: (description?.endpoints ?? []).map(endpointView),
        tools: tools.map(({ id, definition }) => ({ id, title: definition.metadata.title, description: definition.description })),
        readings: own.map((reading) => readingView(reading, clock.now())),
        description: query.describe ? description : undefined,
      });
    },
  });
}

function viewContext({ sight, clock, homeNames: names }: DeviceCollaborators, principal: Principal) {
  return { nowMs: clock.now(), names, maySee: (device: DeviceId) => sight.maySee(principal, device) };
}
