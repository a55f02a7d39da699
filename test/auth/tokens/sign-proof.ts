import { createHash, type KeyObject, randomBytes } from 'node:crypto';
import { tokenBytes } from '../../../src/auth/tokens/token-chain.ts';
import { encodeCbor } from '../../../src/codec/cbor.ts';
import { signSign1 } from '../../../src/codec/cose-sign1.ts';

/** One use of a token, as its bearer proves it. */
export interface ProofRequest {
  /** The token's text. */
  readonly token: string;
  /** Such as `POST /api/v1/tools/echo/invoke`. */
  readonly operation: string;
  /** The bytes of the request's body; empty where there is none. */
  readonly content: Uint8Array;
  readonly hubId: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** Signs a proof of possession (docs/access.md) of the key that a token is bound to, for one request to one hub. */
export function signProof({ token, operation, content, hubId, atMs }: ProofRequest, key: KeyObject): string {
  const statement = new Map<number, string | number | Uint8Array>([
    [1, sha256(tokenBytes(token))],
    [2, operation],
    [3, sha256(content)],
    [4, hubId],
    [5, Math.floor(atMs / 1000)],
    [6, Uint8Array.from(randomBytes(16))],
  ]);
  const externalAad = Buffer.from('atmosphere-edge proof v1', 'utf8');
  return Buffer.from(signSign1({ payload: encodeCbor(statement), key, externalAad })).toString('base64url');
}

function sha256(content: Uint8Array): Uint8Array {
  return Uint8Array.from(createHash('sha256').update(content).digest());
}
