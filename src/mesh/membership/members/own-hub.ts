import type { KeyObject } from 'node:crypto';
import type { HubId } from '../../../core/ids.ts';

/** The key that this hub proves to have with every connection, and what it is called by it. */
export interface OwnHub {
  readonly hubId: HubId;
  /** Raw Ed25519 key, 32 bytes, base64url. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}
