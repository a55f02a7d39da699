import { APPROVAL_ANSWERS, APPROVAL_STATES } from '../../core/auth/approvals.ts';
import { parseGrant } from '../../core/auth/permission.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { AUDIT_KINDS } from '../../core/storage/audit-log.ts';
import type { CallPort } from '../ports.ts';
import { json } from '../server/answer.ts';
import { field, type QueryOf } from '../server/query.ts';
import { defineRoute, type Route } from '../server/route.ts';
import type { ToolCatalogue } from '../tool-catalogue.ts';
import type { VisibleHome } from '../visible-home.ts';
import { toolRoute } from './call-request.ts';

const TIME_RANGE = {
  since: field.time('only what was written from this time on'),
  until: field.time('only what was written until this time'),
};
const AUDIT_QUERY = {
  ...TIME_RANGE,
  agent: field.text('only calls of this agent'),
  tool: field.text('only calls of this tool'),
  request: field.text('only the call with this request id'),
  kind: field.choice('only rows of this kind', AUDIT_KINDS),
  before: field.integer('only rows before this number, for paging towards the past', 1, Number.MAX_SAFE_INTEGER),
  limit: field.integer('at most this many rows', 1, 1_000),
};

/** Table of the administration routes. Each route calls one tool. */
const ADMIN_ROUTES = [
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

/** Returns the administration routes. */
export function adminRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return ADMIN_ROUTES.map((route) => route(pipeline));
}

function auditParams({ since, until, ...rest }: QueryOf<typeof AUDIT_QUERY>): JsonObject {
  return { ...rest, ...(since !== undefined && { since: isoTime(since) }), ...(until !== undefined && { until: isoTime(until) }) };
}

const DECISION = {
  type: 'object',
  required: ['decision', 'person', 'signature'],
  properties: {
    decision: { enum: APPROVAL_ANSWERS, description: 'One of `answers` of the request' },
    person: { type: 'string' },
    signature: { type: 'string', description: 'COSE_Sign1 over the statement (docs/approvals.md), base64url' },
  },
};
const APPROVER = {
  type: 'object',
  required: ['person', 'key'],
  properties: { person: { type: 'string' }, key: { type: 'string' }, label: { type: 'string' } },
};

const APPROVAL_ROUTES = [
  toolRoute({
    method: 'GET',
    path: '/api/v1/approvals',
    summary: 'Dangerous calls that wait for people or were decided in the last hour, newest first',
    tool: 'hub:list_approvals',
    query: { state: field.choice('only requests in this state', APPROVAL_STATES) },
    params: (_request, { state }) => (state === undefined ? {} : { state }),
  }),
  toolRoute({
    method: 'GET',
    path: '/api/v1/approvals/:id',
    summary: 'One request: who asks for what, who has approved, what to sign',
    tool: 'hub:show_approval',
    params: ({ path }) => ({ approval_id: path.id ?? '' }),
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/approvals/:id',
    summary: "Hand in a person's signed decision",
    tool: 'hub:decide_approval',
    body: DECISION,
    params: ({ path, body }) => ({ ...body, approval_id: path.id ?? '' }),
  }),
  toolRoute({
    method: 'GET',
    path: '/api/v1/standing-answers',
    summary: 'What people have allowed for an hour, and which devices they have refused to agents',
    tool: 'hub:list_standing_answers',
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/standing-answers/:id',
    summary: 'End an approval for an hour, or lift a refusal, by the id of the request that was answered so',
    tool: 'hub:remove_standing_answer',
    params: ({ path }) => ({ approval_id: path.id ?? '' }),
  }),
  toolRoute({
    method: 'GET',
    path: '/api/v1/approvers',
    summary: 'The persons who may approve, with their keys',
    tool: 'hub:list_approvers',
  }),
  toolRoute({
    method: 'POST',
    path: '/api/v1/approvers',
    summary: 'Enrol an approver key; dangerous itself',
    tool: 'hub:enroll_approver',
    body: APPROVER,
    status: 201,
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/approvers/:id',
    summary: 'Remove an approver key by its id; dangerous itself',
    tool: 'hub:remove_approver',
    params: ({ path }) => ({ key_id: path.id ?? '' }),
  }),
];

/** Returns the routes for approvals and approvers. Each route calls one tool. */
export function approvalRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return APPROVAL_ROUTES.map((route) => route(pipeline));
}

const MAX_PERMISSIONS = 64;
const LISTED = { type: 'array', items: { type: 'object' } };

/** Returns the route that lists what an agent with given permissions would see. Devices and tools hidden from the caller are left out. */
export function previewRoutes({ catalogue, home }: { readonly catalogue: ToolCatalogue; readonly home: VisibleHome }): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/tokens/preview',
      summary: 'The devices and tools that a token with these permissions would be shown; no token is made',
      body: {
        type: 'object',
        required: ['permissions'],
        properties: { permissions: { type: 'array', items: { type: 'string' }, maxItems: MAX_PERMISSIONS } },
        example: { permissions: ['device:control:@area/hall'] },
      },
      answers: {
        200: {
          description: 'devices and tools by id and name',
          schema: { type: 'object', required: ['devices', 'tools'], properties: { devices: LISTED, tools: LISTED } },
        },
      },
      handle({ principal, body }) {
        const agent: Principal = { id: 'preview', kind: 'agent', permissions: grantsOf(body.permissions) };
        const isShown = catalogue.visibleTo(principal);
        const devices = home.devices(agent).filter(({ id }) => home.maySee(principal, id));
        const tools = catalogue.all(agent).filter(isShown);
        return json({
          devices: devices.map(({ id, name, area }) => ({ id, name, area: area ?? null })),
          tools: tools.map(({ id, definition }) => ({ id, name: definition.metadata.title })),
        });
      },
    }),
  ];
}

function grantsOf(permissions: Json | undefined): readonly string[] {
  const texts = Array.isArray(permissions) ? permissions : [];
  const grants = texts.filter((text) => typeof text === 'string').filter((text) => parseGrant(text) !== undefined);
  if (grants.length > 0 && grants.length === texts.length && grants.length <= MAX_PERMISSIONS) return grants;
  throw new AtmoError('VALIDATION_ERROR', `permissions has to be a list of 1 to ${MAX_PERMISSIONS} permissions such as "device:read:*"`);
}
