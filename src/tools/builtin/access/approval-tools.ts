import { approvalSummary, willDoLines } from '../../../core/access/approval-words.ts';
import {
  APPROVAL_STATES,
  type ApprovalDesk,
  type ApprovalView,
  type ApproverDirectory,
  type OwnedApproval,
} from '../../../core/access/approvals.ts';
import type { Authorizer } from '../../../core/access/authorizer.ts';
import { type Principal, principalKey } from '../../../core/access/principal.ts';
import { AtmoError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { p } from '../../schema/parameter-builder.ts';
import { copyJsonObject, RESULT_LIMITS } from '../../schema/plain-json.ts';
import { HUB_ACTS, HUB_READS } from '../devices/admin-declaration.ts';
import { approverTools } from './approver-tools.ts';

const PERMISSION = 'admin:approvals';
const approvalId = p.string({ description: 'Id that the call answered with', pattern: '^[0-9a-f]{32}$' });
const returns = {
  type: 'object',
  required: ['approval_id', 'state', 'summary', 'needed', 'given', 'expires_at'],
  properties: {
    approval_id: { type: 'string' },
    state: { enum: APPROVAL_STATES },
    summary: { type: 'string' },
    will_do: { type: 'array', items: { type: 'string' }, description: 'The program or the steps that will run, a line for each' },
    needed: { type: 'integer' },
    given: { type: 'integer' },
    expires_at: { type: 'string' },
  },
};

/** What the approval tools work with. */
export interface ApprovalPorts {
  readonly approvals: ApprovalDesk;
  readonly approvers: ApproverDirectory;
  readonly authorizer: Authorizer;
}

/** Requests for approval and whose word counts (source 000 §6). One sees one's own requests, admins of approvals see all. */
export function approvalTools(ports: ApprovalPorts): readonly RegisteredTool[] {
  return [listTool(ports), showTool(ports), decideTool(ports), ...approverTools(ports.approvers)];
}

function listTool(ports: ApprovalPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      name: 'list_approvals',
      title: 'List requests for approval',
      description: 'Lists the dangerous calls that wait for people or were decided in the last hour, newest first.',
      parameters: { state: p.enum(APPROVAL_STATES, { description: 'Only requests in this state' }).optional() },
      returns: { type: 'object', required: ['approvals'], properties: { approvals: { type: 'array', items: returns } } },
    },
    async ({ state }, { principal }) => {
      const visible = ports.approvals.list().filter((approval) => maySee(approval, principal, ports));
      const shown = visible.filter(({ view }) => state === undefined || view.state === state);
      return { approvals: shown.map(({ view }) => viewJson(view)) };
    },
  );
}

function showTool(ports: ApprovalPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      name: 'show_approval',
      title: 'Show a request for approval',
      description: 'Tells who asks for what, what it touches, how many persons have approved, and what a person has to sign.',
      parameters: { approval_id: approvalId },
      returns,
    },
    async ({ approval_id: id }, { principal }) => {
      const found = ports.approvals.get(id);
      if (found && maySee(found, principal, ports)) return viewJson(found.view);
      throw new AtmoError('NOT_FOUND', `No request ${id} waits for approval; list_approvals tells which do`);
    },
  );
}

function decideTool({ approvals }: ApprovalPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      permissions: [PERMISSION],
      name: 'decide_approval',
      isDestructive: true,
      title: 'Approve or deny a dangerous call',
      description: "Hands in a person's signed word about a request. Only the signature of an approver key counts, not who calls this.",
      parameters: {
        approval_id: approvalId,
        decision: p.enum(['approve', 'deny'], { description: 'What the person says; one denial ends the request' }),
        person: p.string({ description: 'Name under which the key is enrolled', minLength: 1, maxLength: 32 }),
        signature: p.string({
          description: 'COSE_Sign1 over the statement (docs/approvals.md), base64url',
          maxLength: 2_048,
          secret: true,
        }),
      },
      returns,
    },
    async ({ approval_id: id, decision, person, signature }) =>
      viewJson(await approvals.decide({ approvalId: id, decision, person, signature })),
  );
}

function maySee({ principalKey: requester }: OwnedApproval, principal: Principal, { authorizer }: ApprovalPorts): boolean {
  return requester === principalKey(principal) || authorizer.authorize(principal, [PERMISSION]).allowed;
}

function viewJson(view: ApprovalView): JsonObject {
  return { ...copyJsonObject(view, RESULT_LIMITS), summary: approvalSummary(view), will_do: willDoLines(view) };
}
