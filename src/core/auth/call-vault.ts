import type { JsonObject } from '../json.ts';
import type { Principal } from './principal.ts';

/** A call that waits, with its caller. */
export interface VaultContent {
  readonly call: JsonObject;
  readonly principal: Principal;
}

/** Port: encrypts the call of a waiting job, with its secret parameters and its caller's token, so that it can be stored. */
export interface CallVault {
  /** Returns the encrypted content, which can be opened only as that of the same job. Throws NOT_SUPPORTED if the caller has no token. */
  seal(jobId: string, content: VaultContent): string;
  /**
   * Returns the content. The caller is found anew by its token. Throws TOKEN_INVALID or TOKEN_EXPIRED if the token has ended, and
   * STORAGE_FAILED if the text was altered, belongs to another job, or was encrypted with another hub's key.
   */
  open(jobId: string, sealed: string): VaultContent;
}
