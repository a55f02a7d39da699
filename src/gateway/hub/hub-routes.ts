import type { JsonObject } from '../../core/json.ts';
import { AUDIT_KINDS } from '../../core/storage/audit-log.ts';
import { isoTime } from '../../core/time/iso-time.ts';
import { toolRoute } from '../calls/tool-route.ts';
import { field, type QueryOf } from '../door/query.ts';
import type { Route } from '../door/route.ts';
import type { CallPort } from '../ports.ts';

const SPAN = {
  since: field.time('only what was written from this time on'),
  until: field.time('only what was written until this time'),
};
const AUDIT_QUERY = {
  ...SPAN,
  agent: field.text('only calls of this agent'),
  tool: field.text('only calls of this tool'),
  request: field.text('only the call with this request id'),
  kind: field.choice('only rows of this kind', AUDIT_KINDS),
  before: field.integer('only rows before this number, for paging towards the past', 1, Number.MAX_SAFE_INTEGER),
  limit: field.integer('at most this many rows', 1, 1_000),
};

/** What the owner administers over HTTP: each route is the call of a hub tool. */
const HUB_ROUTES = [
  toolRoute({
    method: 'POST',
    path: '/api/v1/tokens',
    summary: 'Make a token for an agent; the answer is the only place that tells its text',
    tool: 'hub:mint_token',
    body: { type: 'object', required: ['agent_id', 'permissions'] },
    status: 201,
  }),
  toolRoute({ method: 'GET', path: '/api/v1/tokens', summary: 'The tokens that this hub made', tool: 'hub:list_tokens' }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/tokens/inspect',
    summary: 'What a token says and whether it still holds',
    tool: 'hub:show_token',
    body: { type: 'object', required: ['token'] },
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/tokens/:id',
    summary: 'Revoke a token and all that come from it',
    tool: 'hub:revoke_token',
    params: ({ path }) => ({ token_id: path.id ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/tokens/rotate-owner',
    summary: "Replace the owner's token; the old one ends at once",
    tool: 'hub:rotate_owner',
    body: { type: 'object' },
  }),
  toolRoute({
    method: 'GET',
    path: '/api/v1/audit',
    summary: 'The journal of calls, newest first',
    tool: 'hub:read_audit',
    query: AUDIT_QUERY,
    params: (_request, query) => auditParams(query),
  }),
  toolRoute({ method: 'GET', path: '/api/v1/audit/head', summary: 'Where the chain of the journal stands', tool: 'hub:audit_head' }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/audit/verify',
    summary: 'Recompute the chain of the journal, against a head that was kept elsewhere if one is given',
    tool: 'hub:verify_audit',
    body: { type: 'object' },
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/audit/replay',
    summary: 'Replay calls of the journal that can be; nothing that acts is done again',
    tool: 'hub:replay_audit',
    body: { type: 'object' },
  }),
  toolRoute({ method: 'GET', path: '/api/v1/rules', summary: "The owner's rules", tool: 'hub:list_rules' }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/rules/test',
    summary: 'What the rules would say of a call; nothing is called',
    tool: 'hub:test_rules',
    body: { type: 'object' },
  }),
  toolRoute({ method: 'GET', path: '/api/v1/clock', summary: 'The time of the hub and whether it is trusted', tool: 'hub:clock_status' }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/clock',
    summary: 'Set the time of the hub',
    tool: 'hub:set_clock',
    body: { type: 'object' },
  }),
];

/** The routes of administration over the pipeline. */
export function hubRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return HUB_ROUTES.map((route) => route(pipeline));
}

function auditParams({ since, until, ...rest }: QueryOf<typeof AUDIT_QUERY>): JsonObject {
  return { ...rest, ...(since !== undefined && { since: isoTime(since) }), ...(until !== undefined && { until: isoTime(until) }) };
}
