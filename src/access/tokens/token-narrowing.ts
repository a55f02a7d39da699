import { excessPermissions } from '../../core/access/permission.ts';
import type { RateLimit } from '../../core/access/principal.ts';
import type { TokenClaims } from './token-claims.ts';

/** What a child token may differ in, and only towards less. */
export type NarrowedClaims = Omit<TokenClaims, 'issuedAt' | 'key' | 'id'>;

/** How a child reaches beyond the token that it comes from, in words; undefined when it is narrower or equal in all. */
export function excessOf(child: NarrowedClaims, parent: NarrowedClaims): string | undefined {
  if (child.issuer !== parent.subject) return 'its issuer is not the agent of the token that it comes from';
  if (!isChildId(child.subject, parent.subject)) return "its agent's id is not the parent's id, a slash and one name";
  if (child.meshId !== parent.meshId) return 'it is for another mesh than the token that it comes from';
  if (child.expiresAt > parent.expiresAt) return 'it lasts longer than the token that it comes from';
  if (parent.notBefore !== undefined && (child.notBefore ?? 0) < parent.notBefore) return 'it begins before the token that it comes from';
  if (!isSubset(child.audience, parent.audience)) return 'it is allowed on hubs where the token that it comes from is not';
  if (parent.maxHops !== undefined && !(child.maxHops !== undefined && child.maxHops <= parent.maxHops)) {
    return 'it may go further (max_hops) than the token that it comes from';
  }
  if (parent.rateLimit && !isSlower(child.rateLimit, parent.rateLimit)) return 'it may call more often than the token that it comes from';
  const beyond = excessPermissions(child.permissions, parent.permissions);
  return beyond.length > 0 ? 'it has permissions that the token it comes from has not' : undefined;
}

function isChildId(child: string, parent: string): boolean {
  return child.startsWith(`${parent}/`) && !child.slice(parent.length + 1).includes('/');
}

function isSubset(child: readonly string[] | undefined, parent: readonly string[] | undefined): boolean {
  return parent === undefined || (child?.every((node) => parent.includes(node)) ?? false);
}

/** Neither more at once nor more over time. */
function isSlower(child: RateLimit | undefined, parent: RateLimit): boolean {
  return child !== undefined && child.calls <= parent.calls && child.calls * parent.seconds <= parent.calls * child.seconds;
}
