import { createPublicKey, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ApprovalStatement } from '../../../src/codec/approval-payload.ts';
import { isSignedStatement } from '../../../src/codec/approval-statement.ts';
import { publicKeyOf, signApproval } from '../../../src/web/api/approval-signature.ts';
import { submitDecision } from '../../../src/web/api/approvals.ts';
import { HubClient } from '../../../src/web/api/hub-client.ts';
import { signingKeyOf } from '../../../src/web/api/signing-key.ts';
import { approvalView } from '../home-fixture.ts';

const statement: ApprovalStatement = {
  approval_id: 'ab'.repeat(16),
  decision: 'approve',
  tool: 'matter:front_door_unlock@1.0.0',
  call_hash: 'cd'.repeat(32),
  hub: 'hub-0011223344556677',
  expires_at: '2026-01-01T00:10:00.000Z',
  person: 'ann',
};
/** A key as links carry it. */
async function makeSeed() {
  const seed = randomBytes(32).toString('base64url');
  return { seed, publicKey: await publicKeyOf(seed) };
}

const keyObject = (publicKey: string) => createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' });

describe('a decision that the browser signed', () => {
  test('is accepted by the hub, at either length of payload', async () => {
    const { seed, publicKey } = await makeSeed();
    const long = { ...statement, tool: `matter:${'a'.repeat(150)}@1.0.0` };
    for (const one of [statement, { ...statement, tool: 'a', expires_at: '', hub: '' }, long]) {
      expect(isSignedStatement(await signApproval(one, seed), one, keyObject(publicKey))).toBe(true);
    }
  });

  test('is the same with a key that cannot be exported', async () => {
    const { seed, publicKey } = await makeSeed();
    const kept = await signingKeyOf(seed);
    if (!kept) throw new TypeError('this Node knows no Ed25519');
    expect([kept.publicKey, await publicKeyOf(kept), kept.privateKey.extractable]).toEqual([publicKey, publicKey, false]);
    expect(await signApproval(statement, kept)).toBe(await signApproval(statement, seed));
    expect(await signingKeyOf('short')).toBeUndefined();
  });

  test('is invalid for another decision, call or person', async () => {
    const { seed, publicKey } = await makeSeed();
    const signature = await signApproval(statement, seed);
    for (const other of [{ decision: 'deny' as const }, { call_hash: 'ee'.repeat(32) }, { person: 'bob' }]) {
      expect(isSignedStatement(signature, { ...statement, ...other }, keyObject(publicKey))).toBe(false);
    }
  });

  test('is sent with the name under which the key is enrolled', async () => {
    const { seed } = await makeSeed();
    const bodies: Record<string, string>[] = [];
    const hub = new HubClient({
      fetch: async (path, init) => {
        bodies.push({ path, ...JSON.parse(String(init.body)) });
        return new Response('{}');
      },
      token: () => undefined,
      onRefused: () => undefined,
    });
    const approval = approvalView({
      approval_id: statement.approval_id,
      tool: statement.tool,
      call_hash: statement.call_hash,
      hub: statement.hub,
    });
    await submitDecision(hub, approval, { decision: 'deny', login: { token: 'at1.abcdef', person: 'ann', key: seed } });
    const [body] = bodies;
    expect(body).toMatchObject({ path: `/api/v1/approvals/${statement.approval_id}`, decision: 'deny', person: 'ann' });
    const signed = { ...statement, decision: 'deny' as const, expires_at: approval.expires_at };
    expect(isSignedStatement(body?.signature ?? '', signed, keyObject(await publicKeyOf(seed)))).toBe(true);
  });

  test('fails without a key, with advice', async () => {
    const hub = new HubClient({ fetch: async () => new Response('{}'), token: () => undefined, onRefused: () => undefined });
    await expect(submitDecision(hub, approvalView(), { decision: 'approve', login: { token: 'at1.abcdef' } })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
  });
});
