import type { ApprovalQueue, ApprovalRequest, ApprovalVerdict } from '../../../core/access/approval-queue.ts';
import type { RuleVerdict } from '../../../core/access/rule-engine.ts';
import { AtmoError } from '../../../core/errors.ts';
import { maskSecrets } from '../../schema/secret-params.ts';
import type { Call } from '../call.ts';
import { shownParams } from '../told/shown-params.ts';
import type { StageContext } from './stage-context.ts';

/** The owner's rules over the call; RULE_BLOCKED names the one that forbids it. */
export function applyRules(call: Call, context: StageContext): void {
  if (call.repeated) return;
  const verdict = judge(call, context);
  if (verdict?.rule !== undefined) call.rule = verdict.rule;
  call.personsByRule = verdict?.kind === 'approve' ? verdict.persons : 0;
}

/** Uses up the approval of a dangerous call, or of one that a rule wants approved. APPROVAL_REQUIRED while people are asked. */
export async function requireApproval(call: Call, context: StageContext): Promise<void> {
  if (call.repeated || personsNeeded(call) === 0) return;
  const { approvalId: id, by } = approved(call, await queueFor(call, context).check(approvalRequest(call, context)));
  call.approval = { id, by };
}

/** The same without using it up. */
export async function peekApproval(call: Call, context: StageContext): Promise<void> {
  if (personsNeeded(call) === 0) return;
  approved(call, await queueFor(call, context).peek(approvalRequest(call, context)));
}

/** Rules may have changed while the call waited, and the hour for which they hold may have begun. */
export function confirmRules(call: Call, context: StageContext): void {
  if (call.risk === 'dangerous') requireKnownTime(call, context);
  const verdict = judge(call, context);
  if (verdict?.kind !== 'approve' || (call.approval?.by.length ?? 0) >= verdict.persons) return;
  throw new AtmoError('CONFLICT', `The rule ${verdict.rule} now wants people to approve this call; nothing was done, call it again`, {
    rule: verdict.rule,
  });
}

function judge(call: Call, context: StageContext): Exclude<RuleVerdict, { kind: 'deny' }> | undefined {
  const { principal } = call.request;
  const verdict = context.rules?.judge({ principal, toolId: call.tool.id, effects: call.effects, params: call.params });
  if (verdict?.kind !== 'deny') return verdict;
  throw new AtmoError('RULE_BLOCKED', `A rule of the owner forbids this call: ${verdict.reason}`, { rule: verdict.rule });
}

function personsNeeded(call: Call): number {
  const ofTool = call.risk === 'dangerous' ? (call.tool.definition.metadata.approvalsNeeded ?? 1) : 0;
  return Math.max(ofTool, call.personsByRule);
}

function queueFor(call: Call, context: StageContext): ApprovalQueue {
  if (call.risk === 'dangerous') requireKnownTime(call, context);
  if (context.approvals) return context.approvals;
  throw new AtmoError('PERMISSION_DENIED', `${why(call)} and this hub has nobody who could approve it`);
}

/** Without the time, an approval or a token that has expired could count again. */
function requireKnownTime(call: Call, { time }: StageContext): void {
  if (time?.isTrusted() !== false) return;
  throw new AtmoError(
    'PERMISSION_DENIED',
    `${call.tool.id} is dangerous and the hub does not know the time since it started; connect it to the network, or set the time with \`atmo clock set\``,
    { reason: 'time_unknown' },
  );
}

function approvalRequest(call: Call, context: StageContext): ApprovalRequest {
  const { metadata, parameters } = call.tool.definition;
  return {
    principal: call.request.principal,
    toolId: call.tool.id,
    title: metadata.title,
    params: shownParams(maskSecrets(parameters, call.params)),
    traceId: call.traceId,
    callHash: call.hash(context.sealSecret),
    effects: call.effects,
    personsNeeded: personsNeeded(call),
  };
}

function approved(call: Call, verdict: ApprovalVerdict): Extract<ApprovalVerdict, { state: 'approved' }> {
  if (verdict.state === 'approved') return verdict;
  if (verdict.state === 'denied') {
    const { approvalId, by } = verdict;
    throw new AtmoError('PERMISSION_DENIED', `${by} has denied this call of ${call.tool.id}`, { approval_id: approvalId });
  }
  const { approvalId, expiresAt, needed, given } = verdict;
  const more = needed - given === 1 ? '1 more approval is' : `${needed - given} more approvals are`;
  throw new AtmoError('APPROVAL_REQUIRED', `${why(call)}: ${more} needed until ${expiresAt}`, {
    approval_id: approvalId,
    expires_at: expiresAt,
    needed,
    given,
  });
}

function why(call: Call): string {
  return call.risk === 'dangerous' ? `${call.tool.id} is dangerous` : `The rule ${call.rule} wants people to approve ${call.tool.id}`;
}
