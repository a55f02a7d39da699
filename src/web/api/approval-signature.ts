import { getPublicKeyAsync, signAsync } from '@noble/ed25519';
import { APPROVAL_DOMAIN, type ApprovalStatement, approvalPayload } from '../../codec/approval-payload.ts';
import { base64UrlOf, bytesOfBase64Url, isEs256, type SigningKey, signWith } from './signing-key.ts';

/** The protected COSE header as a CBOR byte string (RFC 9052 §3.1): {1: -8} selects EdDSA, {1: -7} ES256. */
const PROTECTED = { eddsa: [0x43, 0xa1, 0x01, 0x27], es256: [0x43, 0xa1, 0x01, 0x26] } as const;
const ARRAY_OF_FOUR = 0x84;
const EMPTY_MAP = 0xa0;
/** The CBOR text string `Signature1`, the context of a COSE_Sign1 signature (RFC 9052 §4.4). */
const CONTEXT = [0x6a, ...new TextEncoder().encode('Signature1')];

/**
 * Signs a person's decision with that person's key. Returns a COSE_Sign1 message in base64url (docs/approvals.md). `key` is a key object,
 * or the key's seed (32 bytes in base64url).
 */
export async function signApproval(statement: ApprovalStatement, key: string | SigningKey): Promise<string> {
  const payload = byteString(approvalPayload(statement));
  const header = typeof key !== 'string' && isEs256(key) ? PROTECTED.es256 : PROTECTED.eddsa;
  const signed = Uint8Array.of(ARRAY_OF_FOUR, ...CONTEXT, ...header, ...byteString(APPROVAL_DOMAIN), ...payload);
  const signature = byteString(await (typeof key === 'string' ? signAsync(signed, bytesOfBase64Url(key)) : signWith(key, signed)));
  return base64UrlOf(Uint8Array.of(ARRAY_OF_FOUR, ...header, EMPTY_MAP, ...payload, ...signature));
}

/** Returns the public key that belongs to a seed or a key object, in base64url. */
export async function publicKeyOf(key: string | SigningKey): Promise<string> {
  return typeof key === 'string' ? base64UrlOf(await getPublicKeyAsync(bytesOfBase64Url(key))) : key.publicKey;
}

/** Encodes 24 to 65,535 bytes as a CBOR byte string (RFC 8949 §3.1). */
function byteString(bytes: Uint8Array): readonly number[] {
  const head = bytes.length < 0x100 ? [0x58, bytes.length] : [0x59, bytes.length >> 8, bytes.length & 0xff];
  return [...head, ...bytes];
}
