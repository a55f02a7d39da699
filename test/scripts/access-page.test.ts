import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ProofOfPossession } from '../../src/auth/tokens/proof-of-possession.ts';
import { decodeClaims, encodeClaims, type TokenClaims } from '../../src/auth/tokens/token-claims.ts';
import { decodeCbor } from '../../src/codec/cbor.ts';
import { sha256Hex } from '../../src/codec/hashes.ts';
import { covers, type Grant, type Permission, parseGrant, parsePermission, type ResourceGroups } from '../../src/core/auth/permission.ts';

const page = readFileSync(new URL('../../docs/access.md', import.meta.url), 'utf8');
const section = (heading: string) => page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
const codes = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
const rowsOf = (text: string) => [...text.matchAll(/^\| (.+) \|$/gm)].map(([, row = '']) => row.split(' | '));

/** The kitchen has a lamp, the hall a sensor. */
const groups: ResourceGroups = {
  isMember: (resource, { by, name }) =>
    resource.split('/')[0] === 'kitchen-lamp' && (by === 'type' ? name === 'light' : name === 'kitchen'),
};

function grantOf(text: string): Grant {
  return parseGrant(text) ?? expect.fail(`${text} is no grant`);
}

function required(text: string): Permission {
  return parsePermission(text) ?? expect.fail(`${text} is no permission`);
}

const examples = rowsOf(section('Permissions').split('| grant |')[1]?.split('\n\n')[0] ?? '');

describe('the permissions of docs/access.md', () => {
  test('there are examples of every form of a grant', () => {
    expect(new Set(examples.map(([grant = '']) => grantOf(codes(grant)[0] ?? '').kind))).toEqual(
      new Set(['everything', 'namespace', 'action', 'any-resource', 'resource', 'path', 'group', 'section']),
    );
  });

  test.each(examples)('%s covers what the page says, and not what it does not', (grant, covered, others) => {
    const held = grantOf(codes(grant)[0] ?? '');
    expect(codes(covered ?? '').length).toBeGreaterThan(0);
    expect(codes(covered ?? '').filter((text) => !covers(held, required(text), groups))).toEqual([]);
    expect(codes(others ?? '').filter((text) => covers(held, required(text), groups))).toEqual([]);
  });

  test('what is refused as a grant is none', () => {
    const refused = codes(/refused as a whole, such as ([\s\S]*?)\.\n/.exec(section('Permissions'))?.[1] ?? '');
    expect(refused.length).toBeGreaterThan(6);
    expect(refused.filter((text) => parseGrant(text) !== undefined)).toEqual([]);
  });
});

test('the claims on the page are those of a token', () => {
  const claims: TokenClaims = {
    ...{ issuer: 'hub-1', subject: 'agent', audience: ['hub-1'], expiresAt: 3, notBefore: 1, issuedAt: 2, id: '00'.repeat(16) },
    ...{ key: 'A'.repeat(43), permissions: ['a:b'], maxHops: 1, rateLimit: { calls: 1, seconds: 1 }, meshId: 'm' },
  };
  const bytes = encodeClaims(claims);
  expect(decodeClaims(bytes)).toEqual(claims);
  const encoded = decodeCbor(bytes);
  const keys = rowsOf(section('Tokens')).flatMap(([, key = '']) => (/^-?\d+$/.test(key) ? [Number(key)] : []));
  expect(keys).toEqual(encoded instanceof Map ? [...encoded.keys()] : []);
});

test('the proof on the page is accepted once', () => {
  const { public_key: key, token, operation, body, hub, time, proof } = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
  const used = new Set<string>();
  const replays = { use: (holder: string, nonce: string) => used.size < used.add(holder + nonce).size };
  const proofs = new ProofOfPossession({ replays, time: { now: () => time * 1000, isTrusted: () => true } }, hub);
  const check = { proof, operation, token: { text: token, chain: ['00'], keys: [key] } };
  expect(proofs.verify(check)).toBe(sha256Hex(body));
  expect(() => proofs.verify(check)).toThrow('was used before');
});
