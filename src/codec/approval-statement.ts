import type { KeyObject } from 'node:crypto';
import { AtmoError } from '../core/errors.ts';
import { APPROVAL_DOMAIN, type ApprovalStatement, approvalPayload } from './approval-payload.ts';
import { signSign1, verifySign1 } from './cose-sign1.ts';

const BASE64URL = /^[A-Za-z0-9_-]{1,2048}$/;

/** Signs a decision with a private Ed25519 key and returns the COSE_Sign1 message (RFC 9052) in base64url. */
export function signStatement(statement: ApprovalStatement, key: KeyObject): string {
  return Buffer.from(signSign1({ payload: approvalPayload(statement), key, externalAad: APPROVAL_DOMAIN })).toString('base64url');
}

/** Returns whether `signature` is a COSE_Sign1 message in base64url that `key` signed over exactly this statement. */
export function isSignedStatement(signature: string, statement: ApprovalStatement, key: KeyObject): boolean {
  const message = Buffer.from(signature, 'base64url');
  if (!BASE64URL.test(signature) || message.toString('base64url') !== signature) return false;
  try {
    const payload = verifySign1(message, { keyOf: () => key, externalAad: APPROVAL_DOMAIN });
    return Buffer.compare(payload, approvalPayload(statement)) === 0;
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'VALIDATION_ERROR') return false;
    throw error;
  }
}
