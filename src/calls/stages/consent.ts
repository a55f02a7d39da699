import { canonicalJson } from '../../codec/canonical-json.ts';
import { sha256Hex } from '../../codec/hashes.ts';
import type { ApprovalQueue, ApprovalRequest, ApprovalStatus, PlannedCall } from '../../core/auth/approvals.ts';
import type { RuledCall as NamedCall, PlannedProgram, RuleVerdict } from '../../core/auth/principal.ts';
import { readsIn } from '../../core/devices/action-descriptions.ts';
import { AtmoError, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { toPublicDefinition } from '../../tools/definition/public-definition.ts';
import type { CallerView, InnerCall, RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { formerToolIds } from '../../tools/definition/tool-names.ts';
import { callerView, canSeeTool, effectsOf } from '../../tools/definition/tool-permissions.ts';
import { copyJson, LARGE_PARAMS_LIMITS, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { hasSecrets, maskSecrets, secretTexts, withoutSecretTexts } from '../../tools/schema/secrets.ts';
import {
  type ApprovableCall,
  type ApprovedCall,
  type AuthorizedCall,
  type ConfirmedCall,
  type ReauthorizedCall,
  type RuledCall,
  riskOf,
} from '../call.ts';
import { waitForAtMost } from '../call-deadline.ts';
import { MAX_CALL_DEPTH, MAX_NESTED_CALLS } from '../limits.ts';
import type { StageContext, ToolLookup } from '../pipeline-context.ts';
import { isOffered } from './authorization.ts';

/** Applies the owner's rules. Throws RULE_BLOCKED if a rule forbids the call; the error names the rule. */
export function applyRules<P extends 'asked' | 'claimed'>(call: AuthorizedCall<P>, context: StageContext): RuledCall<P> {
  const verdict = judgeByRules(call, context);
  const personsByRule = verdict.kind === 'approve' ? verdict.persons : 0;
  return { ...call, personsByRule, ...(verdict.rule !== undefined && { rule: verdict.rule }) } as RuledCall<P>;
}

/**
 * Uses the approval of a call that needs one: a dangerous call, or a call for which a rule requires approval. Rejects with
 * APPROVAL_REQUIRED if the call is not approved yet, and with PERMISSION_DENIED if people denied it.
 */
export async function requireApproval(call: RuledCall<'claimed'>, context: StageContext): Promise<ApprovedCall> {
  if (personsNeeded(call) === 0) return call as ApprovedCall;
  await awaitStepTools(call, context);
  const request = approvalRequest(call, context);
  const { approvalId: id, by } = requireApproved(call, await queueFor(call, context).check(request));
  return { ...call, approval: { id, by, callHash: request.callHash }, plan: request.plan } as ApprovedCall;
}

/** Rejects like `requireApproval`, but does not use up the approval. */
export async function peekApproval(call: RuledCall<'asked'>, context: StageContext): Promise<ApprovableCall> {
  if (personsNeeded(call) === 0) return call as ApprovableCall;
  await awaitStepTools(call, context);
  requireApproved(call, await queueFor(call, context).peek(approvalRequest(call, context)));
  return call as ApprovableCall;
}

/**
 * Applies the rules again right before the call runs, since the rules, the time of day and the call's steps may have changed while it
 * waited. Throws RULE_BLOCKED if a rule now forbids the call, and CONFLICT if the call now needs more approvals or its plan has changed.
 */
export function confirmRules(call: ReauthorizedCall, context: StageContext): ConfirmedCall {
  if (riskOf(call) === 'dangerous') requireKnownTime(call, context);
  requireApprovedPlan(call, context);
  const step = plannedStep(call, context);
  const plan = call.plan ?? step;
  const verdict = judgeByRules(call, context);
  if (verdict.kind !== 'approve' || (call.approval?.by.length ?? 0) >= verdict.persons)
    return { ...call, ...(plan && { plan }) } as ConfirmedCall;
  throw new AtmoError('CONFLICT', `The rule ${verdict.rule} now wants people to approve this call; nothing was done, call it again`, {
    rule: verdict.rule,
  });
}

/** Throws CONFLICT if a program or a step has changed since people approved the call. */
function requireApprovedPlan(call: ReauthorizedCall, context: StageContext): void {
  if (!call.approval || call.approval.callHash === approvalHash(planOf(call, context))) return;
  throw new AtmoError('CONFLICT', `What ${call.tool.id} runs has changed since people approved it; nothing was done, call it again`);
}

/** Returns the step of the approved plan that this call runs; undefined without such a plan. Throws CONFLICT if no unused step matches. */
function plannedStep(call: ReauthorizedCall, context: StageContext): PlannedCall | undefined {
  const { running, request } = call;
  const left = request.within && context.stepsLeft.get(request.within);
  if (!left) return undefined;
  const now = planOf(call, context);
  const step = running.step ?? takeStep(left, now);
  if (step && isPlannedStep(step, now)) {
    running.step = step;
    return now;
  }
  throw new AtmoError('CONFLICT', `${call.tool.id} is not the step that people approved; it was not run`);
}

function takeStep(left: PlannedCall[], now: PlannedCall): PlannedCall | undefined {
  const index = left.findIndex((planned) => isPlannedStep(planned, now));
  return index === -1 ? undefined : left.splice(index, 1)[0];
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

function judgeByRules(call: AuthorizedCall, context: StageContext): Exclude<RuleVerdict, { kind: 'deny' }> {
  const { principal } = call.request;
  const verdict = context.rules.judge({ principal, ...namesIn(call), effects: call.effects, params: call.params });
  if (verdict.kind !== 'deny') return verdict;
  throw new AtmoError('RULE_BLOCKED', `A rule of the owner forbids this call: ${verdict.reason}`, { rule: verdict.rule });
}

function namesIn({ tool }: AuthorizedCall): Pick<NamedCall, 'toolId' | 'formerToolIds'> {
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

function approvalRequest(call: RuledCall, context: StageContext): ApprovalRequest {
  const { metadata, parameters } = call.tool.definition;
  const plan = planOf(call, context);
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
  const { approvalId, expiresAt, needed, given, summary, willDo } = verdict;
  const more = needed - given === 1 ? '1 more approval is' : `${needed - given} more approvals are`;
  throw new AtmoError('APPROVAL_REQUIRED', `${approvalReason(call)}: ${more} needed until ${expiresAt}`, {
    approval_id: approvalId,
    expires_at: expiresAt,
    needed,
    given,
    summary,
    ...(willDo.length > 0 && { will_do: willDo }),
  });
}

function approvalReason(call: RuledCall): string {
  return riskOf(call) === 'dangerous' ? `${call.tool.id} is dangerous` : `The rule ${call.rule} wants people to approve ${call.tool.id}`;
}

/** The schema of the parameters of an unknown tool: each parameter whose name means a secret counts as secret. */
const SECRET_BY_NAME: JsonSchema = { 'x-secret-members': true };
/** Maximum length of a plan that is shown to approvers, in characters of JSON text. */
const MAX_PLAN_LENGTH = 262_144;

/** What is needed to compute a plan. */
export interface PlanningContext {
  /** Returns the tool that a step's name denotes for the caller now; undefined if there is none. */
  find(name: string): RegisteredTool | undefined;
  readonly caller: CallerView;
  readonly validator: Pick<SchemaValidator, 'parameters'>;
  /** Returns a keyed hash of a secret value. The hash may leave the hub. */
  readonly seal: (value: Json) => string;
}

/**
 * Returns the plan of a call with canonical parameters: the call and all calls inside it, each with its program and the hash of its tool's
 * definition. Throws RESOURCE_EXCEEDED if the plan is too long for a person to read.
 */
function plannedCall(tool: RegisteredTool, params: JsonObject, parts: PlanningContext): PlannedCall {
  const planned = new Planner(parts).of({ tool, params, written: params }, 0);
  if (JSON.stringify(planned).length > MAX_PLAN_LENGTH) throw planTooLong(tool);
  return planned;
}

/** Returns the SHA-256 that an approval covers. It depends on the arguments and on the definitions of all tools that will run. */
function approvalHash(plan: PlannedCall): string {
  return sha256Hex(canonicalJson(copyJson(plan, RESULT_LIMITS)));
}

/** Returns whether the call `now` is the planned step. Its arguments may differ only if they depend on results of earlier steps. */
function isPlannedStep(planned: PlannedCall, now: PlannedCall): boolean {
  if (!planned.open) return approvalHash(planned) === approvalHash(now);
  return planned.tool === now.tool && planned.definition === now.definition && areSameSteps(planned.steps ?? [], now.steps ?? []);
}

function areSameSteps(planned: readonly PlannedCall[], now: readonly PlannedCall[]): boolean {
  return planned.length === now.length && planned.every((step, index) => now[index] !== undefined && isPlannedStep(step, now[index]));
}

interface PlanStep {
  readonly tool: RegisteredTool;
  /** Undefined if the parameters depend on results of earlier steps. */
  readonly params: JsonObject | undefined;
  readonly written: JsonObject;
}

class Planner {
  readonly #parts: PlanningContext;
  #callsLeft = MAX_NESTED_CALLS;

  constructor(parts: PlanningContext) {
    this.#parts = parts;
  }

  of({ tool, params, written }: PlanStep, depth: number): PlannedCall {
    this.#callsLeft -= 1;
    if (this.#callsLeft < 0 || depth > MAX_CALL_DEPTH) throw planTooLong(tool);
    const { definition } = tool;
    const given = params ?? written;
    const program = programOf(tool, params);
    const steps = tool.innerCalls?.(params).map((inner) => this.#step(inner, depth + 1));
    return {
      tool: tool.id,
      title: definition.metadata.title,
      params: displayedParams(maskSecrets(definition.parameters, given)),
      definition: this.#definitionHash(tool),
      arguments: argumentsHash(maskSecrets(definition.parameters, given, this.#parts.seal)),
      ...(!params && { open: true }),
      ...(program && { program }),
      ...targetsOf(tool, params),
      ...(steps && steps.length > 0 && { steps }),
    };
  }

  #step({ tool: name, params, written }: InnerCall, depth: number): PlannedCall {
    const tool = this.#parts.find(name);
    const asWritten = params ?? written ?? {};
    if (tool) return this.of({ tool, params: params && this.#canonical(tool, params), written: asWritten }, depth);
    // Without the tool's schema, only the names of the parameters tell which of them are secret.
    return {
      tool: name,
      title: name,
      params: displayedParams(maskSecrets(SECRET_BY_NAME, asWritten)),
      definition: '',
      arguments: argumentsHash(maskSecrets(SECRET_BY_NAME, asWritten, this.#parts.seal)),
      targets: [],
    };
  }

  /** Returns the step's parameters in canonical form. Returns invalid parameters unchanged: the step is refused when it runs. */
  #canonical(tool: RegisteredTool, params: JsonObject): JsonObject {
    try {
      const whole = this.#parts.validator.parameters(tool.definition.parameters, params, LARGE_PARAMS_LIMITS);
      return tool.canonicalize?.(whole, this.#parts.caller) ?? whole;
    } catch {
      return params;
    }
  }

  /** Returns the hash of a tool's definition. `seal` protects the implementation in it, which may contain secret settings. */
  #definitionHash({ definition, program, implementation }: RegisteredTool): string {
    const facts = { definition: toPublicDefinition(definition), program: copyJson(program?.(undefined) ?? null) };
    return sha256Hex(canonicalJson({ ...facts, ...(implementation && { implementation: this.#parts.seal(implementation()) }) }));
  }
}

/** Returns the program with masked secrets. Its `versions` are those for the unmasked parameters, but contain no secret texts. */
function programOf({ program, definition: { parameters } }: RegisteredTool, params: JsonObject | undefined): PlannedProgram | undefined {
  if (!program || !params || !hasSecrets(parameters)) return program?.(params);
  const { versions } = program(params);
  return { ...program(maskSecrets(parameters, params)), versions: withoutSecretTexts([...versions], secretTexts(parameters, params)) };
}

function argumentsHash(params: JsonObject): string {
  return sha256Hex(canonicalJson(params));
}

/** Returns the targets of a call; none if the tool is on another hub, or if the parameters are unknown or invalid. */
function targetsOf(tool: RegisteredTool, params: JsonObject | undefined): Pick<PlannedCall, 'targets' | 'reads'> {
  if (tool.hubs || !params) return { targets: [] };
  try {
    const effects = effectsOf(tool, params);
    const reads = [...readsIn(effects)];
    return { targets: [...new Set(effects.map(({ target }) => target))], ...(reads.length > 0 && { reads }) };
  } catch {
    return { targets: [] };
  }
}

function planTooLong({ id }: RegisteredTool): AtmoError {
  return new AtmoError(
    'RESOURCE_EXCEEDED',
    `${id} would run more than a person can read before approving it; call its steps by themselves`,
    {
      permanent: true,
    },
  );
}

/** Maximum length of parameters that an approver sees in full, in characters of JSON text. */
const MAX_DISPLAYED_LENGTH = 65_536;
const MAX_TEXT_LENGTH = 1_024;
const HEAD_LENGTH = 256;

/**
 * Returns the parameters as shown to an approver. If they are too long, shortens long texts. If they are still too long, returns only their
 * length. The approval itself covers the hash of the whole call.
 */
export function displayedParams(params: JsonObject): JsonObject {
  const { length } = JSON.stringify(params);
  if (length <= MAX_DISPLAYED_LENGTH) return params;
  const short = shortened(params);
  return isJsonObject(short) && JSON.stringify(short).length <= MAX_DISPLAYED_LENGTH ? short : { params_length: length };
}

function shortened(value: Json): Json {
  if (typeof value === 'string') return value.length <= MAX_TEXT_LENGTH ? value : beginningOf(value);
  if (Array.isArray(value)) return value.map(shortened);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]): [string, Json] => [key, shortened(item)]));
}

function beginningOf(text: string): string {
  return `${text.slice(0, HEAD_LENGTH).toWellFormed()}… (${text.length} characters)`;
}
