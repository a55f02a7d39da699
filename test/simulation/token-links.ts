import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { signChild, signRoot, tokenBytes, tokenText, unsealed } from '../../src/auth/tokens/token-chain.ts';
import { decodeClaims, encodeClaims, type TokenClaims } from '../../src/auth/tokens/token-claims.ts';
import { type CborValue, decodeCbor, encodeCbor } from '../../src/codec/cbor.ts';
import { unverifiedPayload } from '../../src/codec/cose-sign1.ts';
import { generatePrivateKey, rawPublicKey } from '../../src/codec/public-key.ts';
import { oncePerText } from '../../src/core/lifecycle.ts';
import { DEVICE_KINDS } from './device-kinds.ts';
import type { Draw } from './draw.ts';
import type { GivenToken } from './ledger.ts';
import type { SimulatedMachine } from './simulated-machine.ts';

const EVERYTHING = DEVICE_KINDS.map((kind) => `${kind}:use`);
const YEAR_SECONDS = 365 * 86_400;

/** A token that somebody made of others without the keys for it. */
export interface TamperedToken {
  readonly text: string;
  readonly forbidden: string;
}

/** Returns the links of a token, which are signed messages, root first. */
function linksOf(text: string): readonly Uint8Array[] {
  return decodeCbor(tokenBytes(text)) as readonly Uint8Array[];
}

function joined(links: readonly Uint8Array[]): string {
  return tokenText(encodeCbor(links.map((link) => Uint8Array.from(link))));
}

/** Returns the claims of the last link. */
export function leafOf(text: string): TokenClaims {
  const leaf = linksOf(text).at(-1);
  if (!leaf) throw new Error('The token has no link');
  return decodeClaims(unverifiedPayload(leaf));
}

/** Returns the token with other claims or another signature in its last link. */
function withParts(text: string, parts: { readonly claims?: TokenClaims; readonly signature?: CborValue }): string {
  const links = linksOf(text);
  const [header, unprotected, payload, signature] = decodeCbor(links.at(-1) ?? new Uint8Array()) as readonly CborValue[];
  const claims = parts.claims ? encodeClaims(parts.claims) : payload;
  const leaf = encodeCbor([header ?? null, unprotected ?? null, claims ?? null, parts.signature ?? signature ?? null]);
  return joined([...links.slice(0, -1), leaf]) + text.slice(unsealed(text).length);
}

function signatureOf(text: string): CborValue {
  const parts = decodeCbor(linksOf(text).at(-1) ?? new Uint8Array()) as readonly CborValue[];
  return parts[3] ?? null;
}

/** A child of a token, for another agent. */
function childOf(leaf: TokenClaims, draw: Draw, more: Partial<TokenClaims>): TokenClaims {
  const { subject, meshId, ...rest } = leaf;
  return { ...rest, ...(meshId !== undefined && { meshId }), issuer: subject, subject: `${subject}/helper`, id: draw.hex(16), ...more };
}

/** What somebody has who changes a token: the token with its parts, one of another agent if there is any, and a key that nobody knows. */
interface Tampering {
  readonly token: GivenToken;
  readonly leaf: TokenClaims;
  readonly seal: string;
  readonly other: string | undefined;
  readonly own: KeyObject;
  readonly draw: Draw;
}

/** Ways to change a token, by why no hub may take the result. One that needs what is not there makes nothing. */
const CHANGES: Readonly<Record<string, (tampering: Tampering) => string | undefined>> = {
  'its permissions were changed': ({ token, leaf, draw }) =>
    withParts(token.text, { claims: { ...leaf, permissions: EVERYTHING, id: draw.hex(16) } }),
  'its end was moved': ({ token, leaf }) => withParts(token.text, { claims: { ...leaf, expiresAt: leaf.expiresAt + YEAR_SECONDS } }),
  'its signature is that of another token': ({ token, leaf, other, draw }) =>
    other && withParts(token.text, { claims: { ...leaf, id: draw.hex(16) }, signature: signatureOf(other) }),
  'a link was added with a key of nobody': ({ token, leaf, seal, own, draw }) =>
    tokenText(signChild(tokenBytes(token.text), childOf(leaf, draw, { permissions: EVERYTHING }), own)) + seal,
  'it was signed in the name of a hub': ({ leaf, seal, own, draw }) =>
    tokenText(signRoot({ ...leaf, permissions: EVERYTHING, id: draw.hex(16) }, own)) + seal,
  'it was bound to a key of nobody': ({ leaf, own, draw }) =>
    tokenText(signRoot({ ...leaf, key: rawPublicKey(own), id: draw.hex(16) }, own)),
  'it has links of two tokens': ({ token, seal, other }) => other && joined([...linksOf(token.text), ...linksOf(other)]) + seal,
  // A token that is bound to a key of its agent needs no seal.
  'it has no link': ({ token }) => (token.key ? joined(linksOf(token.text).slice(1)) : undefined),
  'it has another seal': ({ token, other = '.x' }) => (token.key ? undefined : unsealed(token.text) + other.replace(/^.*\./, '.')),
};

/** Returns the token with a change that nobody could sign, made from it and from tokens of others. */
export function tampered(token: GivenToken, others: readonly GivenToken[], draw: Draw): TamperedToken {
  const { text } = token;
  const other = others.length > 0 ? draw.pick(others).text : undefined;
  const tampering = { token, leaf: leafOf(text), seal: text.slice(unsealed(text).length), other, own: generatePrivateKey(), draw };
  for (;;) {
    const [forbidden, change] = draw.pick(Object.entries(CHANGES));
    const changed = change(tampering);
    if (changed !== undefined) return { text: changed, forbidden };
  }
}

/** The raw public key of the private key in a text. */
const publicKeyIn = oncePerText((text) => rawPublicKey(createPrivateKey(text)), { maxKept: 64 });

/**
 * Returns a narrower token that the agent of a token with its own key signs itself, bound to the key of the hub. Some are wider, which no hub
 * may accept.
 */
export function narrowed(
  token: GivenToken & { readonly key: KeyObject },
  machine: SimulatedMachine,
  draw: Draw,
): GivenToken & { readonly forbidden?: string } {
  const leaf = leafOf(token.text);
  const hubKey = publicKeyIn(readFileSync(join(machine.stateDir, 'hub.key'), 'utf8'));
  const permissions = [draw.pick(token.permissions)];
  const excess = draw.pick(excessesOf(leaf, token));
  const claims = childOf(leaf, draw, { permissions, key: hubKey, ...excess });
  return {
    ...token,
    id: claims.id,
    text: tokenText(signChild(tokenBytes(token.text), claims, token.key)),
    agent: claims.subject,
    permissions,
    parent: token,
    ...(Object.keys(excess).length > 0 && { forbidden: 'it is wider than the token that it comes from' }),
  };
}

/** What may be wider in a token than in the one that it comes from; in two of five nothing is. */
function excessesOf({ expiresAt }: TokenClaims, { permissions }: GivenToken): readonly Partial<TokenClaims>[] {
  return [
    {},
    {},
    { permissions: [...permissions, ...EVERYTHING.filter((one) => !permissions.includes(one)), 'admin:token'] },
    { expiresAt: expiresAt + YEAR_SECONDS },
    { subject: 'helper' },
  ];
}
