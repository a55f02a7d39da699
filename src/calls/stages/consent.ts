import type {
  ApprovalQueue,
  ApprovalRequest,
  ApprovalStatus,
  ApprovedStep,
  CoveringApproval,
  PlannedCall,
  WaitingJob,
} from '../../core/auth/approvals.ts';
import { type CallToJudge, principalKey, type RuleVerdict } from '../../core/auth/principal.ts';
import { AtmoError, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { formerToolIds } from '../../tools/definition/tool-names.ts';
import { callerView, canSeeTool, needsSignature } from '../../tools/definition/tool-permissions.ts';
import { maskSecrets } from '../../tools/schema/secrets.ts';
import {
  type ApprovableCall,
  type ApprovedCall,
  type AuthorizedCall,
  type CallFacts,
  type ConfirmedCall,
  isElsewhere,
  type ReauthorizedCall,
  type RehearsedCall,
  type RoutableCall,
  type RuledCall,
  riskOf,
  type VouchedCall,
} from '../call.ts';
import { waitForAtMost } from '../call-deadline.ts';
import { approvalHash, approvedSteps, displayedParams, isPlannedStep, plannedCall } from '../call-plan.ts';
import { storableCall } from '../jobs/waiting-jobs.ts';
import type { StageContext, ToolLookup } from '../pipeline-context.ts';
import type { CallRequest } from '../request-and-answer.ts';
import { isOffered } from './authorization.ts';

/**
 * Applies the owner's rules, and the devices that people refused to the caller. Throws RULE_BLOCKED if a rule forbids the call; the error
 * names the rule. Throws PERMISSION_DENIED if the call would change a refused device.
 */
export function applyRules<P extends 'asked' | 'claimed'>(call: AuthorizedCall<P>, context: StageContext): RuledCall<P> {
  const verdict = judgeByRules(call, context);
  const personsByRule = verdict.kind === 'approve' ? verdict.persons : 0;
  return { ...call, personsByRule, ...(verdict.rule !== undefined && { rule: verdict.rule }) } as RuledCall<P>;
}

/** Returns whether another hub sent the call, or the call of which it is a step, without its signature. */
export function isUnsigned({ isUnsigned, within }: CallRequest, { unsigned }: StageContext): boolean {
  return isUnsigned === true || (within !== undefined && unsigned.has(within));
}

/**
 * Throws PERMISSION_DENIED, with `signature: required` in the details, if another hub sent the call without its signature, and the call is
 * dangerous, administers the hub, has steps or needs an approval.
 */
export function requireSignature(call: RuledCall<'claimed'>, context: StageContext): VouchedCall {
  const { tool, effects, request } = call;
  if (!isUnsigned(request, context) || !(needsSignature(tool, effects) || personsNeeded(call) > 0)) return call as VouchedCall;
  throw new AtmoError('PERMISSION_DENIED', `${tool.id} runs only if the hub that sends the call signs it`, { signature: 'required' });
}

/**
 * Uses the approval of a call that needs one: a dangerous call, or a call for which a rule requires approval. Rejects with
 * APPROVAL_REQUIRED if the call is not approved yet, and with PERMISSION_DENIED if people denied it.
 */
export async function requireApproval(call: VouchedCall, context: StageContext): Promise<ApprovedCall> {
  if (personsNeeded(call) === 0) return call as ApprovedCall;
  await awaitStepTools(call, context);
  const plan = planOf(call, context);
  const coveredBy = coveringApproval({ call, plan }, stepsLeftFor(call, context), context);
  if (coveredBy) return { ...call, coveredBy } as ApprovedCall;
  const job = waitingJob(call, context);
  const request = { ...approvalRequest({ call, plan }), ...(job && { job }) };
  const { approvalId: id, by } = requireApproved(call, await queueFor(call, context).check(request));
  return { ...call, approval: { id, by, callHash: request.callHash }, plan: request.plan } as ApprovedCall;
}

/** Rejects like `requireApproval`, but does not use up the approval. */
export async function peekApproval(call: RuledCall<'asked'>, context: StageContext): Promise<ApprovableCall> {
  if (personsNeeded(call) === 0) return call as ApprovableCall;
  await awaitStepTools(call, context);
  const plan = planOf(call, context);
  // The steps of a step are checked too before the step begins.
  if (coveringApproval({ call, plan }, withInnerSteps(stepsLeftFor(call, context)), context)) return call as ApprovableCall;
  requireApproved(call, await queueFor(call, context).peek(approvalRequest({ call, plan })));
  return call as ApprovableCall;
}

/** Returns the call with the approval that it would need. Asks nobody: neither a request is made nor an approval used. */
export function computeApprovalNeed(call: RoutableCall, context: StageContext): RehearsedCall {
  const persons = personsNeeded(call);
  if (persons === 0) return { ...call, approvalNeed: undefined } as RehearsedCall;
  if (riskOf(call) === 'dangerous') requireKnownTime(call, context);
  return { ...call, approvalNeed: { persons, reason: approvalReason(call) } } as RehearsedCall;
}

/**
 * Applies the rules again right before the call runs, since the rules, the time of day and the call's steps may have changed while it
 * waited. Throws RULE_BLOCKED if a rule now forbids the call, and CONFLICT if the call now needs more approvals or its plan has changed.
 */
export function confirmRules(call: ReauthorizedCall, context: StageContext): ConfirmedCall {
  if (riskOf(call) === 'dangerous') requireKnownTime(call, context);
  const left = stepsToTake(call, context);
  // What a call would do may have changed since its approval, so its plan is made again.
  const now = call.approval || left ? planOf(call, context) : undefined;
  if (now) requireApprovedPlan(call, now);
  const step = now && left && plannedStep({ call, now, left });
  const plan = call.plan ?? step;
  const verdict = judgeByRules(call, context);
  if (verdict.kind !== 'approve' || ((call.approval ?? call.coveredBy)?.by.length ?? 0) >= verdict.persons)
    return { ...call, ...(plan && { plan }) } as ConfirmedCall;
  throw new AtmoError('CONFLICT', `The rule ${verdict.rule} now wants people to approve this call; nothing was done, call it again`, {
    rule: verdict.rule,
  });
}

/** Throws CONFLICT if a program or a step has changed since people approved the call. */
function requireApprovedPlan(call: ReauthorizedCall, now: PlannedCall): void {
  if (!call.approval || call.approval.callHash === approvalHash(now)) return;
  throw new AtmoError('CONFLICT', `What ${call.tool.id} runs has changed since people approved it; nothing was done, call it again`);
}

interface StepToTake {
  readonly call: ReauthorizedCall;
  readonly now: PlannedCall;
  readonly left: ApprovedStep[];
}

/** Returns the step of the approved plan that this call runs. Throws CONFLICT if no unused step matches. */
function plannedStep({ call, now, left }: StepToTake): PlannedCall {
  const { running } = call;
  const step = running.step ?? takeStep(left, (one) => isPlannedStep(one.now, now) && (!call.coveredBy || isSeen(one)));
  if (step && isPlannedStep(step.now, now)) {
    running.step = step;
    return now;
  }
  throw new AtmoError('CONFLICT', `${call.tool.id} is not the step that people approved; it was not run`);
}

function takeStep(left: ApprovedStep[], isFitting: (step: ApprovedStep) => boolean): ApprovedStep | undefined {
  const index = left.findIndex(isFitting);
  return index === -1 ? undefined : left.splice(index, 1)[0];
}

/** Returns whether people saw the step with its arguments, rather than with the places that results of earlier steps fill. */
function isSeen({ seen }: ApprovedStep): boolean {
  return seen.open !== true;
}

/** A call with its plan at this moment. */
interface PlannedStage {
  readonly call: RuledCall;
  readonly plan: PlannedCall;
}

/**
 * Returns the approval of the outer call if it is for this step too: people saw the step with these arguments, they are enough for it, and all of
 * them may still approve. Throws PERMISSION_DENIED if the step is dangerous and the time is not trusted.
 */
function coveringApproval(
  { call, plan }: PlannedStage,
  steps: readonly ApprovedStep[],
  context: StageContext,
): CoveringApproval | undefined {
  const outer = outerApproval(call, context);
  // Another hub asks for approvals of its tools itself.
  if (!outer || isElsewhere(call) || outer.by.length < personsNeeded(call)) return undefined;
  if (!steps.some((step) => isSeen(step) && isPlannedStep(step.now, plan))) return undefined;
  if (riskOf(call) === 'dangerous') requireKnownTime(call, context);
  const still = context.approvals.stillApprovedBy(outer.id, call.request.principal);
  return outer.by.every((person) => still.includes(person)) ? outer : undefined;
}

/** Returns the approved steps of the outer call that have not started yet. */
function stepsLeftFor(call: CallFacts, context: StageContext): readonly ApprovedStep[] {
  return stepsToTake(call, context) ?? [];
}

/** Returns the list from which a call takes its step; undefined if it is not a step of a call with a plan. */
function stepsToTake({ request: { within } }: CallFacts, context: StageContext): ApprovedStep[] | undefined {
  return within && context.stepsLeft.get(within);
}

function withInnerSteps(steps: readonly ApprovedStep[]): readonly ApprovedStep[] {
  return steps.flatMap((step) => [step, ...withInnerSteps(approvedSteps(step))]);
}

function outerApproval({ request: { within, principal } }: CallFacts, context: StageContext): CoveringApproval | undefined {
  const outer = within && context.covering.get(within);
  return outer?.requester === principalKey(principal) ? outer : undefined;
}

/** The steps that a call may make, and the approval that they may use. Both are absent if nobody had to approve the call. */
interface ApprovedWithin {
  readonly steps?: readonly ApprovedStep[];
  readonly covering?: CoveringApproval;
}

/** Returns what people approved of the steps of a call: by the call's own approval, or by that of the outer call in which they saw it. */
export function approvedWithin(call: ConfirmedCall, context: StageContext): ApprovedWithin {
  const { approval, plan, running, request } = call;
  if (!plan?.steps) return {};
  const steps = approvedSteps({ seen: approval ? plan : (running.step?.seen ?? plan), now: plan });
  const given = approval ?? (running.step && outerApproval(call, context));
  return { steps, ...(given && { covering: { id: given.id, by: given.by, requester: principalKey(request.principal) } }) };
}

/** If a step's tool is not known yet, waits until the tools of other hubs are loaded. A plan needs the definitions of all steps. */
async function awaitStepTools(call: RuledCall, context: StageContext): Promise<void> {
  if (!call.tool.innerCalls) return;
  let known: Promise<void> | undefined;
  planWith(call, context, (name, options) => {
    known ??= context.tools.awaitComplete(name, options);
    return stepTool(() => context.tools.find(name, options));
  });
  if (known) await waitForAtMost(call.request, context.clock, known);
}

/**
 * Returns the plan of a call. Resolves the names of the steps for the caller, as when the call runs. Throws NODE_UNAVAILABLE if the tool of
 * a step may be on a hub whose tools are not loaded yet.
 */
function planOf(call: AuthorizedCall, context: StageContext): PlannedCall {
  return planWith(call, context, (name, options) => stepTool(() => context.tools.resolve(name, options), ['NODE_UNAVAILABLE']));
}

type FindStep = (name: string, options: ToolLookup) => RegisteredTool | undefined;

function planWith({ tool, params, request: { principal } }: AuthorizedCall, context: StageContext, find: FindStep): PlannedCall {
  const { authorizer, validator, sealSecret: seal } = context;
  const options = {
    isVisible: (candidate: RegisteredTool) => canSeeTool(candidate, principal, authorizer),
    isListed: (candidate: RegisteredTool) => isOffered(candidate, principal, context),
  };
  return plannedCall(tool, params, { find: (name) => find(name, options), caller: callerView(principal, authorizer), validator, seal });
}

/** Returns the tool of a step. An error with a code in `thrown` is rethrown. After any other error, returns undefined. */
function stepTool(find: () => RegisteredTool | undefined, thrown: readonly ErrorCode[] = []): RegisteredTool | undefined {
  try {
    return find();
  } catch (error) {
    if (thrown.includes(toAtmoError(error).code)) throw error;
    return undefined;
  }
}

/**
 * Returns the job that waits for the approval. The job of a new call is stored before its request, so that no request waits without its
 * job. Returns undefined if the caller repeats the call itself, or if another hub runs it.
 */
function waitingJob(call: RuledCall, { jobs, vault }: StageContext): WaitingJob | undefined {
  const { running, request, tool } = call;
  const known = running.job?.view;
  if (known) return { id: known.job_id, approvalId: known.approval_id ?? '', hasAsked: true };
  if (!request.waitsForApproval || running.mode !== 'job' || isElsewhere(call)) return undefined;
  const { principal } = request;
  running.job = jobs.createWaiting(principal, tool, (id) => vault.seal(id, { call: storableCall(request), principal }));
  const { job_id: id, approval_id: approvalId = '' } = running.job.view;
  return { id, approvalId, hasAsked: false };
}

function judgeByRules(call: AuthorizedCall, context: StageContext): Exclude<RuleVerdict, { kind: 'deny' }> {
  requireNotRefused(call, context);
  const verdict = verdictOn(call, context);
  if (verdict.kind !== 'deny') return verdict;
  throw new AtmoError('RULE_BLOCKED', `A rule of the owner forbids this call: ${verdict.reason}`, { rule: verdict.rule });
}

/** Returns whether the rules allow the call as it stands, without an approval. */
export function rulesAllow(call: AuthorizedCall, context: StageContext): boolean {
  return verdictOn(call, context).kind === 'allow';
}

function verdictOn(call: AuthorizedCall, { rules }: StageContext): RuleVerdict {
  const { effects, params, request } = call;
  return rules.judge({ principal: request.principal, ...namesIn(call), effects, params });
}

/** Throws PERMISSION_DENIED if a person refused the caller a device that the call would change. */
function requireNotRefused({ effects, request: { principal } }: AuthorizedCall, { approvals }: StageContext): void {
  const refusal = approvals.refusalOf(principal, effects);
  if (!refusal) return;
  const { id, by, device } = refusal;
  throw new AtmoError('PERMISSION_DENIED', `${by} has refused ${principal.id} the device ${device}, until a person removes that refusal`, {
    approval_id: id,
    device,
    reason: 'refused_device',
  });
}

function namesIn({ tool }: AuthorizedCall): Pick<CallToJudge, 'toolId' | 'formerToolIds'> {
  return { toolId: tool.id, formerToolIds: formerToolIds(tool) };
}

function personsNeeded(call: RuledCall): number {
  const ofTool = riskOf(call) === 'dangerous' ? (call.tool.definition.metadata.approvalsNeeded ?? 1) : 0;
  return Math.max(ofTool, call.personsByRule);
}

function queueFor(call: RuledCall, context: StageContext): ApprovalQueue {
  if (riskOf(call) === 'dangerous') requireKnownTime(call, context);
  return context.approvals;
}

/** Throws PERMISSION_DENIED if the time is not trusted: with a wrong time, an expired approval or token could seem valid. */
function requireKnownTime(call: RuledCall, { time }: StageContext): void {
  if (time.isTrusted()) return;
  throw new AtmoError(
    'PERMISSION_DENIED',
    `${call.tool.id} is dangerous and the hub does not know the time since it started; connect it to the network, or set the time with \`atmo clock set\``,
    { reason: 'time_unknown' },
  );
}

function approvalRequest({ call, plan }: PlannedStage): ApprovalRequest {
  const { metadata, parameters } = call.tool.definition;
  return {
    principal: call.request.principal,
    toolId: call.tool.id,
    title: metadata.title,
    params: displayedParams(maskSecrets(parameters, call.params)),
    traceId: call.running.traceId,
    callHash: approvalHash(plan),
    effects: call.effects,
    plan,
    personsNeeded: personsNeeded(call),
  };
}

function requireApproved(call: RuledCall, verdict: ApprovalStatus): Extract<ApprovalStatus, { state: 'approved' }> {
  if (verdict.state === 'approved') return verdict;
  if (verdict.state === 'denied') {
    const { approvalId, by, expiresAt } = verdict;
    const told = `${by} has denied this call of ${call.tool.id}; it is refused until ${expiresAt}, after that it can be asked for again`;
    throw new AtmoError('PERMISSION_DENIED', told, { approval_id: approvalId, denied_until: expiresAt });
  }
  const { approvalId, expiresAt, waitsForS, needed, given, summary, willDo } = verdict;
  const more = needed - given === 1 ? '1 more approval is' : `${needed - given} more approvals are`;
  throw new AtmoError('APPROVAL_REQUIRED', `${approvalReason(call)}: ${more} needed until ${expiresAt}`, {
    approval_id: approvalId,
    expires_at: expiresAt,
    waits_for_s: waitsForS,
    needed,
    given,
    summary,
    ...(willDo.length > 0 && { will_do: willDo }),
  });
}

function approvalReason(call: RuledCall): string {
  return riskOf(call) === 'dangerous' ? `${call.tool.id} is dangerous` : `The rule ${call.rule} wants people to approve ${call.tool.id}`;
}
