import { AtmoError } from '../core/errors.ts';
import type { Authenticator, Principal } from '../core/principal.ts';
import type { OwnerCredential } from './owner-credential.ts';

export const OWNER: Principal = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] };

/** Knows one credential, the owner's token. */
export class OwnerAuthenticator implements Authenticator {
  readonly #credential: Pick<OwnerCredential, 'matches' | 'path'>;

  constructor(credential: Pick<OwnerCredential, 'matches' | 'path'>) {
    this.#credential = credential;
  }

  /** UNAUTHENTICATED without a credential, TOKEN_INVALID for any but the owner's. */
  async authenticate(credential: string | undefined): Promise<Principal> {
    if (!credential) {
      throw new AtmoError('UNAUTHENTICATED', `No token came with the request; the owner's is in ${this.#credential.path} on the hub`);
    }
    if (!this.#credential.matches(credential)) {
      throw new AtmoError('TOKEN_INVALID', `The token is not the one in ${this.#credential.path} on the hub; it may have been rotated`);
    }
    return OWNER;
  }
}
