import type { HubId } from '../../core/ids.ts';
import { message, optional, required } from '../message.ts';
import { messageCodec } from '../message-codec.ts';
import { hex, meshId, publicKey } from '../message-encodings.ts';
import { list } from '../message-lists.ts';
import { bytes, choice, text, uint } from '../message-scalars.ts';
import { type Place, refuse, type ValueOf, type WireType } from '../message-type.ts';

/** Seconds since 1970. */
const SECONDS = uint({ max: 253_402_300_799 });
/** The id of a hub or mesh as text, as CWT has issuers and subjects (RFC 8392 §3.1.1). */
const ISSUER = text({ max: 21, pattern: /^(?:hub|mesh)-[0-9a-f]{16}$/ });
const SUBJECT = text({ max: 20, pattern: /^hub-[0-9a-f]{16}$/ }) as WireType<HubId>;
/** COSE_Key (RFC 9053 §7.2): key type OKP, curve Ed25519, x. */
const COSE_KEY = { kty: 1, crv: -1, x: -2, okp: 1, ed25519: 6 } as const;

/** `cnf` (RFC 8747 §3.1) with an Ed25519 key: its 32 raw bytes, base64url, in TypeScript. */
const CONFIRMATION: WireType<string> = {
  toCbor: (key, at) =>
    new Map([
      [
        1,
        new Map([
          [COSE_KEY.kty, COSE_KEY.okp],
          [COSE_KEY.crv, COSE_KEY.ed25519],
          [COSE_KEY.x, publicKey.toCbor(key, at)],
        ]),
      ],
    ]),
  fromCbor: (value, at) => {
    const key: unknown = value instanceof Map && value.size === 1 ? value.get(1) : undefined;
    if (!(key instanceof Map) || key.size !== 3) return refuse(at, 'is not a COSE_Key');
    if (key.get(COSE_KEY.kty) !== COSE_KEY.okp || key.get(COSE_KEY.crv) !== COSE_KEY.ed25519) refuse(at, 'is not an Ed25519 key');
    return publicKey.fromCbor(key.get(COSE_KEY.x) ?? null, at);
  },
};

/** Claims 1 to 8 are those of RFC 8392 and RFC 8747; private ones lie below -65536 (RFC 8392 §9.1). */
const CLAIMS = message({
  /** The mesh id where the root key signed, else the id of the hub that did. */
  issuer: required(1, ISSUER),
  subject: required(2, SUBJECT),
  expiresAt: required(4, SECONDS),
  notBefore: optional(5, SECONDS),
  issuedAt: required(6, SECONDS),
  /** 16 random bytes, hex. */
  id: required(7, hex({ min: 16, max: 16 })),
  key: required(8, CONFIRMATION),
  /** Grants that tokens of the subject may hold at most on other hubs. */
  permissions: required(-70_001, list(text({ max: 256 }), { min: 1, max: 16 })),
  meshId: required(-70_004, meshId),
  roles: required(-70_005, distinct(list(choice({ member: 1, inviter: 2 }), { min: 1, max: 2 }))),
});

/** What one link of a membership certificate says. Times in whole seconds since 1970. */
export type CertificateClaims = ValueOf<typeof CLAIMS>;

/** Links of a certificate, the one that the root key signed first; each is a COSE_Sign1. */
export type CertificateChain = readonly Uint8Array[];

/** A certificate as a member of other messages. */
export const CERTIFICATE_CHAIN: WireType<CertificateChain> = list(bytes({ min: 1, max: 1_024 }), { min: 1, max: 2 });

const CLAIMS_CODEC = messageCodec('CertificateClaims', CLAIMS, { maxBytes: 1_024, maxDepth: 4, maxItems: 64 });
const CHAIN_CODEC = messageCodec('CertificateChain', CERTIFICATE_CHAIN, { maxBytes: 2_064, maxDepth: 1, maxItems: 3 });

/** The claims as bytes to sign. VALIDATION_ERROR. */
export function encodeCertificateClaims(claims: CertificateClaims): Uint8Array {
  return CLAIMS_CODEC.encode(claims);
}

/** Only their form: who signed them, and whether the key fits the subject, is asked by whoever reads the chain. VALIDATION_ERROR. */
export function decodeCertificateClaims(encoded: Uint8Array): CertificateClaims {
  return CLAIMS_CODEC.decode(encoded);
}

/** A whole certificate as one message, such as the answer to a hub that renews its own. VALIDATION_ERROR. */
export function encodeCertificateChain(chain: CertificateChain): Uint8Array {
  return CHAIN_CODEC.encode(chain);
}

/** VALIDATION_ERROR. */
export function decodeCertificateChain(encoded: Uint8Array): CertificateChain {
  return CHAIN_CODEC.decode(encoded);
}

/** One order and no repetition: a set has one encoding. */
function distinct<Item extends string>(type: WireType<readonly Item[]>): WireType<readonly Item[]> {
  const check = (items: readonly Item[], at: Place): readonly Item[] =>
    new Set(items).size === items.length ? items : refuse(at, 'says something twice');
  return {
    toCbor: (items, at) => type.toCbor(check(items, at), at),
    fromCbor: (value, at) => check(type.fromCbor(value, at), at),
  };
}
