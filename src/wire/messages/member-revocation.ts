import type { KeyObject } from 'node:crypto';
import { message, optional, required } from '../message.ts';
import { messageCodec, signedCodec } from '../message-codec.ts';
import { hubId, meshId } from '../message-encodings.ts';
import { bytes, uint } from '../message-scalars.ts';
import type { ValueOf } from '../message-type.ts';
import { CERTIFICATE_CHAIN } from './certificate.ts';

/** Longest statement. */
export const MAX_STATEMENT_BYTES = 3_072;

const REVOCATION = message({
  meshId: required(1, meshId),
  /** Whose certificates count no more. */
  hubId: required(2, hubId),
  /** Milliseconds since 1970. */
  atMs: required(3, uint()),
});

/** That a hub is no member any more. */
export type MemberRevocation = ValueOf<typeof REVOCATION>;

const STATEMENT = message({
  /** The revocation, COSE_Sign1. */
  signed: required(1, bytes({ min: 1, max: 512 })),
  /** Certificate of the hub that signed it; absent where the mesh's root key did. */
  signer: optional(2, CERTIFICATE_CHAIN),
});

/** A revocation with what proves that its signer may make it. */
export type RevocationStatement = ValueOf<typeof STATEMENT>;

const SIGNED = signedCodec(
  messageCodec('MemberRevocation', REVOCATION, { maxBytes: 128, maxDepth: 1, maxItems: 7 }),
  'atmosphere-edge member revocation v1',
);
const STATEMENT_CODEC = messageCodec('RevocationStatement', STATEMENT, { maxBytes: MAX_STATEMENT_BYTES, maxDepth: 2, maxItems: 8 });

/** The revocation under a signature. VALIDATION_ERROR. */
export function signMemberRevocation(revocation: MemberRevocation, key: KeyObject): Uint8Array {
  return SIGNED.sign(revocation, key);
}

/** The revocation, once its signature has proven to be by the key that `keyOf` answers for it. VALIDATION_ERROR. */
export function openMemberRevocation(signed: Uint8Array, keyOf: (unverified: MemberRevocation) => KeyObject | undefined): MemberRevocation {
  return SIGNED.open(signed, keyOf);
}

/** The form that hubs pass on and keep. VALIDATION_ERROR. */
export function encodeRevocationStatement(statement: RevocationStatement): Uint8Array {
  return STATEMENT_CODEC.encode(statement);
}

/** Nothing in it is verified. VALIDATION_ERROR. */
export function decodeRevocationStatement(encoded: Uint8Array): RevocationStatement {
  return STATEMENT_CODEC.decode(encoded);
}
