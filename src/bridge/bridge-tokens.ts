import { LONGEST_TOKEN_SECONDS, OWNER, type Principal, type TokenAuthority } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, textsOf } from '../core/json.ts';

/** Bytes of permissions in one token. A token has at most 2,048 bytes in all, so a caller with many things has several tokens. */
const MAX_PERMISSION_BYTES = 1_200;
const LIFE_MS = LONGEST_TOKEN_SECONDS * 1000;
/** Tokens are replaced when less than this is left of their life. */
const RENEW_BEFORE_MS = LIFE_MS / 2;

/** A token of a caller for some things. `text` is the token itself, which is never shown. */
export interface HeldToken {
  readonly id: string;
  readonly text: string;
  readonly expiresAtMs: number;
  readonly permissions: readonly string[];
}

/** What each thing needs, by the key of the thing. */
export type Needs = ReadonlyMap<string, readonly string[]>;

interface TokenParts {
  readonly tokens: TokenAuthority;
  readonly clock: Clock;
}

/**
 * Returns tokens for the agent with exactly the needed permissions. Keeps those of `held` that still fit. The caller must store the result
 * and then end the tokens that are not in it any more. Throws VALIDATION_ERROR if one thing alone needs more than a token can hold.
 */
export function renewedTokens({ tokens, clock }: TokenParts, agentId: string, { held, needs }: TokensToRenew): readonly HeldToken[] {
  return shares(needs).map((permissions) => {
    const fitting = held.find(
      ({ id, ...token }) =>
        isSame(token.permissions, permissions) && token.expiresAtMs - clock.now() > RENEW_BEFORE_MS && !isRevoked(tokens, id),
    );
    return fitting ?? issue(tokens, agentId, permissions);
  });
}

/** Returns whether a token was revoked, also while the bridge service was not running. */
export function isRevoked(tokens: TokenAuthority, id: string): boolean {
  return tokens.find(id)?.revokedAtMs !== undefined;
}

interface TokensToRenew {
  readonly held: readonly HeldToken[];
  readonly needs: Needs;
}

function issue(tokens: TokenAuthority, agentId: string, permissions: readonly string[]): HeldToken {
  const { token: text, principal } = tokens.issue({ agentId, permissions, ttlMs: LIFE_MS }, OWNER);
  if (!principal.token) throw new AtmoError('INTERNAL_ERROR', 'The issued token has no facts');
  return { id: principal.token.id, text, expiresAtMs: principal.token.expiresAtMs, permissions };
}

/** Throws VALIDATION_ERROR if what one thing needs does not fit in a token. */
export function requireOneToken(name: string, permissions: readonly string[]): void {
  if (sizeOf(permissions) <= MAX_PERMISSION_BYTES) return;
  throw new AtmoError('VALIDATION_ERROR', `${name} controls too many devices to be bridged; bridge a smaller scene`);
}

/** Returns the principal of the token that has all the permissions. Throws PERMISSION_DENIED if none has, TOKEN_INVALID if it has ended. */
export function principalWith(tokens: TokenAuthority, held: readonly HeldToken[], permissions: readonly string[]): Principal {
  const fitting = held.find((token) => permissions.every((permission) => token.permissions.includes(permission)));
  if (fitting) return tokens.principalOf(fitting.text);
  throw new AtmoError('PERMISSION_DENIED', 'This ecosystem may not do that: the owner has not chosen it', { required: permissions });
}

/** Divides permissions so that each share fits in one token and all permissions of one thing are in one share. */
function shares(needs: Needs): readonly (readonly string[])[] {
  const found: string[][] = [];
  for (const [, permissions] of [...needs].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (permissions.length === 0) continue;
    const last = found.at(-1);
    const joined = [...new Set([...(last ?? []), ...permissions])];
    if (last && sizeOf(joined) <= MAX_PERMISSION_BYTES) found[found.length - 1] = joined;
    else found.push([...permissions]);
  }
  return found;
}

function sizeOf(permissions: readonly string[]): number {
  return permissions.reduce((bytes, permission) => bytes + permission.length + 2, 0);
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((permission) => b.includes(permission));
}

/** Reads stored tokens. */
export function parseTokens(value: Json | undefined): readonly HeldToken[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: Json) => {
    if (!isJsonObject(entry)) return [];
    const { id, text, expiresAtMs, permissions } = entry;
    if (typeof id !== 'string' || typeof text !== 'string' || typeof expiresAtMs !== 'number') return [];
    return [{ id, text, expiresAtMs, permissions: textsOf(permissions) }];
  });
}
