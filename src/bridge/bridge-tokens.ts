import { LONGEST_TOKEN_SECONDS, OWNER, type Principal, type TokenAuthority } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, present, textsOf } from '../core/json.ts';

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
  /** Id of the other hub that has the things. The token is sent to that hub, so it says nothing about things of any other one. */
  readonly hub?: string;
}

/** What commands to a thing need. `hub` is the other hub that has the thing. */
export type Need = Pick<HeldToken, 'permissions' | 'hub'>;
/** What each thing needs, by the key of the thing. */
export type Needs = ReadonlyMap<string, Need>;

interface TokenParts {
  readonly tokens: TokenAuthority;
  readonly clock: Clock;
}

/**
 * Returns tokens for the agent with exactly the needed permissions. Keeps those of `held` that still fit. The caller must store the result
 * and then end the tokens that are not in it any more. Throws VALIDATION_ERROR if one thing alone needs more than a token can hold.
 */
export function renewedTokens({ tokens, clock }: TokenParts, agentId: string, { held, needs }: TokensToRenew): readonly HeldToken[] {
  return shares(needs).map((share) => {
    const isFresh = ({ expiresAtMs }: HeldToken) => expiresAtMs - clock.now() > RENEW_BEFORE_MS;
    return held.find((token) => isFor(token, share) && isFresh(token) && isValid(tokens, token)) ?? issue(tokens, agentId, share);
  });
}

function isFor(token: HeldToken, { permissions, hub }: Need): boolean {
  return token.hub === hub && isSame(token.permissions, permissions);
}

/** Returns whether the hub accepts the token. It does not after a revocation, and when the hub has changed its mesh. */
function isValid(tokens: TokenAuthority, { text }: HeldToken): boolean {
  try {
    tokens.principalOf(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns whether a token was revoked, also while the bridge service was not running. */
export function isRevoked(tokens: TokenAuthority, id: string): boolean {
  return tokens.find(id)?.revokedAtMs !== undefined;
}

interface TokensToRenew {
  readonly held: readonly HeldToken[];
  readonly needs: Needs;
}

function issue(tokens: TokenAuthority, agentId: string, { permissions, hub }: Need): HeldToken {
  const { token: text, principal } = tokens.issue({ agentId, permissions, ttlMs: LIFE_MS }, OWNER);
  if (!principal.token) throw new AtmoError('INTERNAL_ERROR', 'The issued token has no facts');
  return { id: principal.token.id, text, expiresAtMs: principal.token.expiresAtMs, permissions, ...present({ hub }) };
}

/** Throws VALIDATION_ERROR if what one thing needs does not fit in a token. */
export function requireOneToken(name: string, permissions: readonly string[]): void {
  if (sizeOf(permissions) <= MAX_PERMISSION_BYTES) return;
  throw new AtmoError('VALIDATION_ERROR', `${name} controls too many devices to be bridged; bridge a smaller scene`);
}

/** Returns the principal of the token for a thing. Throws PERMISSION_DENIED if there is none, TOKEN_INVALID if it has ended. */
export function principalWith(tokens: TokenAuthority, held: readonly HeldToken[], { permissions, hub }: Need): Principal {
  const ofHub = held.filter((token) => token.hub === hub);
  const fitting = ofHub.find((token) => permissions.every((permission) => token.permissions.includes(permission)));
  if (fitting) return tokens.principalOf(fitting.text);
  throw new AtmoError('PERMISSION_DENIED', 'This ecosystem may not do that: the owner has not chosen it', { required: permissions });
}

/** Divides needs so that each share fits in one token, is of one hub, and has all permissions of each of its things. */
function shares(needs: Needs): readonly Need[] {
  const sorted = [...needs].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, need]) => need);
  return [...Map.groupBy(sorted, ({ hub }) => hub)].flatMap(([hub, own]) =>
    sharesOf(own).map((permissions) => ({ permissions, ...present({ hub }) })),
  );
}

function sharesOf(needs: readonly Need[]): readonly (readonly string[])[] {
  const found: string[][] = [];
  for (const { permissions } of needs) {
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
    const { id, text, expiresAtMs, permissions, hub } = entry;
    if (typeof id !== 'string' || typeof text !== 'string' || typeof expiresAtMs !== 'number') return [];
    return [{ id, text, expiresAtMs, permissions: textsOf(permissions), ...(typeof hub === 'string' && { hub }) }];
  });
}
