import { commonPermissions, excessPermissions } from '../../core/auth/permission.ts';
import { foreignAgentId, type Principal, TOKEN_SKEW_MS, type TokenFacts } from '../../core/auth/principal.ts';
import { isoTime, type TrustedTime } from '../../core/clock.ts';
import { present } from '../../core/json.ts';
import type { RevocationList } from './revocation-list.ts';
import { type ClaimChain, originOf, type TrustedIssuers, tokenBytes, unsealed, verifyChain } from './token-chain.ts';
import { refuseToken, type TokenClaims } from './token-claims.ts';

/** A token with valid signatures. Its expiry and revocation are checked separately. */
export interface VerifiedToken {
  readonly chain: ClaimChain;
  readonly principal: Principal & { readonly token: TokenFacts };
  readonly notBeforeMs: number;
  /** The latest issue time in the chain. Each link's issue time is by the clock of its issuer. */
  readonly issuedAtMs: number;
  /** Raw key of the hub that issued the root. The key was trusted when the chain was verified. */
  readonly issuerKey: string;
}

interface VerifierCollaborators {
  readonly issuers: TrustedIssuers;
  readonly revocations: Pick<RevocationList, 'firstRevoked'>;
  readonly time: TrustedTime;
  /** Called with the issue time of a root token of a trusted hub, in milliseconds since 1970. The current time cannot be before it. */
  readonly onIssuedAt: (issuedAtMs: number) => void;
}

/** The hub of the verifier, and the size of its cache. */
export interface VerifierOptions {
  readonly hubId: string;
  /** Returns the id of the hub's current mesh, if any. */
  readonly meshId: () => string | undefined;
  /** Largest number of cached tokens; default 1,024. */
  readonly maxCached?: number;
}

/** Verifies a token's text and returns its principal. */
export class TokenVerifier {
  readonly #ports: VerifierCollaborators;
  readonly #options: Required<VerifierOptions>;
  /** Verified tokens by text, least recently used first. */
  readonly #verified = new Map<string, VerifiedToken>();
  /** Principals of tokens whose permissions are narrowed on this hub, cached so that each call gets the same object. */
  readonly #narrowed = new WeakMap<VerifiedToken, VerifiedToken['principal']>();

  constructor(ports: VerifierCollaborators, { hubId, meshId, maxCached = 1024 }: VerifierOptions) {
    this.#ports = ports;
    this.#options = { hubId, meshId, maxCached };
  }

  /** Returns a token with its permissions on this hub. Throws TOKEN_EXPIRED if it has expired, and TOKEN_INVALID for any other problem. */
  verify(text: string): VerifiedToken {
    const verified = this.verifySignatures(text);
    this.#requireUsable(verified);
    return this.#held(verified);
  }

  /** Verifies the signatures, but not the expiry, revocation or seal. Throws TOKEN_INVALID if the token is malformed or wrongly signed. */
  verifySignatures(given: string): VerifiedToken {
    const text = unsealed(given);
    const known = this.#verified.get(text);
    this.#verified.delete(text);
    // A cached verification is used only while the issuing hub is trusted with the same key.
    const isCurrent = known !== undefined && this.#ports.issuers.get(known.chain[0].issuer) === known.issuerKey;
    const verified = isCurrent ? known : this.#verifyNew(text);
    this.#remember(text, verified);
    return verified;
  }

  /** Returns whether the token is unexpired, not revoked, and of a trusted issuer. Returns true for a principal without a token. */
  isStillValid(principal: Principal): boolean {
    const { token } = principal;
    if (!token) return true;
    const issuer = originOf(principal) ?? this.#options.hubId;
    if (issuer !== this.#options.hubId && this.#beyondTrust(issuer, principal.permissions).length > 0) return false;
    return (
      this.#ports.time.now() < token.expiresAtMs + TOKEN_SKEW_MS && this.#ports.revocations.firstRevoked({ ...token, issuer }) === undefined
    );
  }

  #verifyNew(text: string): VerifiedToken {
    let issuerKey = '';
    const chain = verifyChain(tokenBytes(text), (hubId) => {
      const key = this.#ports.issuers.get(hubId);
      if (key !== undefined) issuerKey = key;
      return key;
    });
    this.#ports.onIssuedAt(chain[0].issuedAt * 1000);
    const notBefore = Math.max(...chain.map((link) => link.notBefore ?? link.issuedAt));
    const issuedAt = Math.max(...chain.map((link) => link.issuedAt));
    const principal = principalOf(chain, text, (subject, issuer) =>
      issuer === this.#options.hubId ? subject : foreignAgentId(subject, issuer),
    );
    return { chain, principal, notBeforeMs: notBefore * 1000, issuedAtMs: issuedAt * 1000, issuerKey };
  }

  #requireUsable(verified: VerifiedToken): void {
    const { chain, principal, notBeforeMs, issuedAtMs } = verified;
    const { token } = principal;
    const who = { agent_id: principal.id, token_id: token.id };
    const nowMs = this.#ports.time.now();
    if (nowMs >= token.expiresAtMs + TOKEN_SKEW_MS) {
      refuseToken(`it expired at ${isoTime(token.expiresAtMs)}`, who, 'TOKEN_EXPIRED');
    }
    const startMs = Math.max(notBeforeMs, issuedAtMs);
    if (nowMs < startMs - TOKEN_SKEW_MS)
      refuseToken(`it is not valid before ${isoTime(startMs)}`, { ...who, not_before: isoTime(startMs) });
    const { issuer, meshId } = chain[0];
    if (this.#ports.revocations.firstRevoked({ ...token, issuer }) !== undefined)
      refuseToken('it, or a token that it comes from, was revoked', who);
    if (token.allowedNodes?.includes(this.#options.hubId) === false)
      refuseToken(`it is not allowed on this hub, ${this.#options.hubId}`, who);
    if (meshId !== undefined && meshId !== this.#options.meshId()) refuseToken('it is for another mesh', who);
  }

  /** Narrows the token's permissions to those that its issuer may grant on this hub. Throws TOKEN_INVALID if no permission remains. */
  #held(verified: VerifiedToken): VerifiedToken {
    const { chain, principal } = verified;
    const { issuer } = chain[0];
    const beyond = this.#beyondTrust(issuer, principal.permissions);
    if (beyond.length === 0) return verified;
    const permissions = commonPermissions(principal.permissions, this.#ports.issuers.permissionsOf(issuer) ?? []);
    if (permissions.length === 0) {
      const who = { agent_id: principal.id, token_id: principal.token.id };
      refuseToken(`the mesh lets ${issuer} give no more than it vouches for, and not ${beyond.join(', ')}`, who);
    }
    const known = this.#narrowed.get(verified);
    if (known && String(known.permissions) === String(permissions)) return { ...verified, principal: known };
    const held = { ...principal, permissions };
    this.#narrowed.set(verified, held);
    return { ...verified, principal: held };
  }

  /** Returns the permissions that the issuer may not grant on this hub; all permissions if the issuer is no longer trusted. */
  #beyondTrust(issuer: string, permissions: readonly string[]): readonly string[] {
    if (this.#ports.issuers.get(issuer) === undefined) return permissions;
    const ceiling = this.#ports.issuers.permissionsOf(issuer);
    return ceiling === undefined ? [] : excessPermissions(permissions, ceiling);
  }

  #remember(text: string, verified: VerifiedToken): void {
    const [oldest] = this.#verified.keys();
    if (this.#verified.size >= this.#options.maxCached && oldest !== undefined) this.#verified.delete(oldest);
    this.#verified.set(text, verified);
  }
}

/** Returns the principal of a verified chain. Its permissions are those of the last link, which is the narrowest. */
function principalOf(chain: ClaimChain, text: string, nameOf: (subject: string, issuer: string) => string): VerifiedToken['principal'] {
  const leaf: TokenClaims = chain.at(-1) ?? chain[0];
  const { subject, permissions, audience, maxHops } = leaf;
  const token: TokenFacts = {
    id: leaf.id,
    chain: chain.map((link) => link.id),
    text,
    expiresAtMs: leaf.expiresAt * 1000,
    keys: chain.map((link) => link.key),
    ...present({ allowedNodes: audience, maxHops }),
    rateLimits: chain.flatMap(({ id: tokenId, rateLimit }) => (rateLimit ? [{ tokenId, ...rateLimit }] : [])),
  };
  return { id: nameOf(subject, chain[0].issuer), kind: 'agent', permissions, token };
}
