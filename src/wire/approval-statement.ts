import type { KeyObject } from 'node:crypto';
import { AtmoError } from '../core/errors.ts';
import { canonicalJson } from './canonical-json.ts';
import { signSign1, verifySign1 } from './cose-sign1.ts';

/** `external_aad` of a signed decision: a signature that was made for anything else is none here. */
const DOMAIN = new TextEncoder().encode('atmosphere-edge approval v1');
const BASE64URL = /^[A-Za-z0-9_-]{1,2048}$/;

/** What a person signs to approve or deny a dangerous call, member by member as in docs/approvals.md. */
export interface ApprovalStatement {
  readonly approval_id: string;
  readonly decision: 'approve' | 'deny';
  /** Canonical id of the tool, such as `matter:front_door_unlock@1.0.0`. */
  readonly tool: string;
  /** SHA-256, hex, over tool and canonical arguments. */
  readonly call_hash: string;
  /** Id of the hub that runs the call. */
  readonly hub: string;
  /** ISO 8601, UTC, with milliseconds. */
  readonly expires_at: string;
  readonly person: string;
}

/** The bytes that are signed: RFC 8785 JSON of exactly the seven members, in UTF-8. */
function statementBytes(statement: ApprovalStatement): Uint8Array {
  const { approval_id, decision, tool, call_hash, hub, expires_at, person } = statement;
  return new TextEncoder().encode(canonicalJson({ approval_id, decision, tool, call_hash, hub, expires_at, person }));
}

/** The decision signed: COSE_Sign1 (RFC 9052) by a private Ed25519 key, base64url. */
export function signStatement(statement: ApprovalStatement, key: KeyObject): string {
  return Buffer.from(signSign1({ payload: statementBytes(statement), key, externalAad: DOMAIN })).toString('base64url');
}

/** True when the text is a COSE_Sign1 by this public key over exactly this statement. */
export function isSignedStatement(signature: string, statement: ApprovalStatement, key: KeyObject): boolean {
  const message = Buffer.from(signature, 'base64url');
  if (!BASE64URL.test(signature) || message.toString('base64url') !== signature) return false;
  try {
    const payload = verifySign1(message, { keyOf: () => key, externalAad: DOMAIN });
    return Buffer.compare(payload, statementBytes(statement)) === 0;
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'VALIDATION_ERROR') return false;
    throw error;
  }
}
