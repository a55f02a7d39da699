import type { Effect } from '../core/authorizer.ts';
import { AtmoError } from '../core/errors.ts';
import { type Principal, principalKey } from '../core/principal.ts';
import type { Call } from './call.ts';
import type { StageContext } from './call-collaborators.ts';
import { fillPermission, isTemplate } from './permission-template.ts';
import { callerView, canSeeTool } from './visibility.ts';

/** One step that a call has to pass; it throws AtmoError to refuse. */
export type Stage = (call: Call, context: StageContext) => void | Promise<void>;

/** What is decided before a call may take anything of the hub, in the order of design 4. */
export const ADMISSION_STAGES: readonly Stage[] = [
  refuseWhileDraining,
  chargeRateLimit,
  resolveTool,
  checkStaticPermissions,
  validateParameters,
  canonicalizeParameters,
  authorizeEffects,
  claimIdempotencyKey,
  applyRules,
  requireApproval,
];

function refuseWhileDraining(_call: Call, context: StageContext): void {
  if (context.isDraining()) throw new AtmoError('SHUTTING_DOWN', 'The hub is stopping and takes no new calls; try again when it is back');
}

function chargeRateLimit(call: Call, context: StageContext): void {
  context.rateLimiter?.charge(call.request.principal);
}

function resolveTool(call: Call, context: StageContext): void {
  const { tool: name, version, principal } = call.request;
  const tool = context.registry.resolve(name, {
    ...(version !== undefined && { versionRange: version }),
    isVisible: (candidate) => canSeeTool(candidate, principal, context.authorizer),
  });
  const { timeoutMs } = call.request;
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw new AtmoError('VALIDATION_ERROR', 'The timeout has to be a number of milliseconds above 0');
  call.resolved(tool);
  call.startDeadline(context.clock, call.request.signal);
  if (context.disabledTools.has(tool.id) || context.disabledTools.has(tool.definition.name)) {
    throw new AtmoError('RULE_BLOCKED', `The owner has switched off the tool ${tool.id}`);
  }
  if (call.mode === 'job' && !tool.definition.execution.isAsyncAllowed) {
    throw new AtmoError('NOT_SUPPORTED', `The tool ${tool.id} does not run as a job; call it without async`);
  }
}

function checkStaticPermissions(call: Call, context: StageContext): void {
  const permissions = call.tool.definition.requires.permissions.filter((permission) => !isTemplate(permission));
  requirePermissions(call.request.principal, permissions, context);
}

function validateParameters(call: Call, context: StageContext): void {
  call.params = context.validator.parameters(call.tool.definition.parameters, call.request.params ?? {});
}

function canonicalizeParameters(call: Call, context: StageContext): void {
  if (!call.tool.canonicalize) return;
  call.params = call.tool.canonicalize(call.params, callerView(call.request.principal, context.authorizer));
}

function authorizeEffects(call: Call, context: StageContext): void {
  call.effects = authorizedEffects(call, context);
}

/**
 * Devices, groups and grants change while a call waits: what is about to run has to be what was authorised. CONFLICT
 * when it reaches further now.
 */
export function confirmEffects(call: Call, context: StageContext): void {
  const isSameTool = context.registry.get(call.tool.id) === call.tool;
  const known = new Set(call.effects.map(effectKey));
  if (isSameTool && authorizedEffects(call, context).every((effect) => known.has(effectKey(effect)))) return;
  throw new AtmoError('CONFLICT', `What ${call.tool.id} would do has changed while the call waited; nothing was done, call it again`);
}

function effectKey({ permission, risk }: Effect): string {
  return `${risk} ${permission}`;
}

/** The real effects of the call as things are now; PERMISSION_DENIED when the caller may not bring about all of them. */
function authorizedEffects(call: Call, context: StageContext): readonly Effect[] {
  const { requires, metadata, execution } = call.tool.definition;
  const permissions = requires.permissions.map((permission) =>
    isTemplate(permission) ? fillPermission(permission, call.params) : permission,
  );
  const ordinaryRisk = execution.hasSideEffects ? 'low' : 'none';
  const own = permissions.map((permission): Effect => ({ permission, risk: ordinaryRisk, target: call.tool.id }));
  const effects = call.tool.effects?.(call.params) ?? own;
  requirePermissions(call.request.principal, [...new Set([...permissions, ...effects.map((effect) => effect.permission)])], context);
  return metadata.isDangerous ? effects.map((effect) => ({ ...effect, risk: 'dangerous' })) : effects;
}

async function claimIdempotencyKey(call: Call, context: StageContext): Promise<void> {
  const { idempotencyKey: key, principal } = call.request;
  if (key === undefined) return;
  const callHash = `${call.mode}:${call.hash(context.sealSecret)}`;
  const result = context.idempotency.claim({ principalId: principalKey(principal), key, callHash });
  if (result.kind === 'claimed') call.claim = result.claim;
  else call.repeated = await orAborted(result.answer, call.deadline.signal);
}

function applyRules(call: Call, context: StageContext): void {
  if (call.repeated) return;
  const { principal } = call.request;
  const verdict = context.rules?.judge({ principal, toolId: call.tool.id, effects: call.effects, params: call.params });
  if (verdict?.kind === 'deny') throw new AtmoError('RULE_BLOCKED', `A rule of the owner forbids this call: ${verdict.reason}`);
}

async function requireApproval(call: Call, context: StageContext): Promise<void> {
  if (call.risk !== 'dangerous' || call.repeated) return;
  if (!context.approvals) {
    throw new AtmoError('PERMISSION_DENIED', `${call.tool.id} is dangerous and this hub has nobody who could approve it`);
  }
  const verdict = await context.approvals.check({
    principal: call.request.principal,
    toolId: call.tool.id,
    title: call.tool.definition.metadata.title,
    params: call.params,
    traceId: call.traceId,
    callHash: call.hash(),
    effects: call.effects,
    personsNeeded: call.tool.definition.metadata.approvalsNeeded ?? 1,
  });
  if (verdict.state === 'approved') return;
  if (verdict.state === 'denied') throw new AtmoError('PERMISSION_DENIED', `${verdict.by} has denied this call of ${call.tool.id}`);
  const { approvalId, expiresAt, needed, given } = verdict;
  throw new AtmoError('APPROVAL_REQUIRED', `${call.tool.id} is dangerous: ${needed - given} more approval(s) needed until ${expiresAt}`, {
    approval_id: approvalId,
    expires_at: expiresAt,
    needed,
    given,
  });
}

function requirePermissions(principal: Principal, permissions: readonly string[], context: StageContext): void {
  if (permissions.length === 0) return;
  const decision = context.authorizer.authorize(principal, permissions);
  if (decision.allowed) return;
  throw new AtmoError('PERMISSION_DENIED', `${principal.id} lacks ${decision.required.join(', ')}: ${decision.reason}`, {
    required: decision.required,
    actual: principal.permissions,
  });
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
