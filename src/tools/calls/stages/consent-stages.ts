import type { ApprovalQueue, ApprovalRequest, ApprovalVerdict } from '../../../core/access/approval-queue.ts';
import type { PlannedCall } from '../../../core/access/approvals.ts';
import type { RuledCall, RuleVerdict } from '../../../core/access/rule-engine.ts';
import { AtmoError, type ErrorCode, toAtmoError } from '../../../core/errors.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { formerIdsOf } from '../../definition/tool-name.ts';
import type { RemoteResolveOptions } from '../../elsewhere/remote-tools.ts';
import { maskSecrets } from '../../schema/secret-params.ts';
import { callerView, canSeeTool } from '../../visibility.ts';
import type { Call } from '../call.ts';
import { approvalHash, isPlannedStep, plannedCall } from '../planned-call.ts';
import { shownParams } from '../told/shown-params.ts';
import { isOffered } from '../tool-offer.ts';
import { waitWithin } from './call-time.ts';
import type { StageContext } from './stage-context.ts';

/** The owner's rules over the call; RULE_BLOCKED names the one that forbids it. */
export function applyRules(call: Call, context: StageContext): void {
  if (call.repeated) return;
  const verdict = judge(call, context);
  if (verdict.rule !== undefined) call.rule = verdict.rule;
  call.personsByRule = verdict.kind === 'approve' ? verdict.persons : 0;
}

/** Uses up the approval of a dangerous call, or of one that a rule wants approved. APPROVAL_REQUIRED while people are asked. */
export async function requireApproval(call: Call, context: StageContext): Promise<void> {
  if (call.repeated || personsNeeded(call) === 0) return;
  await awaitSteps(call, context);
  const request = approvalRequest(call, context);
  const { approvalId: id, by } = approved(call, await queueFor(call, context).check(request));
  call.approval = { id, by, callHash: request.callHash };
  call.plan = request.plan;
}

/** The same without using it up. */
export async function peekApproval(call: Call, context: StageContext): Promise<void> {
  if (personsNeeded(call) === 0) return;
  await awaitSteps(call, context);
  approved(call, await queueFor(call, context).peek(approvalRequest(call, context)));
}

/** Rules may have changed while the call waited, the hour for which they hold may have begun, and what it runs may be another thing. */
export function confirmRules(call: Call, context: StageContext): void {
  if (call.risk === 'dangerous') requireKnownTime(call, context);
  requireApprovedPlan(call, context);
  requirePlannedStep(call, context);
  const verdict = judge(call, context);
  if (verdict.kind !== 'approve' || (call.approval?.by.length ?? 0) >= verdict.persons) return;
  throw new AtmoError('CONFLICT', `The rule ${verdict.rule} now wants people to approve this call; nothing was done, call it again`, {
    rule: verdict.rule,
  });
}

/** People have agreed to programs and steps as they were then. */
function requireApprovedPlan(call: Call, context: StageContext): void {
  if (!call.approval || call.approval.callHash === approvalHash(planOf(call, context))) return;
  throw new AtmoError('CONFLICT', `What ${call.tool.id} runs has changed since people approved it; nothing was done, call it again`);
}

/** A step of a call that people approved is one that they were shown, with the arguments that they were shown, and each runs once. */
function requirePlannedStep(call: Call, context: StageContext): void {
  const { within } = call.request;
  const left = within && context.stepsLeft.get(within);
  if (!left) return;
  const now = planOf(call, context);
  const step = call.step ?? takenFrom(left, now);
  if (!step || !isPlannedStep(step, now)) {
    throw new AtmoError('CONFLICT', `${call.tool.id} is not the step that people approved; it was not run`);
  }
  call.step = step;
  call.plan ??= now;
}

function takenFrom(left: PlannedCall[], now: PlannedCall): PlannedCall | undefined {
  const index = left.findIndex((planned) => isPlannedStep(planned, now));
  return index === -1 ? undefined : left.splice(index, 1)[0];
}

/** A step whose hub is still being read is not unknown to whoever has to approve it, and comes within seconds. */
async function awaitSteps(call: Call, context: StageContext): Promise<void> {
  if (!call.tool.innerCalls) return;
  let known: Promise<void> | undefined;
  planWith(call, context, (name, options) => {
    known ??= context.tools.whole(name, options);
    return stepTool(() => context.tools.find(name, options));
  });
  if (known) await waitWithin(call, context, known);
}

/** Steps mean what their names mean to the caller, as when they run. NODE_UNAVAILABLE for what may be a step on a hub that is not known whole. */
function planOf(call: Call, context: StageContext): PlannedCall {
  return planWith(call, context, (name, options) => stepTool(() => context.tools.resolve(name, options), ['NODE_UNAVAILABLE']));
}

type FindStep = (name: string, options: RemoteResolveOptions) => RegisteredTool | undefined;

function planWith({ tool, params, request: { principal } }: Call, context: StageContext, find: FindStep): PlannedCall {
  const { authorizer, validator, sealSecret: seal } = context;
  const options = {
    isVisible: (candidate: RegisteredTool) => canSeeTool(candidate, principal, authorizer),
    isListed: (candidate: RegisteredTool) => isOffered(candidate, principal, context),
  };
  return plannedCall(tool, params, { find: (name) => find(name, options), caller: callerView(principal, authorizer), validator, seal });
}

/** Undefined for a name that means nothing, or several things: the call of such a step is refused. */
function stepTool(find: () => RegisteredTool | undefined, thrown: readonly ErrorCode[] = []): RegisteredTool | undefined {
  try {
    return find();
  } catch (error) {
    if (thrown.includes(toAtmoError(error).code)) throw error;
    return undefined;
  }
}

function judge(call: Call, context: StageContext): Exclude<RuleVerdict, { kind: 'deny' }> {
  const { principal } = call.request;
  const verdict = context.rules.judge({ principal, ...namesIn(call), effects: call.effects, params: call.params });
  if (verdict.kind !== 'deny') return verdict;
  throw new AtmoError('RULE_BLOCKED', `A rule of the owner forbids this call: ${verdict.reason}`, { rule: verdict.rule });
}

function namesIn({ tool }: Call): Pick<RuledCall, 'toolId' | 'formerToolIds'> {
  return { toolId: tool.id, formerToolIds: formerIdsOf(tool) };
}

function personsNeeded(call: Call): number {
  const ofTool = call.risk === 'dangerous' ? (call.tool.definition.metadata.approvalsNeeded ?? 1) : 0;
  return Math.max(ofTool, call.personsByRule);
}

function queueFor(call: Call, context: StageContext): ApprovalQueue {
  if (call.risk === 'dangerous') requireKnownTime(call, context);
  return context.approvals;
}

/** Without the time, an approval or a token that has expired could count again. */
function requireKnownTime(call: Call, { time }: StageContext): void {
  if (time.isTrusted()) return;
  throw new AtmoError(
    'PERMISSION_DENIED',
    `${call.tool.id} is dangerous and the hub does not know the time since it started; connect it to the network, or set the time with \`atmo clock set\``,
    { reason: 'time_unknown' },
  );
}

function approvalRequest(call: Call, context: StageContext): ApprovalRequest {
  const { metadata, parameters } = call.tool.definition;
  const plan = planOf(call, context);
  return {
    principal: call.request.principal,
    toolId: call.tool.id,
    title: metadata.title,
    params: shownParams(maskSecrets(parameters, call.params)),
    traceId: call.traceId,
    callHash: approvalHash(plan),
    effects: call.effects,
    plan,
    personsNeeded: personsNeeded(call),
  };
}

function approved(call: Call, verdict: ApprovalVerdict): Extract<ApprovalVerdict, { state: 'approved' }> {
  if (verdict.state === 'approved') return verdict;
  if (verdict.state === 'denied') {
    const { approvalId, by, expiresAt } = verdict;
    const told = `${by} has denied this call of ${call.tool.id}; it is refused until ${expiresAt}, after that it can be asked for again`;
    throw new AtmoError('PERMISSION_DENIED', told, { approval_id: approvalId, denied_until: expiresAt });
  }
  const { approvalId, expiresAt, needed, given, summary, willDo } = verdict;
  const more = needed - given === 1 ? '1 more approval is' : `${needed - given} more approvals are`;
  throw new AtmoError('APPROVAL_REQUIRED', `${why(call)}: ${more} needed until ${expiresAt}`, {
    approval_id: approvalId,
    expires_at: expiresAt,
    needed,
    given,
    summary,
    ...(willDo.length > 0 && { will_do: willDo }),
  });
}

function why(call: Call): string {
  return call.risk === 'dangerous' ? `${call.tool.id} is dangerous` : `The rule ${call.rule} wants people to approve ${call.tool.id}`;
}
