import { describe, expect, test } from 'vitest';
import { GrantAuthorizer } from '../../../src/auth/grant-authorizer.ts';
import type { CallAnswer } from '../../../src/calls/request-and-answer.ts';
import { NO_GROUPS } from '../../../src/core/auth/permission.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import { tokenTools } from '../../../src/tools/builtin/token-tools.ts';
import { keyPair, tokenServices } from '../../auth/tokens/token-fixture.ts';
import { makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { NO_REMOTE_GROUPS } from '../../no-device-facts.ts';

const ROLES = {
  lights: { permissions: ['device:control:@type/light', 'device:read:*'], ttlSeconds: 3_600, maxHops: 1, ratePerMinute: 30 },
};

async function room(roles = ROLES) {
  const hub = await tokenServices();
  const authorizer = new GrantAuthorizer({ groups: NO_GROUPS, elsewhere: NO_REMOTE_GROUPS, validity: hub.verifier });
  const { pipeline, registry, audited, heard } = makePipeline({ authorizer, clock: hub.clock });
  for (const tool of tokenTools({ tokens: hub.issuer, roles })) registry.register(tool);
  const call = (tool: string, params: object, principal: Principal = owner): Promise<CallAnswer> =>
    pipeline.call({ tool: `hub:${tool}`, params: { ...params }, principal });
  const result = async (tool: string, params: object, principal: Principal = owner) => {
    const answer = await call(tool, params, principal);
    if (answer.status === 'error') throw answer.error;
    return answer.result as Record<string, unknown>;
  };
  const code = async (tool: string, params: object, principal: Principal = owner) => {
    const answer = await call(tool, params, principal);
    return answer.status === 'error' ? answer.error.code : 'done';
  };
  const mint = async (params: object, principal: Principal = owner) => {
    const { token, token_id: tokenId } = await result('mint_token', params, principal);
    return { token: String(token), tokenId: String(tokenId), principal: hub.issuer.principalOf(String(token)) };
  };
  return { ...hub, pipeline, registry, audited, heard, call, result, code, mint };
}

const ADMIN = { agent_id: 'steward', permissions: ['admin:token', 'device:control:*'] };

const MALFORMED = [
  'device:*:x',
  '*:control',
  'device:control:a*',
  'device:control:a/*/b',
  'device:control:../x',
  'device:control:%2e',
  'Device:control',
  'device::x',
  'device:control:',
  'device:control:{device_id}',
];

describe('mint_token', () => {
  test('gives no agent a name that the hub uses itself, and the name of the page to the owner alone', async () => {
    const { code, mint, issuer } = await room();
    for (const name of ['bridge', 'ecosystem-1', 'preview', 'hub']) {
      expect(await code('mint_token', { agent_id: name, permissions: ['device:read:*'] }), name).toBe('VALIDATION_ERROR');
    }
    expect(issuer.list()).toEqual([]);
    const { principal } = await mint(ADMIN);
    expect(await code('mint_token', { agent_id: 'monitor', permissions: ['device:control:*'] }, principal)).toBe('VALIDATION_ERROR');
    expect(await code('mint_token', { agent_id: 'monitor', permissions: ['device:read:*'] })).toBe('done');
  });

  test.each(MALFORMED)('refuses the permission %s with all that stand beside it, and the journal has it', async (malformed) => {
    const { code, audited, issuer } = await room();
    expect(await code('mint_token', { agent_id: 'a', permissions: ['device:control:lamp-1', malformed] })).toBe('VALIDATION_ERROR');
    expect(audited.at(-1)).toMatchObject({ toolId: 'hub:mint_token@1.0.0', error: 'VALIDATION_ERROR' });
    expect(issuer.list()).toEqual([]);
  });

  test('answers a token that works, for a day when nothing else is said', async () => {
    const { result, issuer, clock } = await room();
    const minted = await result('mint_token', { agent_id: 'a', permissions: ['device:control:lamp-1'] });
    expect(minted).toEqual({
      token: expect.stringMatching(/^at1\./),
      token_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      agent_id: 'a',
      permissions: ['device:control:lamp-1'],
      expires_at: new Date(clock.now() + 86_400_000).toISOString(),
    });
    expect(issuer.principalOf(String(minted.token)).id).toBe('a');
  });

  test('hands on limits and a key', async () => {
    const { mint, hub } = await room();
    const { publicKey } = keyPair();
    const limits = { max_hops: 2, allowed_nodes: [hub.hubId], rate_per_minute: 5, ttl_seconds: 120, key: publicKey };
    const { principal } = await mint({ agent_id: 'a', permissions: ['b:c'], ...limits });
    expect(principal.token).toMatchObject({
      maxHops: 2,
      allowedNodes: [hub.hubId],
      keys: [publicKey],
      rateLimits: [{ calls: 5, seconds: 60 }],
    });
  });

  test('gives what a role has, and less where less is asked', async () => {
    const { mint, clock, issuer } = await room();
    const whole = await mint({ agent_id: 'a', role: 'lights' });
    expect(whole.principal).toMatchObject({
      permissions: ROLES.lights.permissions,
      token: { maxHops: 1, rateLimits: [{ calls: 30 }], expiresAtMs: clock.now() + 3_600_000 },
    });
    const part = await mint({ agent_id: 'b', role: 'lights', permissions: ['device:read:lamp-1'], ttl_seconds: 60, max_hops: 5 });
    expect(part.principal).toMatchObject({ permissions: ['device:read:lamp-1'], token: { maxHops: 1, expiresAtMs: clock.now() + 60_000 } });
    expect(issuer.list().map(({ role }) => role)).toEqual(['lights', 'lights']);
  });

  test.each<[string, object, string]>([
    ['more than the role has', { role: 'lights', permissions: ['device:control:*'] }, 'PERMISSION_DENIED'],
    ['a role that nobody configured', { role: 'chief' }, 'VALIDATION_ERROR'],
    ['a role by the name of what every object has', { role: 'constructor' }, 'VALIDATION_ERROR'],
    ['neither role nor permissions', {}, 'VALIDATION_ERROR'],
    ['no permissions', { permissions: [] }, 'VALIDATION_ERROR'],
    ['a malformed permission', { permissions: ['device:*:lamp'] }, 'VALIDATION_ERROR'],
    ['59 seconds', { permissions: ['b:c'], ttl_seconds: 59 }, 'VALIDATION_ERROR'],
    ['401 days', { permissions: ['b:c'], ttl_seconds: 401 * 86_400 }, 'VALIDATION_ERROR'],
    ['a name with a slash', { permissions: ['b:c'], agent_id: 'owner/x' }, 'VALIDATION_ERROR'],
    ['a key of small order', { permissions: ['b:c'], key: 'A'.repeat(43) }, 'VALIDATION_ERROR'],
    ['an unknown word', { permissions: ['b:c'], admin: true }, 'VALIDATION_ERROR'],
  ])('refuses %s', async (_, params, expected) => {
    const { code, issuer } = await room();
    expect(await code('mint_token', { agent_id: 'a', ...params })).toBe(expected);
    expect(issuer.list()).toEqual([]);
  });

  test('by an agent makes a child of its own token, with no more than it has', async () => {
    const { mint, code } = await room();
    const steward = await mint(ADMIN);
    const child = await mint({ agent_id: 'helper', permissions: ['device:control:lamp-1'] }, steward.principal);
    expect(child.principal.id).toBe('steward/helper');
    expect(await code('mint_token', { agent_id: 'x', permissions: ['device:read:lamp-1'] }, steward.principal)).toBe('PERMISSION_DENIED');
  });

  test('gives everything, or all of administration, to nobody but by the owner', async () => {
    const { mint, code } = await room();
    const all = await mint({ agent_id: 'deputy', permissions: ['*', 'admin:*'] });
    for (const permission of ['*', 'admin:*']) {
      expect(await code('mint_token', { agent_id: 'x', permissions: [permission] }, all.principal)).toBe('PERMISSION_DENIED');
    }
  });

  test('does not exist for an agent without the right to it', async () => {
    const { mint, code } = await room();
    const { principal } = await mint({ agent_id: 'a', permissions: ['device:control:*', 'notify:send'] });
    for (const tool of ['mint_token', 'list_tokens', 'revoke_token']) expect(await code(tool, {}, principal)).toBe('TOOL_NOT_FOUND');
  });

  test('leaves the token in no event and no row of the journal', async () => {
    const { mint, audited, heard, result } = await room();
    const { token } = await mint({ agent_id: 'a', permissions: ['b:c'] });
    await result('show_token', { token });
    expect(audited.length).toBeGreaterThanOrEqual(4);
    expect(JSON.stringify([audited.map(({ principal: _, ...row }) => row), heard])).not.toContain(token.slice(4, 40));
  });
});

describe('show_token', () => {
  test('tells what a token says, and that it is valid', async () => {
    const { mint, result, hub, clock } = await room();
    const { token, tokenId } = await mint({ agent_id: 'a', role: 'lights' });
    expect(await result('show_token', { token })).toEqual({
      type: 'agent_token',
      state: 'valid',
      token_id: tokenId,
      agent_id: 'a',
      issuer: hub.hubId,
      permissions: ROLES.lights.permissions,
      issued_at: new Date(clock.now()).toISOString(),
      not_before: new Date(clock.now()).toISOString(),
      expires_at: new Date(clock.now() + 3_600_000).toISOString(),
      chain: [tokenId],
      max_hops: 1,
      rate_limits: [{ token_id: tokenId, calls: 30, seconds: 60 }],
      needs_proof: false,
    });
  });

  test('tells why a token may not be used', async () => {
    const { mint, result, clock } = await room();
    const expired = await mint({ agent_id: 'a', permissions: ['b:c'], ttl_seconds: 60 });
    const revoked = await mint({ agent_id: 'b', permissions: ['b:c'] });
    const elsewhere = await mint({ agent_id: 'c', permissions: ['b:c'] });
    await result('revoke_token', { token_id: revoked.tokenId });
    clock.advance(120_000);
    const states = await Promise.all(
      [expired.token, revoked.token, elsewhere.token, `${elsewhere.token.slice(0, -8)}AAAAAAAA`, 'at0.x', ''].map(
        async (token) => (await result('show_token', { token })).state,
      ),
    );
    expect(states).toEqual(['expired', 'revoked', 'valid', 'unusable', 'invalid', 'invalid']);
  });

  test("lets an agent look at its own token and its children's, and at no other", async () => {
    const { mint, code, result } = await room();
    const steward = await mint(ADMIN);
    const child = await mint({ agent_id: 'helper', permissions: ['device:control:lamp-1'] }, steward.principal);
    const stranger = await mint({ agent_id: 'steward-2', permissions: ['b:c'] });
    const plain = await mint({ agent_id: 'plain', permissions: ['b:c'] });
    expect((await result('show_token', { token: plain.token }, plain.principal)).state).toBe('valid');
    expect((await result('show_token', { token: child.token }, child.principal)).state).toBe('valid');
    expect((await result('show_token', { token: child.token }, steward.principal)).state).toBe('valid');
    expect(await code('show_token', { token: steward.token }, child.principal)).toBe('PERMISSION_DENIED');
    expect(await code('show_token', { token: stranger.token }, plain.principal)).toBe('PERMISSION_DENIED');
    expect(await code('show_token', { token: stranger.token }, steward.principal)).toBe('done');
  });
});

describe('list_tokens and revoke_token', () => {
  test('list who has what, until when and from whom, without the texts', async () => {
    const { mint, result, clock } = await room();
    const steward = await mint({ ...ADMIN, ttl_seconds: 60 });
    clock.advance(1_000);
    const child = await mint({ agent_id: 'helper', permissions: ['device:control:lamp-1'] }, steward.principal);
    clock.advance(1_000);
    const other = await mint({ agent_id: 'other', role: 'lights' });
    await result('revoke_token', { token_id: other.tokenId });
    clock.advance(60_000);
    const { tokens } = await result('list_tokens', {});
    expect(tokens).toMatchObject([
      { token_id: other.tokenId, agent_id: 'other', state: 'revoked', role: 'lights', issued_by: 'owner:owner' },
      { token_id: child.tokenId, agent_id: 'steward/helper', state: 'expired', parent: steward.tokenId, issued_by: 'agent:steward' },
      { token_id: steward.tokenId, agent_id: 'steward', state: 'expired' },
    ]);
    expect(JSON.stringify(tokens)).not.toContain('at1.');
    expect(((await result('list_tokens', { agent_id: 'steward' })).tokens as object[]).length).toBe(2);
  });

  test('a revoked token can do nothing more, nor can its children', async () => {
    const { mint, result, code, verifier } = await room();
    const steward = await mint(ADMIN);
    const child = await mint({ agent_id: 'helper', permissions: ['device:control:lamp-1'] }, steward.principal);
    expect(await result('revoke_token', { token_id: steward.tokenId })).toEqual({ revoked: true, known: true });
    expect(await result('revoke_token', { token_id: steward.tokenId })).toEqual({ revoked: false, known: true });
    expect(await code('list_tokens', {}, steward.principal)).toBe('TOOL_NOT_FOUND');
    expect(verifier.isStillValid(child.principal)).toBe(false);
    expect((await result('list_tokens', {})).tokens).toMatchObject([{ state: 'revoked' }, { state: 'revoked' }]);
  });

  test('a token that was made elsewhere can be revoked, and the answer says that it is not known here', async () => {
    const { result, code } = await room();
    expect(await result('revoke_token', { token_id: 'ab'.repeat(16) })).toEqual({ revoked: true, known: false });
    for (const tokenId of ['', 'x', 'AB'.repeat(16), '../../etc'])
      expect(await code('revoke_token', { token_id: tokenId })).toBe('VALIDATION_ERROR');
  });
});

describe('roles of the configuration', () => {
  test.each<[string, readonly string[]]>([
    ['a malformed permission', ['device:*:x']],
    ['no permissions', []],
  ])('with %s stop the hub from starting', (_, permissions) => {
    const make = async () => room({ lights: { ...ROLES.lights, permissions: [...permissions] } });
    return expect(make()).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('lights') });
  });
});
