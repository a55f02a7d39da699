import { randomBytes } from 'node:crypto';
import { oauthError } from '../../core/auth/oauth.ts';
import { TOKEN_SKEW_MS } from '../../core/auth/principal.ts';
import type { TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { isVerifierOf } from './authorization-request.ts';
import { type CodeOutcome, draftJson, type GrantDraft, newGrantId, readDraft, secretDigest } from './grant-store.ts';

const SPACE = 'oauth.codes';
const LIFETIME_MS = 60_000;
/** Time for which a used code is kept, so that its second use is noticed. */
const KEPT_MS = 86_400_000;

/** What an authorization code stands for. */
interface StoredCode {
  readonly draft: GrantDraft;
  /** Id of the grant that the code begins. It is fixed here, so that a code can never begin two. */
  readonly grantId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly createdAtMs: number;
  readonly isUsed: boolean;
}

/** What a client sends with a code (RFC 6749 §4.1.3, RFC 7636 §4.5). */
export interface CodeExchange {
  readonly code: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly verifier: string;
  readonly issuer: string;
  readonly resource: string | undefined;
}

interface CodeParts extends Pick<HubContext, 'store'> {
  readonly time: Pick<TrustedTime, 'now'>;
}

/** Stores authorization codes by their digests. A code serves once, within a minute. */
export class AuthorizationCodes {
  readonly #parts: CodeParts;

  constructor(parts: CodeParts) {
    this.#parts = parts;
  }

  make(draft: GrantDraft, { redirectUri, challenge }: { readonly redirectUri: string; readonly challenge: string }): string {
    const code = randomBytes(32).toString('base64url');
    const stored = { draft, grantId: newGrantId(), redirectUri, challenge, createdAtMs: this.#parts.time.now(), isUsed: false };
    this.#save(secretDigest(code), stored);
    return code;
  }

  /**
   * Uses a code up. It is used up even if the rest of the exchange does not fit, since somebody else may know it then. Throws `invalid_grant`
   * for an unknown or expired code and for an exchange that does not fit.
   */
  use(exchange: CodeExchange): CodeOutcome {
    const key = secretDigest(exchange.code);
    const stored = readCode(this.#parts.store.get(SPACE, key));
    if (!stored) return refuse('The code is not known, or has expired');
    if (stored.isUsed) return { kind: 'reused', grantId: stored.grantId };
    this.#save(key, { ...stored, isUsed: true });
    const ageMs = this.#parts.time.now() - stored.createdAtMs;
    // If the clock was set back, the age of the code is unknown, so the code is refused.
    if (ageMs >= LIFETIME_MS || ageMs < -TOKEN_SKEW_MS) return refuse('The code has expired; a code serves for a minute');
    requireFit(exchange, stored);
    return { kind: 'accepted', grantId: stored.grantId, draft: stored.draft };
  }

  #save(key: string, { draft, ...code }: StoredCode): void {
    this.#parts.store.set(SPACE, key, { ...code, draft: draftJson(draft) }, { ttlMs: KEPT_MS });
  }
}

function requireFit({ clientId, redirectUri, verifier, issuer, resource }: CodeExchange, { draft, ...stored }: StoredCode): void {
  if (clientId !== draft.clientId) refuse('The code was given to another client');
  if (issuer !== draft.issuer) refuse(`The code was given at ${draft.issuer}; use it there`);
  if (redirectUri !== stored.redirectUri) refuse('redirect_uri is not the one of the authorization request');
  if (!isVerifierOf(stored.challenge, verifier)) refuse('code_verifier does not fit the code_challenge of the authorization request');
  if (resource !== undefined && resource !== draft.resource.address) {
    throw oauthError('invalid_target', `The code is for ${draft.resource.address} alone`);
  }
}

function readCode(value: Json | undefined): StoredCode | undefined {
  if (!isJsonObject(value)) return undefined;
  const { grantId, redirectUri, challenge, createdAtMs } = value;
  const draft = readDraft(value.draft);
  if (!draft || typeof grantId !== 'string' || typeof redirectUri !== 'string') return undefined;
  if (typeof challenge !== 'string' || typeof createdAtMs !== 'number') return undefined;
  return { draft, grantId, redirectUri, challenge, createdAtMs, isUsed: value.isUsed !== false };
}

function refuse(message: string): never {
  throw oauthError('invalid_grant', message);
}
