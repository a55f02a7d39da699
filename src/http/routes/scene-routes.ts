import type { CallPort } from '../ports.ts';
import type { Route } from '../server/route.ts';
import { toolRoute } from './call-request.ts';

const CONTENT = {
  area: { type: 'string', maxLength: 64 },
  devices: { type: 'array', items: { type: 'string', maxLength: 64 } },
  actions: { type: 'array', items: { type: 'object' } },
};
const NAME = { type: 'string', minLength: 1, maxLength: 64 };

const SCENE_ROUTES = [
  toolRoute({
    method: 'GET',
    path: '/api/v1/scenes',
    summary: 'The scenes of which the caller may control a device, with what each device does',
    tool: 'core:list_scenes',
    params: () => ({}),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/scenes',
    summary: 'Save a scene: what an area or devices are now, or a list of actions',
    tool: 'core:save_scene',
    body: { type: 'object', required: ['name'], properties: { name: NAME, ...CONTENT } },
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/scenes/:scene/change',
    summary: 'Give a scene another name or another content',
    tool: 'core:change_scene',
    body: { type: 'object', properties: { name: NAME, ...CONTENT } },
    params: ({ path, body }) => ({ ...body, scene: path.scene ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/scenes/:scene/run',
    summary: 'Run a scene; the answer tells for each device what became of it',
    tool: 'core:run_scene',
    body: { type: 'object', properties: { devices: { type: 'array', items: { type: 'string', maxLength: 64 } } } },
    params: ({ path, body }) => ({ ...body, scene: path.scene ?? '' }),
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/scenes/:scene',
    summary: 'Delete a scene and its tool',
    tool: 'core:delete_scene',
    params: ({ path }) => ({ scene: path.scene ?? '' }),
  }),
];

/** Returns the routes for scenes. */
export function sceneRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return SCENE_ROUTES.map((route) => route(pipeline));
}
