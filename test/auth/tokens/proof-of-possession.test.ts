import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ProofOfPossession, ReplayCache } from '../../../src/auth/tokens/proof-of-possession.ts';
import { tokenBytes } from '../../../src/auth/tokens/token-chain.ts';
import { type CborValue, decodeCbor, encodeCbor } from '../../../src/codec/cbor.ts';
import { signSign1 } from '../../../src/codec/cose-sign1.ts';
import { OWNER } from '../../../src/core/auth/principal.ts';
import { type ProofRequest, signProof } from './sign-proof.ts';
import { type FixtureOptions, keyPair, refusalOf, tokenServices } from './token-fixture.ts';

const OPERATION = 'POST /api/v1/tools/echo/invoke';
const CONTENT = Buffer.from('{"message":"hello"}');
const AAD = Buffer.from('atmosphere-edge proof v1');

async function proofServices(options: FixtureOptions = {}) {
  const setup = await tokenServices(options);
  const agent = keyPair();
  const { token, principal } = setup.issuer.issue(
    { agentId: 'keyed', permissions: ['a:b'], ttlMs: 3_600_000, key: agent.publicKey },
    OWNER,
  );
  const facts = principal.token ?? expect.fail('an issued token has facts');
  const replays = new ReplayCache(setup);
  await replays.start();
  const proofs = new ProofOfPossession({ replays, time: setup.time }, setup.hub.hubId);
  const request: ProofRequest = { token, operation: OPERATION, content: CONTENT, hubId: setup.hub.hubId, atMs: setup.clock.now() };
  const check = (proof: string, operation = OPERATION) => proofs.verify({ proof, token: facts, operation });
  return { ...setup, agent, token, replays, proofs, request, check };
}

type ProofRoom = Awaited<ReturnType<typeof proofServices>>;

describe('a proof of possession', () => {
  test('tells the hash that the content has to have', async () => {
    const { request, agent, check } = await proofServices();
    expect(check(signProof(request, agent.privateKey))).toBe(createHash('sha256').update(CONTENT).digest('hex'));
  });

  test.each([-60, 60])('is taken with a clock that is %i s off', async (seconds) => {
    const { request, agent, check } = await proofServices();
    expect(refusalOf(() => check(signProof({ ...request, atMs: request.atMs + seconds * 1000 }, agent.privateKey)))).toBeUndefined();
  });

  test.each<[string, (setup: ProofRoom) => string]>([
    ['by another key', ({ request }) => signProof(request, keyPair().privateKey)],
    ["by the hub's key", ({ request, hub }) => signProof(request, hub.privateKey)],
    ['for another hub', ({ request, agent }) => signProof({ ...request, hubId: 'hub-0000000000000000' }, agent.privateKey)],
    [
      'for another operation',
      ({ request, agent }) => signProof({ ...request, operation: 'POST /api/v1/tools/unlock/invoke' }, agent.privateKey),
    ],
    [
      'for another method',
      ({ request, agent }) => signProof({ ...request, operation: OPERATION.replace('POST', 'GET') }, agent.privateKey),
    ],
    ['for another token', ({ request, agent, rootToken }) => signProof({ ...request, token: rootToken() }, agent.privateKey)],
    ['61 s ago', ({ request, agent }) => signProof({ ...request, atMs: request.atMs - 61_000 }, agent.privateKey)],
    ['61 s from now', ({ request, agent }) => signProof({ ...request, atMs: request.atMs + 61_000 }, agent.privateKey)],
    ['with padding', ({ request, agent }) => `${signProof(request, agent.privateKey)}=`],
    ['with a blank', ({ request, agent }) => ` ${signProof(request, agent.privateKey)}`],
    ['and cut', ({ request, agent }) => signProof(request, agent.privateKey).slice(0, -4)],
    ['as nothing', () => ''],
    ['as a token', ({ token }) => token.slice(4)],
    ['of 5,000 characters', () => 'A'.repeat(5_000)],
  ])('made %s is refused', async (_, make) => {
    const setup = await proofServices();
    expect(refusalOf(() => setup.check(make(setup)))?.code).toBe('TOKEN_INVALID');
  });

  const SOUND = (setup: ProofRoom): Map<number, CborValue> => {
    const hash = (bytes: Uint8Array) => Uint8Array.from(createHash('sha256').update(bytes).digest());
    return new Map<number, CborValue>([
      [1, hash(tokenBytes(setup.token))],
      [2, OPERATION],
      [3, hash(CONTENT)],
      [4, setup.hub.hubId],
      [5, Math.floor(setup.clock.now() / 1000)],
      [6, new Uint8Array(16)],
    ]);
  };
  const signed = (setup: ProofRoom, payload: CborValue, externalAad: Uint8Array = AAD) =>
    Buffer.from(signSign1({ payload: encodeCbor(payload), key: setup.agent.privateKey, externalAad })).toString('base64url');

  test('made by hand from its definition is taken', async () => {
    const setup = await proofServices();
    expect(refusalOf(() => setup.check(signed(setup, SOUND(setup))))).toBeUndefined();
  });

  test.each<[string, (fields: Map<number, CborValue>) => CborValue]>([
    ...[1, 2, 3, 4, 5, 6].map((key): [string, (fields: Map<number, CborValue>) => CborValue] => [
      `no claim ${key}`,
      (fields) => new Map([...fields].filter(([other]) => other !== key)),
    ]),
    ...[1, 2, 3, 4, 5, 6].map((key): [string, (fields: Map<number, CborValue>) => CborValue] => [
      `null as claim ${key}`,
      (fields) => fields.set(key, null),
    ]),
    ['a short nonce', (fields) => fields.set(6, new Uint8Array(15))],
    ['a claim more', (fields) => fields.set(7, 1)],
    ['an array', (fields) => [...fields.values()]],
  ])('that says %s is refused though its key signed it', async (_, change) => {
    const setup = await proofServices();
    expect(refusalOf(() => setup.check(signed(setup, change(SOUND(setup)))))?.code).toBe('TOKEN_INVALID');
  });

  test('that was signed for another use is refused', async () => {
    const setup = await proofServices();
    expect(refusalOf(() => setup.check(signed(setup, SOUND(setup), Buffer.from('atmosphere-edge token v1'))))?.code).toBe('TOKEN_INVALID');
  });

  test('none that differs in one bit is taken, whichever byte it is in', async () => {
    const setup = await proofServices();
    const proof = Buffer.from(signProof(setup.request, setup.agent.privateKey), 'base64url');
    let accepted = 0;
    for (let bit = 0; bit < proof.length * 8; bit += 5) {
      const flipped = Buffer.from(proof);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      if (!refusalOf(() => setup.check(flipped.toString('base64url')))) accepted += 1;
    }
    expect(accepted).toBe(0);
    expect(decodeCbor(proof)).toHaveLength(4);
  });
});

describe('a proof that somebody recorded', () => {
  test('is refused, also after a restart', async () => {
    const first = await proofServices();
    const proof = signProof(first.request, first.agent.privateKey);
    first.check(proof);
    expect(refusalOf(() => first.check(proof))).toMatchObject({ code: 'TOKEN_INVALID', message: expect.stringContaining('used before') });
    const replays = new ReplayCache(first);
    await replays.start();
    const proofs = new ProofOfPossession({ replays, time: first.time }, first.hub.hubId);
    const token = first.verifier.verify(first.token).principal.token;
    expect(refusalOf(() => proofs.verify({ proof, token, operation: OPERATION }))).toMatchObject({
      message: expect.stringContaining('used before'),
    });
  });

  test('is refused up to the moment at which it is too old, and after it', async () => {
    const { request, agent, check, clock } = await proofServices();
    const proof = signProof({ ...request, atMs: request.atMs + 60_000 }, agent.privateKey);
    check(proof);
    const reasons = Array.from({ length: 13 }, () => {
      const reason = refusalOf(() => check(proof))?.message ?? 'taken';
      clock.advance(10_000);
      return reason.includes('used before') ? 'used' : reason.includes('within') ? 'old' : reason;
    });
    expect(reasons).toEqual(Array(13).fill('used'));
    clock.advance(1_000);
    expect(refusalOf(() => check(proof))?.message).toContain('within');
  });
});
