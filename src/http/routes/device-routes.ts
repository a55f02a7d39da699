import type { Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { type Device, REACHABILITIES } from '../../core/devices/device-model.ts';
import { areaKey, type HomeNames } from '../../core/devices/device-names.ts';
import type { DeviceId } from '../../core/ids.ts';
import { floorsInOrder, inHomeOrder } from '../../tools/names/home-order.ts';
import { CONFIDENT_FROM } from '../../tools/search/confidence.ts';
import type { EntityMatch, EntitySearch } from '../../tools/search/home-search.ts';
import type { CallPort } from '../ports.ts';
import { json } from '../server/answer.ts';
import { field } from '../server/query.ts';
import { defineRoute, type Route } from '../server/route.ts';
import type { ToolCatalogue } from '../tool-catalogue.ts';
import type { VisibleHome } from '../visible-home.ts';
import { toolRoute } from './call-request.ts';
import { deviceView, endpointView, readingView } from './device-view.ts';
import { entityView } from './tool-routes.ts';

interface DeviceCollaborators {
  readonly directory: DeviceDirectory;
  readonly catalogue: ToolCatalogue;
  readonly home: VisibleHome;
  readonly entities: EntitySearch;
  readonly homeNames: HomeNames;
  readonly clock: Clock;
}

const DEFAULT_MATCHES = 20;

/** Returns the routes for devices, their endpoints and their readings. */
export function deviceRoutes(collaborators: DeviceCollaborators): readonly Route[] {
  return [deviceListRoute(collaborators), deviceRoute(collaborators)];
}

function deviceListRoute(collaborators: DeviceCollaborators): Route {
  const { catalogue, home, clock, entities } = collaborators;
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
      const shown = home
        .devices(request.principal)
        .filter((device) => query.reachability === undefined || device.reachability === query.reachability)
        .filter((device) => home.isInArea(device.area, query.area));
      const toolsOf = Map.groupBy(catalogue.all(request.principal), (tool) => tool.definition.metadata.device);
      const readingsOf = Map.groupBy(home.readings(request.principal), (reading) => reading.sensor.device);
      const view = (device: Device) => ({
        ...deviceView(device, viewContext(collaborators, request.principal)),
        tools: (toolsOf.get(device.id) ?? []).map((tool) => tool.id),
        readings: (readingsOf.get(device.id) ?? []).map((reading) => readingView(reading, clock.now())),
      });
      if (query.q === undefined) return json({ devices: shown.map(view) });
      const byId = new Map(shown.map((device) => [device.id as string, device]));
      const sensors = home.readings(request.principal).map(({ sensor }) => sensor);
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
        unsure: !ranked.some(({ confidence }) => confidence >= CONFIDENT_FROM),
        readings: things('sensor').map(entityView),
        areas: things('area').map(entityView),
      });
    },
  });
}

function deviceRoute(collaborators: DeviceCollaborators): Route {
  const { directory, catalogue, home, clock } = collaborators;
  return defineRoute({
    method: 'GET',
    path: '/api/v1/devices/:id',
    summary: 'One device by id or unique name, with endpoints, tools and readings',
    query: { describe: field.flag('add `description`: every cluster with its schemas') },
    answers: { 200: { description: 'device', schema: { $ref: '#/components/schemas/DeviceInFull' } } },
    handle(request, query) {
      const device = home.device(request.principal, request.path.id ?? '');
      const description = directory.describe(device.id);
      const tools = catalogue.all(request.principal, { device: device.id });
      const own = home.readings(request.principal).filter(({ sensor }) => sensor.device === device.id);
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

function viewContext({ home, clock, homeNames: names }: DeviceCollaborators, principal: Principal) {
  return { nowMs: clock.now(), names, maySee: (device: DeviceId) => home.maySee(principal, device) };
}

/** Returns the route that lists areas with their floors, aliases and devices. */
export function areaRoutes({ home }: { readonly home: VisibleHome }): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/areas',
      isDocument: true,
      summary:
        'Every area that the caller knows a device or sensor of, with its floor, other names and devices; areas and floors in the order that people chose',
      answers: { 200: { description: 'areas', schema: { $ref: '#/components/schemas/Areas' } } },
      handle({ principal }) {
        const devicesIn = Map.groupBy(home.devices(principal), ({ area }) => area !== undefined && areaKey(area));
        const areas = inHomeOrder(home.areas(principal), home.names);
        return json({
          floors: floorsInOrder(areas, home.names),
          areas: areas.map((area) => {
            const { floor = null, aliases } = home.names.areaNames(area);
            return { area, floor, aliases, devices: (devicesIn.get(areaKey(area)) ?? []).map(({ id }) => id) };
          }),
        });
      },
    }),
  ];
}

const NAME = { type: 'string', minLength: 1, maxLength: 64 };
const NAMES = { type: 'array', items: NAME, maxItems: 200 };
const NAME_BODY = { type: 'object', required: ['name'], properties: { name: NAME } } as const;

const DEVICE_NAME_ROUTES = [
  toolRoute({
    method: 'GET',
    path: '/api/v1/device-names',
    summary: 'What devices are and were called, how the names of their tools begin, and what uses these names; of removed devices too',
    tool: 'hub:list_device_names',
    query: { name: field.text('only the device with this id, or with this name now or before') },
    params: (_request, { name }) => (name === undefined ? {} : { name }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/device-names/free',
    summary: 'Let another device have a former name, or the names of a removed device',
    tool: 'hub:free_device_name',
    body: { ...NAME_BODY, properties: { name: { ...NAME, maxLength: 128 }, confirm: { type: 'boolean' } } },
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/devices/:id/rename',
    summary: 'Give a device another name; the answer tells how its tools are called now, its former names, and what uses them',
    tool: 'hub:rename_device',
    body: NAME_BODY,
    params: ({ path, body }) => ({ ...body, device_id: path.id ?? '' }),
  }),
  toolRoute({
    method: 'GET',
    path: '/api/v1/recognised-devices',
    summary: 'Devices that seem to have been here before they were removed, with the id that each had',
    tool: 'hub:recognised_devices',
    params: () => ({}),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/devices/:id/restore',
    summary: 'Give a device that was commissioned again its former id, with history, names, grants and rules',
    tool: 'hub:restore_device',
    body: { type: 'object', properties: { whole_node: { type: 'boolean' } } },
    params: ({ path, body }) => ({ ...body, device_id: path.id ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/devices/:id/replace',
    summary:
      'Put a newly added device into the place of this one, which leaves the home; refused without `confirm` if something uses what the new one lacks',
    tool: 'hub:replace_device',
    body: {
      type: 'object',
      required: ['new_device_id'],
      properties: { new_device_id: { ...NAME, description: 'Id or name of the new device' }, confirm: { type: 'boolean' } },
    },
    params: ({ path, body }) => ({ ...body, device_id: path.id ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/areas/:area/rename',
    summary: 'Give a room another name, which the answer tells with what names it; with merge, join it to the room of that name',
    tool: 'hub:rename_area',
    body: { ...NAME_BODY, properties: { name: NAME, merge: { type: 'boolean' } } },
    params: ({ path, body }) => ({ ...body, area: path.area ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/areas/order',
    summary: 'Set the order in which rooms and floors are shown to everybody',
    tool: 'hub:order_areas',
    body: { type: 'object', properties: { areas: NAMES, floors: NAMES } },
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/areas/:area/describe',
    summary: 'Say on which floor a room is and what else it is called; what is left out stays',
    tool: 'hub:describe_area',
    body: { type: 'object', properties: { floor: { type: 'string', maxLength: 64 }, aliases: NAMES } },
    params: ({ path, body }) => ({ ...body, area: path.area ?? '' }),
  }),
];

/** Returns the routes for the names of devices and rooms, and for the restoration of removed devices. */
export function deviceNameRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return DEVICE_NAME_ROUTES.map((route) => route(pipeline));
}
