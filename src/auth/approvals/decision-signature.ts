import { createHash } from 'node:crypto';
import { type ApprovalStatement, passkeyMessage } from '../../codec/approval-payload.ts';
import { isSignedStatement } from '../../codec/approval-statement.ts';
import { personKeyOf } from '../../codec/person-key.ts';
import type { EnrolledKey } from './approver-registry.ts';
import { passkeyCounter } from './passkey.ts';

/** A decision that was signed, with the counter of the passkey that signed it; 0 for other keys and for passkeys that do not count. */
export interface SignedBy {
  readonly key: EnrolledKey;
  readonly signCount: number;
}

/** Returns the key that signed the statement: an Ed25519 or ES256 key as COSE_Sign1, or a passkey. Returns undefined if none of them did. */
export function signerOf(signature: string, statement: ApprovalStatement, keys: readonly EnrolledKey[]): SignedBy | undefined {
  for (const key of keys) {
    const signCount = signedCount(signature, statement, key);
    if (signCount !== undefined) return { key, signCount };
  }
  return undefined;
}

function signedCount(signature: string, statement: ApprovalStatement, { key, passkey }: EnrolledKey): number | undefined {
  const publicKey = personKeyOf(key);
  if (!passkey) return isSignedStatement(signature, statement, publicKey.key) ? 0 : undefined;
  const challenge = createHash('sha256').update(passkeyMessage(statement)).digest();
  return passkeyCounter(signature, challenge, { key: publicKey, passkey });
}
