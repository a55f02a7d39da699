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
import type { Json, JsonObject } from '../../../core/json.ts';
import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { p } from '../../schema/parameter-builder.ts';
import { copyJsonObject, RESULT_LIMITS } from '../../schema/plain-json.ts';
import { SECRET_MASK } from '../../schema/secret-params.ts';
import { HUB_ACTS, HUB_READS } from '../devices/admin-declaration.ts';
import { approverTools } from './approver-tools.ts';

const PERMISSION = 'admin:approvals';
/** Longest value of a parameter in a summary; the whole stands in `params`. */
const MAX_SHOWN_LENGTH = 120;
const approvalId = p.string({ description: 'Id that the call answered with', pattern: '^[0-9a-f]{32}$' });
const returns = {
  type: 'object',
  required: ['approval_id', 'state', 'summary', 'needed', 'given', 'expires_at'],
  properties: {
    approval_id: { type: 'string' },
    state: { enum: APPROVAL_STATES },
    summary: { type: 'string' },
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
  return { ...copyJsonObject(view, RESULT_LIMITS), summary: summaryOf(view) };
}

/**
 * What people are asked, in one line: `kitchen wants: Unlock the front door (pin: [secret]) by matter:door_unlock@1.0.0,
 * which touches door/1/DoorLock/UnlockDoor`.
 */
function summaryOf({ agent_id: agent, title, tool, params, effects }: ApprovalView): string {
  const given = Object.entries(params).map(([name, value]) => `${name}: ${shown(value)}`);
  const targets = [...new Set(effects.map(({ target }) => target))];
  const details = given.length > 0 ? ` (${given.join(', ')})` : '';
  return `${agent} wants: ${title}${details} by ${tool}, which touches ${targets.join(', ')}`;
}

/** Quoted unless it is one plain word: what an agent writes into a parameter must not read like part of the sentence. */
function shown(value: Json): string {
  if (value === SECRET_MASK || (typeof value === 'string' && /^[\w.:@/+-]{1,64}$/.test(value))) return String(value);
  const text = JSON.stringify(value).replace(/\p{C}/gu, '?');
  const hidden = text.length - MAX_SHOWN_LENGTH;
  return hidden <= 0 ? text : `${text.slice(0, MAX_SHOWN_LENGTH)}… and ${hidden} characters more, see params`;
}
