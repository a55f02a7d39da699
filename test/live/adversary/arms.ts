import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { signChild, signRoot, tokenBytes, tokenText } from '../../../src/auth/tokens/token-chain.ts';
import { decodeClaims, encodeClaims, type TokenClaims } from '../../../src/auth/tokens/token-claims.ts';
import { decodeCbor, encodeCbor } from '../../../src/codec/cbor.ts';
import { hubIdOf, rawPublicKey } from '../../../src/codec/public-key.ts';
import { signProof } from '../../auth/tokens/sign-proof.ts';

const WIDE = ['*', 'device:control:*', 'device:read:*', 'sensor:read:*'];

/** Tokens that an attacker may have made, found or kept. */
export interface Arms {
  /** A good token of another agent, with rights of its own; the attacker holds its text only to have it inspected. */
  readonly foreign: string;
  readonly selfMade: string;
  readonly impostor: string;
  readonly rewritten: string;
  readonly resigned: string;
  readonly strangersChild: string;
  readonly greedyChildren: readonly string[];
  readonly spliced: string;
  readonly mangled: readonly string[];
  readonly bitFlips: readonly string[];
  readonly expired: string;
  readonly early: string;
  readonly elsewhere: string;
  readonly otherMesh: string;
  readonly revoked: string;
  readonly bound: string;
  readonly proofOfAnother: string;
  /** A good proof for a GET of the path with the bound token. */
  prove(path: string): string;
}

interface Found {
  readonly own: string;
  readonly foreign: string;
  readonly revoked: string;
  /** A token that is bound to this key of the attacker's. */
  readonly bound: string;
  readonly boundKey: KeyObject;
  readonly stateDir: string;
}

/** Forges everything that can be forged; what only the hub can sign is signed with the hub's own key. */
export function forge({ own, foreign, revoked, bound, boundKey, stateDir }: Found): Arms {
  const hubKey = createPrivateKey(readFileSync(join(stateDir, 'hub.key')));
  const hubId = hubIdOf(rawPublicKey(hubKey));
  const mine = generateKeyPairSync('ed25519').privateKey;
  const claims = claimsOf(own);
  const boundClaims = claimsOf(bound);
  const nowSeconds = Math.floor(Date.now() / 1000);
  const wide = (changes: Partial<TokenClaims> = {}): TokenClaims => ({ ...claims, id: newId(), permissions: WIDE, ...changes });
  const byHub = (changes: Partial<TokenClaims>) => tokenText(signRoot(wide(changes), hubKey));
  const child = (changes: Partial<TokenClaims>, key = boundKey): string => {
    const link = { ...boundClaims, issuer: boundClaims.subject, subject: `${boundClaims.subject}/child`, id: newId(), ...changes };
    return tokenText(signChild(tokenBytes(bound), link, key));
  };
  const prove = (path: string, key = boundKey) =>
    signProof({ token: bound, operation: `GET ${path}`, content: new Uint8Array(), hubId, atMs: Date.now() }, key);
  return {
    foreign,
    revoked,
    bound,
    prove: (path) => prove(path),
    proofOfAnother: prove('/api/v1/devices', mine),
    selfMade: tokenText(signRoot(wide({ issuer: hubIdOf(rawPublicKey(mine)), key: rawPublicKey(mine) }), mine)),
    impostor: tokenText(signRoot(wide(), mine)),
    rewritten: rewritten(own, wide({ id: claims.id })),
    resigned: tokenText(signRoot(wide({ id: claims.id }), mine)),
    strangersChild: child({}, mine),
    greedyChildren: [
      child({ permissions: WIDE }),
      child({ permissions: ['device:control:*'] }),
      child({ expiresAt: boundClaims.expiresAt + 86_400 }),
      child({ subject: 'owner' }),
      child({ subject: `${boundClaims.subject}/../owner` }),
      child({ issuer: hubId }),
      child({ rateLimit: { calls: 1_000_000, seconds: 1 }, permissions: ['admin:token'] }),
    ],
    spliced: spliced(bound, child({})),
    mangled: [own.slice(0, own.length / 2), `${own}${own}`, `at1.${own.slice(4).split('').reverse().join('')}`, `at1.${own}`],
    bitFlips: flips(own),
    expired: byHub({ issuedAt: nowSeconds - 7_200, expiresAt: nowSeconds - 3_600 }),
    early: byHub({ notBefore: nowSeconds + 3_600, expiresAt: nowSeconds + 7_200 }),
    elsewhere: byHub({ audience: ['hub-0000000000000000'] }),
    otherMesh: byHub({ meshId: 'another-mesh' }),
  };
}

/** Everything of the tokens that must stand nowhere: whole texts, and their signatures in the ways that bytes are written. */
export function signaturesOf(token: string): readonly Buffer[] {
  return linksOf(token).map((link) => link.subarray(-64));
}

function linksOf(token: string): readonly Buffer[] {
  return (decodeCbor(tokenBytes(token)) as readonly Uint8Array[]).map((link) => Buffer.from(link));
}

function claimsOf(token: string): TokenClaims {
  const links = linksOf(token);
  const [, , payload] = decodeCbor(links.at(-1) ?? new Uint8Array()) as readonly Uint8Array[];
  return decodeClaims(payload ?? new Uint8Array());
}

function newId(): string {
  return randomBytes(16).toString('hex');
}

/** Other claims under the signature of the old ones. */
function rewritten(token: string, claims: TokenClaims): string {
  const [link = new Uint8Array()] = linksOf(token);
  const [header, , , signature] = decodeCbor(link) as readonly Uint8Array[];
  const forged = encodeCbor([header ?? new Uint8Array(), new Map(), encodeClaims(claims), signature ?? new Uint8Array()]);
  return tokenText(encodeCbor([forged]));
}

/** A child's link without its parent's before it. */
function spliced(parent: string, child: string): string {
  const [root = new Uint8Array()] = linksOf(parent);
  const last = linksOf(child).at(-1) ?? new Uint8Array();
  return tokenText(encodeCbor([Uint8Array.from(last), Uint8Array.from(root)]));
}

function flips(token: string): readonly string[] {
  const bytes = tokenBytes(token);
  return Array.from({ length: Math.floor(bytes.length / 20) }, (_, index) => {
    const changed = Uint8Array.from(bytes);
    changed[index * 20] = (changed[index * 20] ?? 0) ^ 1;
    return tokenText(changed);
  });
}
