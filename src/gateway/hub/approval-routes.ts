import { APPROVAL_STATES } from '../../core/access/approvals.ts';
import { toolRoute } from '../calls/tool-route.ts';
import { field } from '../door/query.ts';
import type { Route } from '../door/route.ts';
import type { CallPort } from '../ports.ts';

const DECISION = {
  type: 'object',
  required: ['decision', 'person', 'signature'],
  properties: {
    decision: { enum: ['approve', 'deny'] },
    person: { type: 'string' },
    signature: { type: 'string', description: 'COSE_Sign1 over the statement (docs/approvals.md), base64url' },
  },
};
const APPROVER = {
  type: 'object',
  required: ['person', 'key'],
  properties: { person: { type: 'string' }, key: { type: 'string' }, label: { type: 'string' } },
};

const ROUTES = [
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

/** Approvals and approvers: each route is a call of the tool that does it. */
export function approvalRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return ROUTES.map((route) => route(pipeline));
}
