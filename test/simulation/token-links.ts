import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { signChild, signRoot, tokenBytes, tokenText, unsealed } from '../../src/auth/tokens/token-chain.ts';
import { decodeClaims, encodeClaims, type TokenClaims } from '../../src/auth/tokens/token-claims.ts';
import { type CborValue, decodeCbor, encodeCbor } from '../../src/codec/cbor.ts';
import { unverifiedPayload } from '../../src/codec/cose-sign1.ts';
import { generatePrivateKey, rawPublicKey } from '../../src/codec/public-key.ts';
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

/** Returns the token with a change that nobody could sign, made from it and from tokens of others. */
export function tampered({ text, key }: GivenToken, others: readonly GivenToken[], draw: Draw): TamperedToken {
  const leaf = leafOf(text);
  const own = generatePrivateKey();
  const other = others.length > 0 ? draw.pick(others) : undefined;
  const seal = text.slice(unsealed(text).length);
  const ways: readonly (() => TamperedToken)[] = [
    () => ({
      text: withParts(text, { claims: { ...leaf, permissions: EVERYTHING, id: draw.hex(16) } }),
      forbidden: 'its permissions were changed',
    }),
    () => ({
      text: withParts(text, { claims: { ...leaf, expiresAt: leaf.expiresAt + YEAR_SECONDS } }),
      forbidden: 'its end was moved',
    }),
    () => ({
      text: withParts(text, { claims: { ...leaf, id: draw.hex(16) }, signature: signatureOf(other?.text ?? text) }),
      forbidden: 'its signature is that of another token',
    }),
    () => ({
      text: tokenText(signChild(tokenBytes(text), childOf(leaf, draw, { permissions: EVERYTHING }), own)) + seal,
      forbidden: 'a link was added with a key of nobody',
    }),
    () => ({
      text: tokenText(signRoot({ ...leaf, permissions: EVERYTHING, id: draw.hex(16) }, own)) + seal,
      forbidden: 'it was signed in the name of a hub',
    }),
    () => ({
      text: tokenText(signRoot({ ...leaf, key: rawPublicKey(own), id: draw.hex(16) }, own)),
      forbidden: 'it was bound to a key of nobody',
    }),
    () => ({ text: joined([...linksOf(text), ...linksOf(other?.text ?? text)]) + seal, forbidden: 'it has links of two tokens' }),
    // A token that is bound to a key of its agent needs no seal.
    () =>
      key
        ? { text: joined(linksOf(text).slice(1)), forbidden: 'it has no link' }
        : { text: unsealed(text) + (other?.text ?? '.x').replace(/^.*\./, '.'), forbidden: 'it has another seal' },
  ];
  return draw.pick(ways)();
}

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
  const hubKey = createPrivateKey(readFileSync(join(machine.stateDir, 'hub.key')));
  const permissions = [draw.pick(token.permissions)];
  const wider: readonly Partial<TokenClaims>[] = [
    {},
    {},
    { permissions: [...permissions, ...EVERYTHING.filter((one) => !token.permissions.includes(one)), 'admin:token'] },
    { expiresAt: leaf.expiresAt + YEAR_SECONDS },
    { subject: 'helper' },
  ];
  const excess = draw.pick(wider);
  const claims = childOf(leaf, draw, { permissions, key: rawPublicKey(hubKey), ...excess });
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
