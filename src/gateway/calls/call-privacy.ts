import type { Authorizer } from '../../core/access/authorizer.ts';
import type { Principal } from '../../core/access/principal.ts';
import { AtmoError } from '../../core/errors.ts';

/** Whether the caller may look at the calls of everybody; others see their own alone. */
export function seesAllCalls(principal: Principal, authorizer: Authorizer): boolean {
  return authorizer.authorize(principal, ['admin:audit']).allowed;
}

/** Whether a call that names `agentId` is the caller's. An agent that calls itself `owner` has none of the owner's. */
export function isOwnCall(principal: Principal, agentId: unknown): boolean {
  return agentId === principal.id && (principal.kind === 'owner') === (agentId === 'owner');
}

/** PERMISSION_DENIED with what is required unless the caller holds it. */
export function requirePermission(principal: Principal, permission: string, authorizer: Authorizer): void {
  const decision = authorizer.authorize(principal, [permission]);
  if (decision.allowed) return;
  throw new AtmoError('PERMISSION_DENIED', `${principal.id} lacks ${permission}: ${decision.reason}`, { required: [permission] });
}
