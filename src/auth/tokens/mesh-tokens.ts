import { type KeyObject, randomBytes } from 'node:crypto';
import { LONGEST_WAIT_MS } from '../../core/auth/approvals.ts';
import type { MeshTrust, Principal } from '../../core/auth/principal.ts';
import type { TrustedTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { originOf, signRoot, tokenText } from './token-chain.ts';

const OWNER = 'owner';
const LIFE_MS = 600_000;
/** A token is renewed this many milliseconds before it expires, which is after half of its lifetime. */
const RENEW_MS = LIFE_MS / 2;
/** A request for approval waits, and its call then runs within ten minutes. */
const WAITING_LIFE_MS = LONGEST_WAIT_MS + LIFE_MS;
const MAX_CACHED = 512;

/** This hub's membership in a mesh, and the other hubs that it trusts because of the membership. */
export interface HubMembership extends MeshTrust {
  /** Returns the permissions that this hub's tokens may have on other hubs; undefined if this hub is in no mesh. */
  own(): { readonly permissions: readonly string[] } | undefined;
}

interface MeshTokenCollaborators {
  readonly hub: { readonly hubId: string; readonly publicKey: string; readonly privateKey: KeyObject };
  readonly mesh: HubMembership;
  readonly time: TrustedTime;
}

interface CachedToken {
  readonly text: string;
  readonly expiresAtMs: number;
  readonly basis: string;
}

interface NewToken {
  readonly executor: string;
  readonly permissions: readonly string[];
  readonly meshId: string;
  readonly lifeMs: number;
}

/**
 * Provides the tokens with which this hub calls other hubs for its callers. For an agent, it forwards the agent's token, which must be
 * bound to this hub's key. For the owner, it mints a token with the permissions that the mesh grants to this hub. A minted token is valid
 * for ten minutes, or as long as people can be asked to approve the call, and only on the executing hub.
 */
export class MeshTokens {
  readonly #ports: MeshTokenCollaborators;
  /** Tokens minted for the owner, by the id of the executing hub. */
  readonly #cached = new Map<string, CachedToken>();

  constructor(ports: MeshTokenCollaborators) {
    this.#ports = ports;
  }

  /**
   * Returns the text of the token with which the principal calls the hub `executor`. Throws PERMISSION_DENIED if an agent has no token, or
   * if its token is bound to a key that this hub lacks. For the owner, throws CONFLICT if this hub is in no mesh.
   */
  textFor(principal: Principal, executor: string, use: 'now' | 'waiting' = 'now'): string {
    const { token, kind, id } = principal;
    if (kind === 'owner') return this.#ownersText(executor, use);
    if (!token) throw new AtmoError('PERMISSION_DENIED', `${id} has no token that another hub could know it by`);
    if (token.keys.at(-1) === this.#ports.hub.publicKey) return token.text;
    const who = originOf(principal) === undefined ? 'a key of its own' : 'the key of another hub';
    throw new AtmoError(
      'PERMISSION_DENIED',
      `The token of ${id} is bound to ${who}, so ${this.#ports.hub.hubId} cannot speak for it on ${executor}; sign a child token that is bound to this hub's key (key: ${this.#ports.hub.publicKey}) with a key of its own, and call with that and a proof by that key`,
      { key: this.#ports.hub.publicKey },
    );
  }

  #ownersText(executor: string, use: 'now' | 'waiting'): string {
    const permissions = this.#ports.mesh.own()?.permissions;
    const meshId = this.#ports.mesh.meshId();
    if (!permissions || meshId === undefined) throw new AtmoError('CONFLICT', 'This hub is in no mesh; create one or join one first');
    if (use === 'waiting') return this.#mint({ executor, permissions, meshId, lifeMs: WAITING_LIFE_MS }).text;
    const basis = JSON.stringify([meshId, permissions]);
    const cached = this.#cached.get(executor);
    if (cached?.basis === basis && cached.expiresAtMs - this.#ports.time.now() > RENEW_MS) return cached.text;
    const fresh = { ...this.#mint({ executor, permissions, meshId, lifeMs: LIFE_MS }), basis };
    // The entry is deleted first, so that the newest token is the last entry of the map.
    this.#cached.delete(executor);
    this.#cached.set(executor, fresh);
    const [oldest] = this.#cached.keys();
    if (this.#cached.size > MAX_CACHED && oldest !== undefined) this.#cached.delete(oldest);
    return fresh.text;
  }

  #mint({ executor, permissions, meshId, lifeMs }: NewToken): Pick<CachedToken, 'text' | 'expiresAtMs'> {
    const { hubId, publicKey, privateKey } = this.#ports.hub;
    const issuedAt = Math.floor(this.#ports.time.now() / 1000);
    const expiresAt = issuedAt + lifeMs / 1000;
    const id = randomBytes(16).toString('hex');
    const claims = { issuer: hubId, subject: OWNER, audience: [executor], expiresAt, issuedAt, id, key: publicKey, permissions, meshId };
    return { text: tokenText(signRoot(claims, privateKey)), expiresAtMs: expiresAt * 1000 };
  }
}
