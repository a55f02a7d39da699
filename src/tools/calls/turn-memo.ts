import type { Authorizer } from '../../core/access/authorizer.ts';
import type { Principal } from '../../core/access/principal.ts';

/**
 * The same authorizer, which asks only once whether a principal may try a permission while the present turn of the event loop
 * lasts: lists and searches go over thousands of tools that ask for the same few. The next turn asks anew.
 */
export function rememberedInTurn(authorizer: Authorizer): Authorizer {
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
    ...(authorizer.elsewhere && { elsewhere: (hubs) => authorizer.elsewhere?.(hubs) ?? authorizer }),
  };
}
