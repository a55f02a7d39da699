import type { Authenticated, Authenticator, Credentials, Principal } from '../../core/auth/principal.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { redact } from '../../core/logger.ts';
import { recordNote } from '../../core/storage/audit-sink.ts';
import type { GrantedTokens } from '../oauth/access-tokens.ts';
import type { OwnerAuthenticator } from '../owner-token.ts';
import type { ProofOfPossession } from './proof-of-possession.ts';
import type { TokenSeal } from './token-chain.ts';
import { refuseToken } from './token-claims.ts';
import type { TokenVerifier } from './token-verifier.ts';

interface AuthenticatorParts {
  readonly owner: Pick<OwnerAuthenticator, 'authenticate' | 'isStillValid'>;
  readonly verifier: TokenVerifier;
  readonly proofs: ProofOfPossession;
  readonly refusals: Pick<TokenRefusalLog, 'write'>;
  /** Knows for which addresses of the hub the tokens of OAuth are good. */
  readonly granted: Pick<GrantedTokens, 'admit'>;
  readonly seal: Pick<TokenSeal, 'isAsGivenOut' | 'isSealed'>;
}

/**
 * Authenticates the owner by an `at0.…` token, and agents by `at1.…` tokens of trusted hubs. A token that is bound to this hub's key and
 * has this hub's seal needs no proof. Any other agent's token needs a proof of possession with each request.
 */
export class TokenAuthenticator implements Authenticator {
  readonly #ports: AuthenticatorParts;
  readonly #hubKey: string;

  /** `hubKey` is this hub's raw public key in base64url. */
  constructor(ports: AuthenticatorParts, { hubKey }: { readonly hubKey: string }) {
    this.#ports = ports;
    this.#hubKey = hubKey;
  }

  async authenticate(credentials: Credentials): Promise<Authenticated> {
    try {
      const authenticated = await this.#authenticate(credentials);
      const principal = this.#ports.granted.admit(authenticated.principal, credentials.operation);
      return principal === authenticated.principal ? authenticated : { ...authenticated, principal };
    } catch (thrown) {
      await this.#ports.refusals.write(toAtmoError(thrown), credentials.operation);
      throw thrown;
    }
  }

  isStillValid(principal: Principal): boolean {
    return principal.kind === 'owner' ? this.#ports.owner.isStillValid(principal) : this.#ports.verifier.isStillValid(principal);
  }

  async #authenticate(credentials: Credentials): Promise<Authenticated> {
    const { bearer, proof, operation } = credentials;
    if (!bearer?.startsWith('at1.')) return this.#ports.owner.authenticate(credentials);
    const { principal } = this.#ports.verifier.verify(bearer);
    const { token } = principal;
    const who = { agent_id: principal.id, token_id: token.id };
    if (token.keys.at(-1) === this.#hubKey) {
      if (!this.#ports.seal.isAsGivenOut(bearer, principal)) refuseToken('its text is not the one that the hub gave out', who);
      if (this.#ports.seal.isSealed(bearer)) return { principal };
    }
    // If the last key of the chain is this hub's key, the key before it signed the token. The proof must then be signed with that earlier
    // key. A thief who has only the token's text lacks the earlier key.
    const keys = token.keys.at(-1) === this.#hubKey ? token.keys.slice(0, -1) : token.keys;
    if (proof === undefined) {
      const whose = keys === token.keys ? 'is bound to a key of its bearer' : 'was signed with a key of its bearer';
      throw new AtmoError('UNAUTHENTICATED', `The token ${whose}; send a proof of possession signed with it`, who);
    }
    return { principal, contentSha256: this.#verifyProof({ proof, token: { ...token, keys }, operation }, who) };
  }

  #verifyProof(check: Parameters<ProofOfPossession['verify']>[0], who: { readonly agent_id: string; readonly token_id: string }): string {
    try {
      return this.#ports.proofs.verify(check);
    } catch (thrown) {
      const { code, message, details } = toAtmoError(thrown);
      throw new AtmoError(code, message, { ...details, ...who }, { cause: thrown });
    }
  }
}

const MAX_PER_SECOND = 10;
const MAX_OPERATION_LENGTH = 200;

type NoteCollaborators = Pick<HubContext, 'clock' | 'logger' | 'audit'>;

/** Writes refused credentials to the audit log, at most ten rows per second, so that guessed tokens cannot fill the disk. */
export class TokenRefusalLog {
  readonly #collaborators: NoteCollaborators;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #inWindow = 0;
  #unwritten = 0;

  constructor(collaborators: NoteCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Writes a refusal to the audit log. After ten rows in a second, only counts refusals; the next row has the count. Never rejects. */
  async write({ code, details }: AtmoError, operation: string): Promise<void> {
    if (!this.#takeTurn()) return;
    const { agent_id: agentId, token_id: tokenId } = details;
    const data: JsonObject = {
      code,
      // The operation comes from an unknown client: its path may be any text, and its query may contain a secret by mistake.
      operation: String(redact(operation.slice(0, MAX_OPERATION_LENGTH).replace(/\?.*$/s, ''))),
      ...(typeof tokenId === 'string' && { token_id: tokenId }),
      ...(this.#unwritten > 0 && { unwritten_before: this.#unwritten }),
    };
    this.#unwritten = 0;
    const principalId = typeof agentId === 'string' ? { principalId: agentId } : {};
    await recordNote(this.#collaborators, { event: 'token.refused', atMs: this.#collaborators.clock.now(), ...principalId, data });
  }

  #takeTurn(): boolean {
    const nowMs = this.#collaborators.clock.monotonic();
    if (nowMs - this.#windowStartMs >= 1000) {
      this.#windowStartMs = nowMs;
      this.#inWindow = 0;
    }
    this.#inWindow += 1;
    if (this.#inWindow <= MAX_PER_SECOND) return true;
    this.#unwritten += 1;
    return false;
  }
}
