import { commonPermissions, excessPermissions } from '../../core/auth/permission.ts';
import { foreignAgentId, type Principal, type RateLimit, TOKEN_SKEW_MS, type TokenFacts } from '../../core/auth/principal.ts';
import { isoTime, type TrustedTime } from '../../core/clock.ts';
import type { RevocationList } from './revocation-list.ts';
import { type ClaimChain, originOf, type TrustedIssuers, tokenBytes, unsealed, verifyChain } from './token-chain.ts';
import type { TokenClaims } from './token-claims.ts';
import { refuseToken } from './token-refusal.ts';

/** A token whose signatures hold; whether it may be used now is another question. */
export interface VerifiedToken {
  readonly chain: ClaimChain;
  readonly principal: Principal & { readonly token: TokenFacts };
  readonly notBeforeMs: number;
  /** Latest moment at which one of its links was made, by the clock of its maker. */
  readonly issuedAtMs: number;
  /** Key of the hub that issued the root, as it was trusted then. */
  readonly issuerKey: string;
}

interface VerifierCollaborators {
  readonly issuers: TrustedIssuers;
  readonly revocations: Pick<RevocationList, 'firstRevoked'>;
  readonly time: TrustedTime;
  /** Hears when a trusted hub made a root token, milliseconds since 1970: time has come at least that far. */
  readonly onIssuedAt: (issuedAtMs: number) => void;
}

/** Which hub this is, and what it remembers. */
export interface VerifierOptions {
  readonly hubId: string;
  /** The mesh that the hub is in at the moment; in none when absent. */
  readonly meshId?: () => string | undefined;
  /** Verified texts that are remembered; default 1,024. */
  readonly maxCached?: number;
}

/** Turns the text of a token into the principal that bears it. */
export class TokenVerifier {
  readonly #ports: VerifierCollaborators;
  readonly #hubId: string;
  readonly #meshId: () => string | undefined;
  readonly #maxCached: number;
  /** Least recently used first. */
  readonly #verified = new Map<string, VerifiedToken>();
  /** Of tokens that say more than they may: who they make their bearer, the same from one call to the next. */
  readonly #heldBefore = new WeakMap<VerifiedToken, VerifiedToken['principal']>();

  constructor(ports: VerifierCollaborators, { hubId, meshId = () => undefined, maxCached = 1024 }: VerifierOptions) {
    this.#ports = ports;
    this.#hubId = hubId;
    this.#meshId = meshId;
    this.#maxCached = maxCached;
  }

  /** A token that may be used on this hub now, with the permissions that it has here. TOKEN_INVALID or TOKEN_EXPIRED with the reason. */
  verify(text: string): VerifiedToken {
    const verified = this.verifySignatures(text);
    this.#requireUsable(verified);
    return this.#held(verified);
  }

  /** A token whose signatures hold, may it be used now or not, with its seal or without. TOKEN_INVALID with the reason. */
  verifySignatures(given: string): VerifiedToken {
    const text = unsealed(given);
    const known = this.#verified.get(text);
    this.#verified.delete(text);
    // A hub that is trusted no more takes its tokens with it.
    const isCurrent = known !== undefined && this.#ports.issuers.get(known.chain[0].issuer) === known.issuerKey;
    const verified = isCurrent ? known : this.#verifyNew(text);
    this.#remember(text, verified);
    return verified;
  }

  /** True while the principal's token has neither expired nor been revoked and its issuer is trusted; for whoever has no token, always. */
  isStillValid(principal: Principal): boolean {
    const { token } = principal;
    if (!token) return true;
    const issuer = originOf(principal) ?? this.#hubId;
    if (issuer !== this.#hubId && this.#beyondTrust(issuer, principal.permissions).length > 0) return false;
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
    let [notBefore, issuedAt] = [0, 0];
    for (const link of chain) {
      notBefore = Math.max(notBefore, link.notBefore ?? link.issuedAt);
      issuedAt = Math.max(issuedAt, link.issuedAt);
    }
    const principal = principalOf(chain, text, (subject, issuer) => (issuer === this.#hubId ? subject : foreignAgentId(subject, issuer)));
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
    if (nowMs < startMs - TOKEN_SKEW_MS) refuseToken(`it is not valid before ${isoTime(startMs)}`, who);
    const { issuer, meshId } = chain[0];
    if (this.#ports.revocations.firstRevoked({ ...token, issuer }) !== undefined)
      refuseToken('it, or a token that it comes from, was revoked', who);
    if (token.allowedNodes?.includes(this.#hubId) === false) refuseToken(`it is not allowed on this hub, ${this.#hubId}`, who);
    if (meshId !== undefined && meshId !== this.#meshId()) refuseToken('it is for another mesh', who);
  }

  /**
   * What its issuer may not give to be used here, the token does not have here: grants only ever add to each other, so what is
   * left is what both allow. TOKEN_INVALID when nothing is.
   */
  #held(verified: VerifiedToken): VerifiedToken {
    const { chain, principal } = verified;
    const { issuer } = chain[0];
    const beyond = this.#beyondTrust(issuer, principal.permissions);
    if (beyond.length === 0) return verified;
    const permissions = commonPermissions(principal.permissions, this.#ports.issuers.permissionsOf?.(issuer) ?? []);
    if (permissions.length === 0) {
      const who = { agent_id: principal.id, token_id: principal.token.id };
      refuseToken(`the mesh lets ${issuer} give no more than it vouches for, and not ${beyond.join(', ')}`, who);
    }
    const known = this.#heldBefore.get(verified);
    if (known && String(known.permissions) === String(permissions)) return { ...verified, principal: known };
    const held = { ...principal, permissions };
    this.#heldBefore.set(verified, held);
    return { ...verified, principal: held };
  }

  /** What the issuer may not give to be used here: all of it once it is trusted no more. */
  #beyondTrust(issuer: string, permissions: readonly string[]): readonly string[] {
    if (this.#ports.issuers.get(issuer) === undefined) return permissions;
    const ceiling = this.#ports.issuers.permissionsOf?.(issuer);
    return ceiling === undefined ? [] : excessPermissions(permissions, ceiling);
  }

  #remember(text: string, verified: VerifiedToken): void {
    const [oldest] = this.#verified.keys();
    if (this.#verified.size >= this.#maxCached && oldest !== undefined) this.#verified.delete(oldest);
    this.#verified.set(text, verified);
  }
}

/** Whom the last link of a verified chain makes its bearer; each link has all that the next has, so the last says it all. */
function principalOf(chain: ClaimChain, text: string, nameOf: (subject: string, issuer: string) => string): VerifiedToken['principal'] {
  const leaf: TokenClaims = chain.at(-1) ?? chain[0];
  const { subject, permissions, audience, maxHops } = leaf;
  const token: TokenFacts = {
    id: leaf.id,
    chain: chain.map((link) => link.id),
    text,
    expiresAtMs: leaf.expiresAt * 1000,
    keys: chain.map((link) => link.key),
    ...(audience && { allowedNodes: audience }),
    ...(maxHops !== undefined && { maxHops }),
    rateLimits: limitsOf(chain),
  };
  return { id: nameOf(subject, chain[0].issuer), kind: 'agent', permissions, token };
}

function limitsOf(chain: ClaimChain): TokenFacts['rateLimits'] {
  const limits: (RateLimit & { readonly tokenId: string })[] = [];
  for (const { id: tokenId, rateLimit } of chain) {
    if (rateLimit) limits.push({ tokenId, calls: rateLimit.calls, seconds: rateLimit.seconds });
  }
  return limits;
}
