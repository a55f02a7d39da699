import { toolRoute } from '../calls/tool-route.ts';
import { field } from '../door/query.ts';
import type { Route } from '../door/route.ts';
import type { CallPort } from '../ports.ts';

const NAME = { type: 'string', minLength: 1, maxLength: 64 };
const named = { type: 'object', required: ['name'], properties: { name: NAME } } as const;

const ROUTES = [
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
    body: { ...named, properties: { name: { ...NAME, maxLength: 128 }, confirm: { type: 'boolean' } } },
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/devices/:id/rename',
    summary: 'Give a device another name; the answer tells how its tools are called now, its former names, and what uses them',
    tool: 'hub:rename_device',
    body: named,
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
    path: '/api/v1/areas/:area/rename',
    summary: 'Give a room another name, which the answer tells with what names it; with merge, join it to the room of that name',
    tool: 'hub:rename_area',
    body: { ...named, properties: { name: NAME, merge: { type: 'boolean' } } },
    params: ({ path, body }) => ({ ...body, area: path.area ?? '' }),
  }),
];

/** Names of devices and rooms, and devices that were here before. */
export function deviceNameRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return ROUTES.map((route) => route(pipeline));
}
