import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { decodeCbor, encodeCbor } from '../../codec/cbor.ts';
import { aadAfter, openSign1, signSign1 } from '../../codec/cose-sign1.ts';
import { publicKeyOf, rawPublicKey } from '../../codec/public-key.ts';
import { hubOfForeignAgent, type MeshTrust, type Principal, type TokenFacts } from '../../core/auth/principal.ts';
import { toAtmoError } from '../../core/errors.ts';
import { derivedKey, type HubKey } from '../hub-key.ts';
import { decodeClaims, encodeClaims, excessOf, refuseToken, type TokenClaims } from './token-claims.ts';

/** Largest number of links in a token: a root and three child links. */
export const MAX_TOKEN_DEPTH = 4;
const MAX_ROOT_NAMES = 2;

const ROOT_AAD: Uint8Array = Buffer.from('atmosphere-edge token v1', 'utf8');

/** The claims of a verified chain's links, root first; each link is narrower than the previous link. */
export type ClaimChain = readonly [TokenClaims, ...TokenClaims[]];

/** Returns a new token chain with one link, signed by the issuing hub. */
export function signRoot(claims: TokenClaims, key: KeyObject): Uint8Array {
  return encodeCbor([signSign1({ payload: encodeClaims(claims), key, externalAad: ROOT_AAD })]);
}

/**
 * Returns the chain with one more link. `key` must be the private key to which the last link is bound; its holder needs no hub to add a
 * link. This function does not check that the new link is narrower; `verifyChain` does.
 */
export function signChild(parent: Uint8Array, claims: TokenClaims, key: KeyObject): Uint8Array {
  const links = linksOf(parent);
  const externalAad = aadAfter(links.at(-1) ?? parent);
  return encodeCbor([...links, signSign1({ payload: encodeClaims(claims), key, externalAad })]);
}

/**
 * Verifies every signature of a chain, and that each link only narrows the previous link. `keyOfIssuer` returns the raw key of a trusted
 * hub (base64url). Throws TOKEN_INVALID if a check fails. Expiry and revocation are not checked here.
 */
export function verifyChain(bytes: Uint8Array, keyOfIssuer: (hubId: string) => string | undefined): ClaimChain {
  const [rootLink, ...childLinks] = linksOf(bytes);
  const root = verifyLink(rootLink, ROOT_AAD, ({ issuer }) => keyOfIssuer(issuer));
  // The agent of an application has the name of the person before its own.
  if (root.subject.split('/').length > MAX_ROOT_NAMES) refuseToken('its first link is not for an agent of its own');
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

/** Converts an error of the decoder to TOKEN_INVALID. */
function strict<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (thrown) {
    const { code, details } = toAtmoError(thrown);
    if (code !== 'VALIDATION_ERROR') throw thrown;
    return refuseToken(typeof details.reason === 'string' ? details.reason : 'it is malformed');
  }
}

/** Longest token chain in bytes of CBOR; the token's text then has at most 2,735 characters. */
export const MAX_TOKEN_BYTES = 2048;
const PREFIX = 'at1.';
const MAX_TEXT_LENGTH = PREFIX.length + Math.ceil((MAX_TOKEN_BYTES * 4) / 3);

/** Returns the token's text: `at1.` and the bytes of the chain in base64url (RFC 4648 §5) without padding. */
export function tokenText(bytes: Uint8Array): string {
  return PREFIX + Buffer.from(bytes).toString('base64url');
}

/** Returns the token's text without its seal. */
export function unsealed(text: string): string {
  const dot = text.indexOf('.', PREFIX.length);
  return dot < 0 ? text : text.slice(0, dot);
}

/** Returns the bytes of a token's text, ignoring its seal. Throws TOKEN_INVALID if the text is too long or not canonical base64url. */
export function tokenBytes(given: string): Uint8Array {
  const text = unsealed(given);
  if (!text.startsWith(PREFIX)) refuseToken(`it does not begin with ${PREFIX}`);
  if (text.length > MAX_TEXT_LENGTH) refuseToken(`it is longer than ${MAX_TOKEN_BYTES} bytes`);
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
  // The text is compared because the decoder of Node.js also accepts padding, `+`, `/`, blanks, and unused bits in the last character.
  if (tokenText(bytes) !== text) refuseToken('it is not base64url without padding');
  return bytes;
}

const SEAL_CONTEXT = 'atmosphere-edge token seal v1';
const SEAL_BYTES = 16;

/**
 * Appends a seal (`.` and a MAC) to tokens that are bound to this hub's key. The seal proves that this hub issued exactly this text. With
 * each call, other hubs receive the token's whole chain, which contains the parent tokens. They cannot use a parent token on this hub,
 * because they do not receive its seal.
 */
export class TokenSeal {
  /** With an object, a seal takes a third of the time that it takes with the bytes of the key. */
  readonly #key: KeyObject;
  readonly #hubKey: string;

  /** `hubKey` is the hub's private key, from which the key of the seals is derived. */
  constructor(hubKey: KeyObject) {
    this.#hubKey = rawPublicKey(hubKey);
    this.#key = createSecretKey(derivedKey(hubKey, SEAL_CONTEXT));
  }

  /** Returns the text followed by `.` and the first 16 bytes of its HMAC-SHA-256 (RFC 2104) in base64url. */
  seal(text: string): string {
    return `${text}.${this.#sealOf(text)}`;
  }

  /**
   * Returns whether to accept the token's text. A token that is not bound to this hub's key is accepted here. If this hub signed a bound
   * token, the text needs the seal: anyone who saw a child token can cut out its parent. If another hub issued it as a root token, it is
   * refused. If another key signed it, it is accepted here, because the bearer must also prove possession of that key.
   */
  isAsGivenOut(text: string, principal: Principal & { readonly token: TokenFacts }): boolean {
    const { keys } = principal.token;
    if (keys.at(-1) !== this.#hubKey) return true;
    const isRootHere = keys.length === 1 && originOf(principal) === undefined;
    return isRootHere || keys.at(-2) === this.#hubKey ? this.isSealed(text) : keys.length > 1;
  }

  /** Returns whether the text ends with a valid seal. */
  isSealed(text: string): boolean {
    const [given, expected] = [text, this.seal(unsealed(text))].map((each) => Buffer.from(each));
    return given !== undefined && expected !== undefined && given.length === expected.length && timingSafeEqual(given, expected);
  }

  #sealOf(text: string): string {
    return createHmac('sha256', this.#key).update(text, 'utf8').digest().subarray(0, SEAL_BYTES).toString('base64url');
  }
}

/** The hubs whose tokens are accepted: their raw keys (base64url) by hub id, and the permissions that their tokens may have. */
export interface TrustedIssuers {
  get(hubId: string): string | undefined;
  /** Returns the permissions that the hub's tokens may have at most; undefined if there is no limit. */
  permissionsOf(hubId: string): readonly string[] | undefined;
}

/** Returns the trusted issuers: this hub without limits, and other hubs within the permissions that the mesh grants them. */
export function trustedIssuers({
  hub,
  mesh,
}: {
  readonly hub: Pick<HubKey, 'hubId' | 'publicKey'>;
  readonly mesh: MeshTrust;
}): TrustedIssuers {
  return {
    get: (hubId) => (hubId === hub.hubId ? hub.publicKey : mesh.hub(hubId)?.key),
    permissionsOf: (hubId) => (hubId === hub.hubId ? undefined : (mesh.hub(hubId)?.permissions ?? [])),
  };
}

/** Returns the id of the hub that issued the agent's token; undefined for an agent of this hub. */
export function originOf({ id, kind }: Principal): string | undefined {
  return kind === 'agent' ? hubOfForeignAgent(id) : undefined;
}
