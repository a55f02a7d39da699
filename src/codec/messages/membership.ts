import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import {
  bytes,
  choice,
  hex,
  hubId,
  list,
  meshId,
  message,
  messageCodec,
  optional,
  publicKey,
  refuse,
  required,
  signedCodec,
  text,
  uint,
  type ValueOf,
  type ValuePath,
  type WireType,
} from '../message-schema.ts';

/** Form of a site's name: a DNS label in lower case (RFC 1123 2.1). */
export const SITE_PATTERN = '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$';
/** Wire type of a site's name. */
export const SITE: ReturnType<typeof text> = text({ max: 63, pattern: new RegExp(SITE_PATTERN) });

/** Wire type of a time in whole seconds since 1970. */
const SECONDS = uint({ max: 253_402_300_799 });
/** Wire type of a hub or mesh id as text, as CWT requires for issuers and subjects (RFC 8392 §3.1.1). */
const ISSUER = text({ max: 21, pattern: /^(?:hub|mesh)-[0-9a-f]{16}$/ });
const SUBJECT = text({ max: 20, pattern: /^hub-[0-9a-f]{16}$/ }) as WireType<HubId>;
/** Labels and values of a COSE_Key (RFC 9053 §7.2): key type OKP, curve Ed25519, x. */
const COSE_KEY = { kty: 1, crv: -1, x: -2, okp: 1, ed25519: 6 } as const;

/** Wire type of the claim `cnf` (RFC 8747 §3.1), which contains an Ed25519 key: 32 bytes on the wire, base64url text in TypeScript. */
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

/** Wire type of the claims. RFC 8392 and RFC 8747 define the keys 1 to 8. Private claims have keys below -65536 (RFC 8392 §9.1). */
const CLAIMS = message({
  /** Mesh id if the root key signed, otherwise the id of the hub that signed. */
  issuer: required(1, ISSUER),
  subject: required(2, SUBJECT),
  expiresAt: required(4, SECONDS),
  notBefore: optional(5, SECONDS),
  issuedAt: required(6, SECONDS),
  /** Random id: 16 bytes, hex. */
  id: required(7, hex({ min: 16, max: 16 })),
  key: required(8, CONFIRMATION),
  /** Permissions that other hubs grant at most to tokens of the certified hub. */
  permissions: required(-70_001, list(text({ max: 256 }), { min: 1, max: 16 })),
  meshId: required(-70_004, meshId),
  roles: required(-70_005, distinct(list(choice({ member: 1, inviter: 2 }), { min: 1, max: 2 }))),
});

/** Claims of one link of a membership certificate, with times in whole seconds since 1970. */
export type CertificateClaims = ValueOf<typeof CLAIMS>;

/** Membership certificate: one or two links, each a COSE_Sign1 message. The root key signed the first link. */
export type CertificateChain = readonly Uint8Array[];

/** Wire type of a certificate inside other messages. */
export const CERTIFICATE_CHAIN: WireType<CertificateChain> = list(bytes({ min: 1, max: 1_024 }), { min: 1, max: 2 });

/** Codec of the claims. The encoded claims are the payload of a signed link. */
export const certificateClaimsCodec = messageCodec('CertificateClaims', CLAIMS, { maxBytes: 1_024, maxDepth: 4, maxItems: 64 });
/** Codec of a whole certificate as one message, such as the response to a renewal. */
export const certificateChainCodec = messageCodec('CertificateChain', CERTIFICATE_CHAIN, { maxBytes: 2_064, maxDepth: 1, maxItems: 3 });

/** Returns the wire type of a list without repeated items. It throws VALIDATION_ERROR if an item occurs twice. */
function distinct<Item extends string>(type: WireType<readonly Item[]>): WireType<readonly Item[]> {
  const check = (items: readonly Item[], at: ValuePath): readonly Item[] =>
    new Set(items).size === items.length ? items : refuse(at, 'says something twice');
  return {
    toCbor: (items, at) => type.toCbor(check(items, at), at),
    fromCbor: (value, at) => check(type.fromCbor(value, at), at),
  };
}

/** Maximum length of a revocation statement in bytes. */
export const MAX_STATEMENT_BYTES = 3_072;

/** Wire type of the revocation of a hub's membership. */
const REVOCATION = message({
  meshId: required(1, meshId),
  /** Hub whose certificates are no longer valid. */
  hubId: required(2, hubId),
  /** Time of the revocation in milliseconds since 1970. */
  atMs: required(3, uint()),
});

/** Wire type of a revocation statement: a signed revocation, and the proof that its signer may revoke the hub. */
const STATEMENT = message({
  /** COSE_Sign1 message with the revocation. */
  signed: required(1, bytes({ min: 1, max: 512 })),
  /** Certificate of the hub that signed the revocation; absent if the mesh's root key signed it. */
  signer: optional(2, CERTIFICATE_CHAIN),
});

/** Codec of a signed revocation. */
export const memberRevocationCodec = signedCodec(
  messageCodec('MemberRevocation', REVOCATION, { maxBytes: 128, maxDepth: 1, maxItems: 7 }),
  'atmosphere-edge member revocation v1',
);
/** Codec of a revocation statement, which hubs exchange and store; decoding verifies no signature. */
export const revocationStatementCodec = messageCodec('RevocationStatement', STATEMENT, {
  maxBytes: MAX_STATEMENT_BYTES,
  maxDepth: 2,
  maxItems: 8,
});

const PREFIX = 'atmo-join1.';
const MAX_BYTES = 1_280;

const INVITE = message({
  /** Raw Ed25519 root key of the mesh: 32 bytes, base64url. */
  rootKey: required(1, publicKey),
  id: required(2, hex({ min: 8, max: 8 })),
  secret: required(3, bytes({ min: 16, max: 16 })),
  expiresAt: required(4, SECONDS),
  /** Addresses as `host:port`; empty if the hubs find each other on the local network. */
  addresses: required(5, list(text({ max: 261 }), { max: 4 })),
});

/** Invite: the secret with which one hub can join a mesh once. */
export type Invite = ValueOf<typeof INVITE>;

const INVITE_CODEC = messageCodec('Invite', INVITE, { maxBytes: MAX_BYTES, maxDepth: 2, maxItems: 16 });

/** Returns an invite as one line of text: `atmo-join1.` and base64url. Throws VALIDATION_ERROR if the invite exceeds its limits. */
export function inviteText(invite: Invite): string {
  return `${PREFIX}${Buffer.from(INVITE_CODEC.encode(invite)).toString('base64url')}`;
}

/** Parses a pasted invite. Throws VALIDATION_ERROR if it is not an invite; the error does not contain the text, which is a secret. */
export function parseInvite(pasted: string): Invite {
  const trimmed = pasted.trim();
  const encoded = Buffer.from(trimmed.slice(PREFIX.length), 'base64url');
  if (!trimmed.startsWith(PREFIX) || encoded.toString('base64url') !== trimmed.slice(PREFIX.length)) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      `The invite is incomplete or was changed: it begins with ${PREFIX} and is one line; copy it again`,
    );
  }
  return INVITE_CODEC.decode(encoded);
}
