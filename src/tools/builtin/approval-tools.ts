import {
  APPROVAL_ANSWERS,
  APPROVAL_STATES,
  type ApprovalService,
  type ApprovalView,
  type ApproverDirectory,
  type ApproverKey,
  approvalSummary,
  type OwnedApproval,
  PERSON_NAME,
  plannedStepLines,
} from '../../core/auth/approvals.ts';
import { type Authorizer, type Effect, type Principal, principalKey } from '../../core/auth/principal.ts';
import type { StandingAnswers } from '../../core/auth/standing-answers.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, INTEGER, p, resultSchema, TEXT, TEXTS } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { copyJsonObject, RESULT_LIMITS } from '../schema/plain-json.ts';
import { HUB_ACTS, HUB_READS } from './hub-tool.ts';

const APPROVALS_PERMISSION = 'admin:approvals';
const FOR_APPROVALS = { permissions: [APPROVALS_PERMISSION] } as const;
const approvalId = p.string({ description: 'Id that the call answered with', pattern: '^[0-9a-f]{32}$' });
const returns = resultSchema(
  {
    approval_id: TEXT,
    state: { enum: APPROVAL_STATES },
    summary: TEXT,
    will_do: { ...TEXTS, description: 'The program or the steps that will run, a line for each' },
    needed: INTEGER,
    given: INTEGER,
    expires_at: TEXT,
    waits_for_s: { ...INTEGER, description: 'Seconds for which the request may wait' },
    usable_until: { ...TEXT, description: 'Until when the approved call can be made' },
    answers: { type: 'array', items: { enum: APPROVAL_ANSWERS }, description: 'The answers that the hub accepts' },
    runs_when_approved: { type: 'boolean', description: 'True if the call waits as a job and runs when it is approved' },
  },
  ['will_do', 'usable_until'],
);

/** The parts of the hub that the approval tools use. */
export interface ApprovalPorts {
  readonly approvals: ApprovalService;
  readonly approvers: ApproverDirectory;
  readonly standing: StandingAnswers;
  readonly authorizer: Authorizer;
}

/** Returns the tools for approval requests and approvers. Callers see their own requests; administrators of approvals see all requests. */
export function approvalTools(ports: ApprovalPorts): readonly RegisteredTool[] {
  return [
    listApprovalsTool(ports),
    showApprovalTool(ports),
    decideApprovalTool(ports),
    ...standingTools(ports.standing),
    ...approverTools(ports.approvers),
  ];
}

function listApprovalsTool(ports: ApprovalPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      name: 'list_approvals',
      title: 'List requests for approval',
      description: 'Lists the dangerous calls that wait for people or were decided in the last hour, newest first.',
      parameters: { state: p.enum(APPROVAL_STATES, { description: 'Only requests in this state' }).optional() },
      returns: resultSchema({ approvals: { type: 'array', items: returns } }),
    },
    async ({ state }, { principal }) => {
      const visible = ports.approvals.list(state).filter((approval) => canSeeApproval(approval, principal, ports));
      return { approvals: visible.map(({ view }) => viewJson(view)) };
    },
  );
}

function showApprovalTool(ports: ApprovalPorts): RegisteredTool {
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
      if (found && canSeeApproval(found, principal, ports)) return viewJson(found.view);
      throw new AtmoError('NOT_FOUND', `No request ${id} waits for approval; list_approvals tells which do`);
    },
  );
}

function decideApprovalTool({ approvals }: ApprovalPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_APPROVALS,
      name: 'decide_approval',
      isDestructive: true,
      title: 'Answer a request for approval',
      description:
        "Hands in a person's signed answer to a request. Only the signature of an approver key counts, not who calls this. approve allows the call once, approve_for_hour the same call again for an hour, deny refuses the call, refuse also refuses the agent the devices of the call until that is removed.",
      parameters: {
        approval_id: approvalId,
        decision: p.enum(APPROVAL_ANSWERS, {
          description: 'What the person says, one of the answers that the request takes; one denial ends it',
        }),
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

function canSeeApproval({ principalKey: requester }: OwnedApproval, principal: Principal, { authorizer }: ApprovalPorts): boolean {
  return requester === principalKey(principal) || authorizer.authorize(principal, [APPROVALS_PERMISSION]).allowed;
}

function viewJson(view: ApprovalView): JsonObject {
  return { ...copyJsonObject(view, RESULT_LIMITS), summary: approvalSummary(view), will_do: plannedStepLines(view) };
}

/** Returns the tools for answers that hold on: the same call again for an hour, and refused devices. */
function standingTools(standing: StandingAnswers): readonly RegisteredTool[] {
  const list = defineTool(
    {
      ...HUB_READS,
      ...FOR_APPROVALS,
      name: 'list_standing_answers',
      title: 'List answers that hold on',
      description: 'Lists what people have allowed for an hour and which devices they have refused to agents, newest first.',
      parameters: {},
      returns: resultSchema({ answers: { type: 'array', items: { type: 'object' } } }),
    },
    async () => ({ answers: standing.list().map((view) => copyJsonObject(view, RESULT_LIMITS)) }),
  );
  const remove = defineTool(
    {
      ...HUB_ACTS,
      ...FOR_APPROVALS,
      name: 'remove_standing_answer',
      title: 'Remove an answer that holds on',
      description: 'Ends an approval for an hour, or lifts the refusal of devices. An agent cannot lift a refusal that holds for itself.',
      parameters: { approval_id: approvalId },
    },
    async ({ approval_id: id }, { principal }) => copyJsonObject(await standing.remove(id, principal), RESULT_LIMITS),
  );
  return [list, remove];
}

/** Returns the tools for the keys of approvers. Adding or removing a key counts as a dangerous call. */
function approverTools(approvers: ApproverDirectory): readonly RegisteredTool[] {
  return [listApproversTool(approvers), enrollApproverTool(approvers), removeApproverTool(approvers)];
}

function listApproversTool(approvers: ApproverDirectory): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...FOR_APPROVALS,
      name: 'list_approvers',
      title: 'List approvers',
      description: 'Lists the persons who may approve dangerous calls, with their keys.',
      parameters: {},
      returns: resultSchema({ approvers: { type: 'array' } }),
    },
    async () => ({ approvers: approvers.list().map(keyJson) }),
  );
}

function enrollApproverTool(approvers: ApproverDirectory): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_APPROVALS,
      name: 'enroll_approver',
      title: 'Let a person approve dangerous calls',
      description: 'Enrols a key of a person, whose signatures then approve dangerous calls that are made from now on.',
      isDangerous: true,
      parameters: {
        person: p.string({ description: 'Name of the person', pattern: PERSON_NAME.source }),
        key: p.string({
          description: 'Raw public key in base64url: Ed25519 of 32 bytes, or P-256 of 65',
          pattern: '^[A-Za-z0-9_-]{43}([A-Za-z0-9_-]{44})?$',
        }),
        label: p.string({ description: 'Which key of hers it is, such as phone', maxLength: 64, default: '', isGivenName: true }),
      },
      effects: ({ person }) => [dangerousEffect(`approver/${person}`)],
    },
    async (params) => keyJson(await approvers.enrol(params)),
  );
}

function removeApproverTool(approvers: ApproverDirectory): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_APPROVALS,
      name: 'remove_approver',
      title: 'Remove an approver key',
      description: "Removes a key; the person's approvals with it that were not used yet count no more.",
      isDangerous: true,
      parameters: { key_id: p.string({ description: 'Id of the key, as list_approvers tells it', pattern: '^[0-9a-f]{16}$' }) },
      // The target contains the person's name, because approvers would not recognise a key by its id alone.
      effects: ({ key_id: id }) => {
        const owner = approvers.list().find(({ keyId }) => keyId === id);
        return [dangerousEffect(owner ? `approver/${owner.person}/${id}` : `approver-key/${id}`)];
      },
    },
    async ({ key_id: id }) => keyJson(await approvers.remove(id)),
  );
}

function dangerousEffect(target: string): Effect {
  return { permission: APPROVALS_PERMISSION, risk: 'dangerous', target };
}

function keyJson({ person, keyId, key, label, enrolledAt, passkey }: ApproverKey): JsonObject {
  return { person, key_id: keyId, key, label, enrolled_at: enrolledAt, ...(passkey && { credential_id: passkey.credentialId }) };
}
