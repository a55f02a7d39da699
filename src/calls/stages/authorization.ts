import type { Authorizer, Effect } from '../../core/auth/authorizer.ts';
import { type Principal, TOKEN_SKEW_MS } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import { effectsOf, filledPermissions, isTemplate, judgeOf } from '../../tools/definition/tool-permissions.ts';
import type { Call } from '../call.ts';
import type { StageContext } from '../pipeline-context.ts';

/** A token that expired or was revoked opens nothing, not even what needs no permission. TOKEN_EXPIRED, TOKEN_INVALID. */
export function requireValidToken(call: Call, { validity, nowMs }: StageContext): void {
  const { principal } = call.request;
  if (principal.token && principal.token.expiresAtMs + TOKEN_SKEW_MS <= nowMs()) {
    throw new AtmoError('TOKEN_EXPIRED', `The token of ${principal.id} has expired; ask for a new one`);
  }
  if (!validity.isStillValid(principal)) {
    throw new AtmoError('TOKEN_INVALID', `The token of ${principal.id} no longer counts: it has expired or was revoked`);
  }
}

/** What the tool requires whatever its parameters are. */
export function checkStaticPermissions(call: Call, context: StageContext): void {
  const permissions = call.tool.definition.requires.permissions.filter((permission) => !isTemplate(permission));
  requirePermissions(call.request.principal, permissions, judgeOf(call.tool, context.authorizer));
}

/** Is there anything at all that the caller may do with the tool? PERMISSION_DENIED names what is never granted. */
export function checkCanAttempt(call: Call, { authorizer }: StageContext): void {
  const { principal } = call.request;
  const judge = judgeOf(call.tool, authorizer);
  const missing = call.tool.definition.requires.permissions.filter((permission) => !judge.mayTry(principal, permission));
  if (missing.length === 0) return;
  throw new AtmoError('PERMISSION_DENIED', `${principal.id} lacks ${missing.join(', ')} for any resource`, {
    required: missing,
    actual: principal.permissions,
  });
}

/** Permission and risk belong to what the call will really do, which only a hub that has the tool can tell. */
export function authorizeEffects(call: Call, context: StageContext): void {
  if (isJudgedRemotely(call)) checkCanAttempt(call, context);
  else call.effects = authorizedEffects(call, context);
}

/**
 * Devices, groups, grants and tokens change while a call waits: what is about to run has to be what was authorised.
 * CONFLICT when it reaches further now.
 */
export function confirmEffects(call: Call, context: StageContext): void {
  requireValidToken(call, context);
  if (isJudgedRemotely(call)) return;
  const isSameTool = context.registry.get(call.tool.id) === call.tool;
  const known = new Set(call.effects.map(effectKey));
  const effects = isSameTool ? authorizedEffects(call, context) : [];
  call.effects = effects;
  if (isSameTool && effects.every((effect) => known.has(effectKey(effect)))) return;
  throw new AtmoError('CONFLICT', `What ${call.tool.id} would do has changed while the call waited; nothing was done, call it again`);
}

/** Here nothing is known of what a tool of another hub does, and of one that lacks its setting here. */
function isJudgedRemotely({ isElsewhere, tool }: Call): boolean {
  return isElsewhere || tool.missingSetting?.() !== undefined;
}

function effectKey({ permission, risk, target }: Effect): string {
  return `${risk} ${permission} ${target}`;
}

/** The real effects of the call as things are now; PERMISSION_DENIED when the caller may not bring about all of them. */
function authorizedEffects(call: Call, context: StageContext): readonly Effect[] {
  const { principal } = call.request;
  requirePermissions(principal, filledPermissions(call.tool.definition.requires.permissions, call.params), context.authorizer);
  const effects = effectsOf(call.tool, call.params);
  requireEffects(principal, effects, context);
  return effects;
}

function requirePermissions(principal: Principal, permissions: readonly string[], authorizer: Authorizer): void {
  if (permissions.length === 0) return;
  const decision = authorizer.authorize(principal, permissions);
  if (decision.allowed) return;
  throw new AtmoError('PERMISSION_DENIED', `${principal.id} lacks ${decision.required.join(', ')}: ${decision.reason}`, {
    required: decision.required,
    actual: principal.permissions,
  });
}

/** What a group or scene reaches may be nothing that the caller knows of: then the refusal does not name it. */
function requireEffects(principal: Principal, effects: readonly Effect[], context: StageContext): void {
  const decision = context.authorizer.authorize(principal, [...new Set(effects.map((effect) => effect.permission))]);
  if (decision.allowed) return;
  const known = decision.required.filter((permission) => context.authorizer.canSee(principal, permission));
  const what = [...known, ...(known.length < decision.required.length ? ['a permission for something that it may not know of'] : [])];
  throw new AtmoError('PERMISSION_DENIED', `${principal.id} lacks ${what.join(', ')}: ${decision.reason}`, {
    required: known,
    actual: principal.permissions,
  });
}
