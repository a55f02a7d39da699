import { createHmac, timingSafeEqual } from 'node:crypto';

const DOMAIN = 'atmosphere-edge join v1';

/** The two keys that the transport has proven, raw, base64url. */
export interface JoinKeys {
  readonly joiner: string;
  readonly responder: string;
}

/**
 * What only a holder of the invite's secret can make, and only for this one connection's two keys:
 * HMAC-SHA-256 (RFC 2104) of the domain and both raw keys. A proof that was heard elsewhere serves nobody else.
 */
export function joinProof(secret: Uint8Array, { joiner, responder }: JoinKeys): Uint8Array {
  return createHmac('sha256', secret).update(DOMAIN, 'utf8').update(joiner, 'base64url').update(responder, 'base64url').digest();
}

/** Compares in a time that does not depend on where the two differ. */
export function isSameProof(proof: Uint8Array, expected: Uint8Array): boolean {
  return proof.length === expected.length && timingSafeEqual(proof, expected);
}
