import type { Authenticated, Authenticator, Credentials, Principal } from '../../core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { OwnerAuthenticator } from '../owner-token.ts';
import type { ProofOfPossession } from './proof-of-possession.ts';
import type { TokenSeal } from './token-chain.ts';
import { refuseToken, type TokenRefusalLog } from './token-refusal.ts';
import type { TokenVerifier } from './token-verifier.ts';

interface AuthenticatorCollaborators {
  readonly owner: Pick<OwnerAuthenticator, 'authenticate' | 'isStillValid'>;
  readonly verifier: TokenVerifier;
  readonly proofs: ProofOfPossession;
  readonly refusals: Pick<TokenRefusalLog, 'write'>;
  readonly seal: Pick<TokenSeal, 'isAsGivenOut' | 'isSealed'>;
}

/**
 * Knows the owner by `at0.…` and agents by the tokens `at1.…` of trusted hubs. A token that is bound to the hub's own key
 * is enough by itself, with the hub's seal; one that a key of its bearer's signed or that is bound to one needs a proof of possession
 * with each request.
 */
export class TokenAuthenticator implements Authenticator {
  readonly #ports: AuthenticatorCollaborators;
  readonly #hubKey: string;

  /** `hubKey`: this hub's raw public key, base64url. */
  constructor(ports: AuthenticatorCollaborators, { hubKey }: { readonly hubKey: string }) {
    this.#ports = ports;
    this.#hubKey = hubKey;
  }

  async authenticate(credentials: Credentials): Promise<Authenticated> {
    try {
      return await this.#authenticate(credentials);
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
    // An agent that binds a child token to the hub's key signs it with the key before that in the chain. Whoever only saw the text of
    // the token does not have that key and cannot prove possession of it.
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
