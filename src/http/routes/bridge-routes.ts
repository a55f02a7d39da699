import type { CallPort } from '../ports.ts';
import type { Route } from '../server/route.ts';
import { toolRoute } from './call-request.ts';

const BRIDGE_ROUTES = [
  toolRoute({
    method: 'GET',
    path: '/api/v1/bridge',
    summary: 'What other Matter ecosystems see, and what else can be bridged',
    tool: 'hub:list_bridged',
    params: () => ({ candidates: true }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/bridge',
    summary: 'Bridge a sensor, output or scene of this hub, or a device of another hub',
    tool: 'hub:bridge_device',
    body: {
      type: 'object',
      required: ['thing'],
      properties: {
        thing: { type: 'string', minLength: 1, maxLength: 200 },
        hub: { type: 'string', maxLength: 200 },
        dangerous: { type: 'boolean' },
      },
    },
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/bridge/:id',
    summary: 'Bridge a thing no longer',
    tool: 'hub:unbridge_device',
    params: ({ path }) => ({ thing: path.id ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/bridge/open',
    summary: 'Open a bridge for one more ecosystem, with new codes',
    tool: 'hub:open_bridge',
    body: {
      type: 'object',
      properties: { bridge: { type: 'integer', minimum: 1 }, seconds: { type: 'integer', minimum: 180, maximum: 900 } },
    },
  }),
  toolRoute({
    method: 'GET',
    path: '/api/v1/ecosystems',
    summary: 'The Matter ecosystems that have commissioned a bridge of this hub',
    tool: 'hub:list_ecosystems',
    params: () => ({}),
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/ecosystems/:ecosystem',
    summary: 'Remove an ecosystem from its bridge and end its tokens',
    tool: 'hub:remove_ecosystem',
    params: ({ path }) => ({ ecosystem: path.ecosystem ?? '' }),
  }),
];

/** Returns the routes for bridges to other Matter ecosystems. */
export function bridgeRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return BRIDGE_ROUTES.map((route) => route(pipeline));
}
