import type { KeyObject } from 'node:crypto';
import { AtmoError } from '../core/errors.ts';
import { APPROVAL_DOMAIN, type ApprovalStatement, approvalPayload } from './approval-payload.ts';
import { writeByteStrings } from './cbor.ts';
import { signSign1, sigStructure, verifySign1 } from './cose-sign1.ts';
import { isSignedByEs256 } from './person-key.ts';

const BASE64URL = /^[A-Za-z0-9_-]{1,2048}$/;

/** Signs a decision with a private Ed25519 key and returns the COSE_Sign1 message (RFC 9052) in base64url. */
export function signStatement(statement: ApprovalStatement, key: KeyObject): string {
  return Buffer.from(signSign1({ payload: approvalPayload(statement), key, externalAad: APPROVAL_DOMAIN })).toString('base64url');
}

/** Protected header {1: -7}, algorithm ES256 (RFC 9053 §2.1), and the first bytes of a message with it. */
const ES256 = Uint8Array.of(0xa1, 0x01, 0x26);
const ES256_SIGN1 = Uint8Array.of(0x84, 0x43, ...ES256, 0xa0);
const SIGNATURE_BYTES = 64;

/**
 * Returns whether `signature` is a COSE_Sign1 message in base64url that `key` signed over exactly this statement. The key is Ed25519 or P-256.
 */
export function isSignedStatement(signature: string, statement: ApprovalStatement, key: KeyObject): boolean {
  const message = Buffer.from(signature, 'base64url');
  if (!BASE64URL.test(signature) || message.toString('base64url') !== signature) return false;
  if (key.asymmetricKeyType === 'ec') return isEs256Message(message, approvalPayload(statement), key);
  try {
    const payload = verifySign1(message, { keyOf: () => key, externalAad: APPROVAL_DOMAIN });
    return Buffer.compare(payload, approvalPayload(statement)) === 0;
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'VALIDATION_ERROR') return false;
    throw error;
  }
}

/** Returns whether a message is the one form of a COSE_Sign1 with ES256 over the payload, with a signature of the key. */
function isEs256Message(message: Uint8Array, payload: Uint8Array, key: KeyObject): boolean {
  const signature = message.subarray(-SIGNATURE_BYTES);
  if (Buffer.compare(message, writeByteStrings(ES256_SIGN1, [payload, signature])) !== 0) return false;
  return isSignedByEs256(key, sigStructure(ES256, APPROVAL_DOMAIN, payload), signature);
}
