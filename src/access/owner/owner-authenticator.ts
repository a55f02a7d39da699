import type { Authenticated, Authenticator, Credentials, Principal } from '../../core/access/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import type { OwnerCredential } from './owner-credential.ts';

/** The principal behind the owner's token. */
export const OWNER: Principal = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] };

/** Knows one credential, the owner's token. Each replacement of it makes another principal, so that the old one can end. */
export class OwnerAuthenticator implements Authenticator {
  readonly #credential: Pick<OwnerCredential, 'matches' | 'generation'>;
  readonly #generationOf = new WeakMap<Principal, number>();
  #principal: Principal = OWNER;

  constructor(credential: Pick<OwnerCredential, 'matches' | 'generation'>) {
    this.#credential = credential;
  }

  /** UNAUTHENTICATED without a credential, TOKEN_INVALID for any but the owner's. */
  async authenticate({ bearer: credential }: Credentials): Promise<Authenticated> {
    if (!credential) {
      throw new AtmoError(
        'UNAUTHENTICATED',
        'No token came with the request; send "Authorization: Bearer TOKEN" with one that the owner made',
      );
    }
    if (!this.#credential.matches(credential)) {
      throw new AtmoError(
        'TOKEN_INVALID',
        "This is neither an agent's token (at1.…) nor the owner's as it is now; that one is in owner.token in the hub's state directory",
      );
    }
    return { principal: this.#current() };
  }

  /** False for who came with a token that was replaced since. */
  isStillValid(principal: Principal): boolean {
    const generation = this.#generationOf.get(principal);
    return generation === undefined || generation === this.#credential.generation;
  }

  #current(): Principal {
    const { generation } = this.#credential;
    if (this.#generationOf.get(this.#principal) === generation) return this.#principal;
    this.#principal = { ...OWNER };
    this.#generationOf.set(this.#principal, generation);
    return this.#principal;
  }
}
