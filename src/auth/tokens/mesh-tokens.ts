import { type KeyObject, randomBytes } from 'node:crypto';
import type { Principal } from '../../core/auth/principal.ts';
import type { MeshTrust } from '../../core/auth/tokens.ts';
import type { TrustedTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { originOf, signRoot, tokenText } from './token-chain.ts';

const OWNER = 'owner';
const LIFE_MS = 600_000;
/** A call is given a token that still has half of its life before it. */
const RENEW_MS = LIFE_MS / 2;
const MAX_KEPT = 512;

/** How this hub stands in its mesh, and whom that lets it believe. */
export interface HubMembership extends MeshTrust {
  /** What tokens of this hub may hold at most on others; undefined in no mesh. */
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
  readonly standing: string;
}

/**
 * The tokens that this hub shows to others for those who call. What it can prove to hold the key of goes as it is; the owner,
 * who has no token, gets one for ten minutes that only the executing hub takes and that holds what the mesh lets this hub give.
 */
export class MeshTokens {
  readonly #ports: MeshTokenCollaborators;
  /** Of the owner, by executing hub. */
  readonly #kept = new Map<string, CachedToken>();

  constructor(ports: MeshTokenCollaborators) {
    this.#ports = ports;
  }

  /**
   * The text of a token for this principal on the hub `executor`. PERMISSION_DENIED for a token that is bound to a key which
   * this hub does not have, and for the hub's own errands; CONFLICT for the owner of a hub in no mesh.
   */
  textFor(principal: Principal, executor: string): string {
    const { token, kind, id } = principal;
    if (kind === 'owner') return this.#ownersText(executor);
    if (!token) throw new AtmoError('PERMISSION_DENIED', `${id} has no token that another hub could know it by`);
    if (token.keys.at(-1) === this.#ports.hub.publicKey) return token.text;
    const who = originOf(principal) === undefined ? 'a key of its own' : 'the key of another hub';
    throw new AtmoError(
      'PERMISSION_DENIED',
      `The token of ${id} is bound to ${who}, so ${this.#ports.hub.hubId} cannot speak for it on ${executor}; sign a child token that is bound to this hub's key (key: ${this.#ports.hub.publicKey}) with a key of its own, and call with that and a proof by that key`,
      { key: this.#ports.hub.publicKey },
    );
  }

  #ownersText(executor: string): string {
    const permissions = this.#ports.mesh.own()?.permissions;
    const meshId = this.#ports.mesh.meshId();
    if (!permissions || meshId === undefined) throw new AtmoError('CONFLICT', 'This hub is in no mesh; create one or join one first');
    const standing = JSON.stringify([meshId, permissions]);
    const kept = this.#kept.get(executor);
    if (kept?.standing === standing && kept.expiresAtMs - this.#ports.time.now() > RENEW_MS) return kept.text;
    const fresh = { ...this.#mint(executor, permissions, meshId), standing };
    this.#keep(executor, fresh);
    return fresh.text;
  }

  #mint(executor: string, permissions: readonly string[], meshId: string): Pick<CachedToken, 'text' | 'expiresAtMs'> {
    const issuedAt = Math.floor(this.#ports.time.now() / 1000);
    const expiresAt = issuedAt + LIFE_MS / 1000;
    const claims = {
      issuer: this.#ports.hub.hubId,
      subject: OWNER,
      audience: [executor],
      expiresAt,
      issuedAt,
      id: randomBytes(16).toString('hex'),
      key: this.#ports.hub.publicKey,
      permissions,
      meshId,
    };
    return { text: tokenText(signRoot(claims, this.#ports.hub.privateKey)), expiresAtMs: expiresAt * 1000 };
  }

  #keep(executor: string, token: CachedToken): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.delete(executor);
    this.#kept.set(executor, token);
  }
}
