import { type Authorizer, type Effect, type Principal, TOKEN_SKEW_MS } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { namesOf } from '../../tools/definition/tool-names.ts';
import { effectsOf, isTemplate, judgeOf, mayCallTool, requiredPermissions } from '../../tools/definition/tool-permissions.ts';
import {
  type AcceptedCall,
  type AttemptableCall,
  type AuthorizedCall,
  type AwaitedCall,
  type CanonicalCall,
  type EnabledCall,
  type FeaturedCall,
  isElsewhere,
  type PermittedCall,
  type Purpose,
  type ReauthorizedCall,
  type ResolvedCall,
  type SupportedCall,
  type ValidCall,
} from '../call.ts';
import type { StageContext, ToolFeatures } from '../pipeline-context.ts';

/** Throws TOKEN_EXPIRED if the token has expired, and TOKEN_INVALID if it was revoked, even if the tool requires no permission. */
export function requireValidToken(call: AcceptedCall, { validity, time }: StageContext): ValidCall {
  const { principal } = call.request;
  if (principal.token && principal.token.expiresAtMs + TOKEN_SKEW_MS <= time.now()) {
    throw new AtmoError('TOKEN_EXPIRED', `The token of ${principal.id} has expired; ask for a new one`);
  }
  if (!validity.isStillValid(principal)) {
    throw new AtmoError('TOKEN_INVALID', `The token of ${principal.id} no longer counts: it has expired or was revoked`);
  }
  return call as ValidCall;
}

/** Throws PERMISSION_DENIED if the caller lacks a required permission that does not depend on the parameters. */
export function checkStaticPermissions<P extends Purpose>(call: SupportedCall<P>, context: StageContext): PermittedCall<P> {
  const permissions = call.tool.definition.requires.permissions.filter((permission) => !isTemplate(permission));
  requirePermissions(call.request.principal, permissions, judgeOf(call.tool, context.authorizer));
  return call as PermittedCall<P>;
}

/** Throws PERMISSION_DENIED if the caller lacks required features; the error names them. */
export function checkFeatures<P extends Purpose>(call: PermittedCall<P>, context: StageContext): FeaturedCall<P> {
  const missing = missingFeatures(context.features, call.tool, call.request.principal);
  if (missing.length === 0) return call as FeaturedCall<P>;
  throw new AtmoError('PERMISSION_DENIED', `${call.tool.id} needs the feature ${missing.join(', ')}, which this caller does not have`, {
    features: missing,
  });
}

/** Throws RULE_BLOCKED if the owner has disabled the tool. */
export function refuseDisabledTools<P extends Purpose>(call: FeaturedCall<P>, { disabledTools }: StageContext): EnabledCall<P> {
  if (!isListed(disabledTools, call.tool)) return call as EnabledCall<P>;
  throw new AtmoError('RULE_BLOCKED', `The owner has switched off the tool ${call.tool.id}`);
}

/** Throws PERMISSION_DENIED if the caller's grants permit no call of the tool. The error names the missing permissions. */
export function checkCanAttempt<P extends Purpose>(call: EnabledCall<P>, { authorizer }: StageContext): AttemptableCall<P> {
  const { principal } = call.request;
  const judge = judgeOf(call.tool, authorizer);
  const missing = call.tool.definition.requires.permissions.filter((permission) => !judge.mayTry(principal, permission));
  if (missing.length === 0) return call as AttemptableCall<P>;
  throw new AtmoError('PERMISSION_DENIED', `${principal.id} lacks ${missing.join(', ')} for any resource`, {
    required: missing,
    actual: principal.permissions,
  });
}

/** Checks the permissions for the call's effects. If only another hub knows the effects, checks only that some call is permitted. */
export function authorizeEffects<P extends Purpose>(call: CanonicalCall<P>, context: StageContext): AuthorizedCall<P> {
  if (isJudgedRemotely(call)) return checkCanAttempt(call, context) as EnabledCall as AuthorizedCall<P>;
  return { ...call, effects: authorizedEffects(call, context) } as AuthorizedCall<P>;
}

/**
 * Checks the current effects of a call again, since devices, groups, grants and tokens may change while a call waits. Throws CONFLICT if
 * the call now has an effect that was not authorised before, or if its tool was replaced.
 */
export function confirmEffects(call: AwaitedCall, context: StageContext): ReauthorizedCall {
  requireValidToken(call, context);
  if (isJudgedRemotely(call)) return call as ReauthorizedCall;
  const isSameTool = context.registry.get(call.tool.id) === call.tool;
  const known = new Set(call.effects.map(effectKey));
  const effects = isSameTool ? authorizedEffects(call, context) : [];
  const current = call.running.keep({ ...call, effects });
  if (isSameTool && effects.every((effect) => known.has(effectKey(effect)))) return current as ReauthorizedCall;
  throw new AtmoError('CONFLICT', `What ${call.tool.id} would do has changed while the call waited; nothing was done, call it again`);
}

/** Returns whether only other hubs can compute the effects. This is so if the tool is on another hub, or its setting is missing here. */
function isJudgedRemotely(call: ResolvedCall): boolean {
  return isElsewhere(call) || call.tool.missingSetting?.() !== undefined;
}

function effectKey({ permission, risk, target }: Effect): string {
  return `${risk} ${permission} ${target}`;
}

/** Returns the current effects of the call. Throws PERMISSION_DENIED if the caller lacks the permission for one of them. */
function authorizedEffects(call: CanonicalCall, context: StageContext): readonly Effect[] {
  const { principal } = call.request;
  requirePermissions(principal, requiredPermissions(call.tool, call.params), context.authorizer);
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

/** Throws PERMISSION_DENIED if an effect is not permitted. The error does not name devices that the caller may not see. */
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

type OfferContext = Pick<StageContext, 'authorizer' | 'features' | 'disabledTools'>;

/** Returns whether the caller may make some call of the tool: grants and features suffice, and the owner has not disabled the tool. */
export function isOffered(tool: RegisteredTool, principal: Principal, { authorizer, features, disabledTools }: OfferContext): boolean {
  if (!mayCallTool(tool, principal, authorizer)) return false;
  return !isListed(disabledTools, tool) && missingFeatures(features, tool, principal).length === 0;
}

/** Returns whether `names` contains the tool's canonical id, `namespace:name` or bare name. Former names of the tool count too. */
export function isListed(names: readonly string[], tool: RegisteredTool): boolean {
  if (names.length === 0) return false;
  return namesOf(tool).some((key) => names.includes(key));
}

/** Returns the names that match no tool. Such a name in the owner's configuration is probably misspelt, and has no effect. */
export function unknownToolNames(names: Iterable<string>, tools: readonly RegisteredTool[]): readonly string[] {
  const known = new Set(tools.flatMap(namesOf));
  return [...names].filter((name) => !known.has(name));
}

/** Returns the features that the tool needs and the caller lacks. */
function missingFeatures(features: ToolFeatures, tool: RegisteredTool, principal: Principal): readonly string[] {
  // The owner needs no features: the owner configures them, and must not be locked out.
  if (principal.kind === 'owner' || Object.keys(features.required).length === 0) return [];
  const required = namesOf(tool).flatMap((key) => (Object.hasOwn(features.required, key) ? (features.required[key] ?? []) : []));
  if (required.length === 0) return [];
  const granted = features.granted(principal);
  return [...new Set(required)].filter((feature) => !granted.includes(feature));
}

/**
 * Returns an authorizer that caches `mayTry` until the current synchronous code ends. Lists and searches check thousands of tools, which
 * need only few different permissions.
 */
export function memoizedAuthorizer(authorizer: Authorizer): Authorizer {
  const verdicts = new Map<Principal, Map<string, boolean>>();
  const verdictsOf = (principal: Principal): Map<string, boolean> => {
    const known = verdicts.get(principal);
    if (known) return known;
    if (verdicts.size === 0) queueMicrotask(() => verdicts.clear());
    const made = new Map<string, boolean>();
    verdicts.set(principal, made);
    return made;
  };
  return {
    authorize: (principal, permissions) => authorizer.authorize(principal, permissions),
    canSee: (principal, permission) => authorizer.canSee(principal, permission),
    mayTry: (principal, permission) => {
      const known = verdictsOf(principal);
      const verdict = known.get(permission) ?? authorizer.mayTry(principal, permission);
      known.set(permission, verdict);
      return verdict;
    },
    elsewhere: (hubs) => authorizer.elsewhere(hubs),
  };
}
