import type { KeyObject } from 'node:crypto';
import { toAtmoError } from '../../core/errors.ts';
import { decodeCbor, encodeCbor } from '../../wire/cbor.ts';
import { aadAfter, openSign1, signSign1 } from '../../wire/cose-sign1.ts';
import { publicKeyOf } from '../../wire/ed25519-key.ts';
import { decodeClaims, encodeClaims, type TokenClaims } from './token-claims.ts';
import { excessOf } from './token-narrowing.ts';
import { refuseToken } from './token-refusal.ts';
import { MAX_TOKEN_BYTES } from './token-text.ts';

/** Most links of a token: a root and three below it. */
export const MAX_TOKEN_DEPTH = 4;

const ROOT_AAD: Uint8Array = Buffer.from('atmosphere-edge token v1', 'utf8');

/** What the links of a verified chain say, root first; each is narrower than the one before. */
export type ClaimChain = readonly [TokenClaims, ...TokenClaims[]];

/** The bytes of a new chain of one link, signed by the issuing hub. */
export function signRoot(claims: TokenClaims, key: KeyObject): Uint8Array {
  return encodeCbor([signSign1({ payload: encodeClaims(claims), key, externalAad: ROOT_AAD })]);
}

/**
 * The bytes of a chain with one more link, signed with the key that its last link is bound to. Anybody who holds that key
 * can make one, with or without a hub; whether the link is narrower shows when the chain is verified.
 */
export function signChild(parent: Uint8Array, claims: TokenClaims, key: KeyObject): Uint8Array {
  const links = linksOf(parent);
  const externalAad = aadAfter(links.at(-1) ?? parent);
  return encodeCbor([...links, signSign1({ payload: encodeClaims(claims), key, externalAad })]);
}

/**
 * Verifies every signature of a chain, and that each link only narrows the one before. `keyOfIssuer` tells the raw key of
 * a trusted hub. TOKEN_INVALID says what is wrong; times and revocations are not looked at.
 */
export function verifyChain(bytes: Uint8Array, keyOfIssuer: (hubId: string) => string | undefined): ClaimChain {
  const [rootLink, ...childLinks] = linksOf(bytes);
  const root = verifyLink(rootLink, ROOT_AAD, ({ issuer }) => keyOfIssuer(issuer));
  if (root.subject.includes('/')) refuseToken('its first link is not for an agent of its own');
  const chain: [TokenClaims, ...TokenClaims[]] = [root];
  let parent = root;
  let parentLink = rootLink;
  for (const link of childLinks) {
    const { key } = parent;
    const child = verifyLink(link, aadAfter(parentLink), () => key);
    const excess = excessOf(child, parent);
    if (excess) refuseToken(excess);
    if (chain.some((other) => other.id === child.id)) refuseToken('two of its links have one id');
    chain.push(child);
    parent = child;
    parentLink = link;
  }
  return chain;
}

function linksOf(bytes: Uint8Array): readonly [Uint8Array, ...Uint8Array[]] {
  if (bytes.length > MAX_TOKEN_BYTES) refuseToken(`it is longer than ${MAX_TOKEN_BYTES} bytes`);
  const links = strict(() => decodeCbor(bytes, { maxDepth: 1, maxItems: 16 }));
  if (!Array.isArray(links) || !links.every((link): link is Uint8Array => link instanceof Uint8Array)) {
    return refuseToken(`it is not a list of 1 to ${MAX_TOKEN_DEPTH} signed links`);
  }
  const [root, ...children] = links;
  if (!root || children.length >= MAX_TOKEN_DEPTH) return refuseToken(`it is not a list of 1 to ${MAX_TOKEN_DEPTH} signed links`);
  return [root, ...children];
}

function verifyLink(link: Uint8Array, externalAad: Uint8Array, keyOf: (claims: TokenClaims) => string | undefined): TokenClaims {
  const publicKey = (unverified: TokenClaims): KeyObject => {
    const raw = keyOf(unverified);
    return raw === undefined ? refuseToken('its issuer is not trusted by this hub') : publicKeyOf(raw);
  };
  return strict(() => openSign1(link, { read: decodeClaims, keyOf: publicKey, externalAad }));
}

/** What the codec refuses is the token's fault, not that of a parameter. */
function strict<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (thrown) {
    const { code, details } = toAtmoError(thrown);
    if (code !== 'VALIDATION_ERROR') throw thrown;
    return refuseToken(typeof details.reason === 'string' ? details.reason : 'it is malformed');
  }
}
