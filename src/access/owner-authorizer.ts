import type { Authorizer, Decision } from '../core/authorizer.ts';
import type { Principal } from '../core/principal.ts';

/** The owner may do everything, nobody else anything. */
export class OwnerAuthorizer implements Authorizer {
  authorize(principal: Principal, permissions: readonly string[]): Decision {
    if (principal.kind === 'owner') return { allowed: true };
    return { allowed: false, required: permissions, reason: `Only the owner may use this hub; ${principal.id} is not the owner` };
  }
}
