import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { CallPort } from '../ports.ts';
import { json } from '../server/answer.ts';
import { field } from '../server/query.ts';
import { defineRoute, type Route } from '../server/route.ts';
import { answerOfTool, bareAnswer, toolRoute } from './call-request.ts';

const PASSPHRASE = { type: 'string', description: 'passphrase of the root key' };

const MESH_ROUTES = [
  toolRoute({
    method: 'POST',
    path: '/api/v1/mesh/create',
    summary: 'Make a mesh with this hub as its first member',
    tool: 'hub:mesh_create',
    body: { type: 'object', required: ['passphrase'], properties: { passphrase: PASSPHRASE, name: { type: 'string' } } },
    status: 201,
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/mesh/invites',
    summary: 'Make an invite: one line with which one hub can join once; the answer is the only place that tells it',
    tool: 'hub:mesh_invite',
    body: { type: 'object' },
    status: 201,
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/mesh/join',
    summary: 'Make this hub a member of the mesh that an invite is for',
    tool: 'hub:mesh_join',
    body: { type: 'object', required: ['invite'], properties: { invite: { type: 'string' } } },
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/mesh/leave',
    summary: 'End the membership of this hub',
    tool: 'hub:mesh_leave',
    body: { type: 'object' },
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/mesh/renew',
    summary: 'Get this hub a new membership certificate now',
    tool: 'hub:mesh_renew',
    body: { type: 'object' },
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/mesh/peers/:id',
    summary: 'End the membership of another hub for good; one that may let others in takes the passphrase (POST …/revoke)',
    tool: 'hub:mesh_revoke',
    params: ({ path }) => ({ hub: path.id ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/mesh/peers/:id/revoke',
    summary: 'The same with a passphrase in the body',
    tool: 'hub:mesh_revoke',
    body: { type: 'object', properties: { passphrase: PASSPHRASE } },
    params: ({ path, body }) => ({ ...body, hub: path.id ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/mesh/peers/:id/delegate',
    summary: 'Let a hub of the mesh invite others',
    tool: 'hub:mesh_delegate',
    body: { type: 'object', required: ['passphrase'], properties: { passphrase: PASSPHRASE } },
    params: ({ path, body }) => ({ ...body, hub: path.id ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/mesh/root/export',
    summary: 'The root key, sealed under its passphrase, as one line for a safe place',
    tool: 'hub:mesh_export_root',
    body: { type: 'object', required: ['passphrase'], properties: { passphrase: PASSPHRASE } },
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/mesh/root/import',
    summary: 'Bring an exported root key of the mesh to this hub',
    tool: 'hub:mesh_import_root',
    body: { type: 'object', required: ['root_key', 'passphrase'] },
  }),
];

/** Returns the routes for the mesh and its administration. */
export function meshRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return [overviewRoute(pipeline), ...MESH_ROUTES.map((route) => route(pipeline))];
}

function overviewRoute(pipeline: Pick<CallPort, 'call'>): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/v1/mesh',
    summary: 'The mesh that this hub is in, and the other hubs with reachability, round trip, version and tools',
    query: { reachable: field.flag('only hubs that can be reached, or only those that cannot') },
    answers: { 200: { description: 'membership and peers', schema: { $ref: '#/components/schemas/Mesh' } } },
    async handle(request, { reachable }) {
      const status = await answerOfTool(pipeline, request, { tool: 'hub:mesh_status', params: {} });
      if (status.status === 'error') return bareAnswer(status, request);
      const peers = await answerOfTool(pipeline, request, { tool: 'hub:mesh_peers', params: {} });
      if (peers.status === 'error') return bareAnswer(peers, request);
      const list = Array.isArray(peers.result) ? peers.result.filter(isJsonObject).map(peerView) : [];
      const shown = list.filter((peer) => reachable === undefined || peer.reachable === reachable);
      return json({ ...(isJsonObject(status.result) && status.result), peers: shown });
    },
  });
}

/** Renames the property `hub_id` to `id`, as in all lists of this API. */
function peerView({ hub_id: id, ...peer }: JsonObject): JsonObject {
  return { ...(id !== undefined && { id }), ...peer };
}
