import { describe, expect, test } from 'vitest';
import type { TokenRequest } from '../../../src/core/auth/principal.ts';
import { OWNER } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { keyPair, refusalOf, tokenServices } from './token-fixture.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const request = (changes: Partial<TokenRequest> = {}): TokenRequest => ({
  agentId: 'light-agent',
  permissions: ['device:control:lamp-1', 'device:read:*'],
  ttlMs: HOUR_MS,
  ...changes,
});

describe('tokens of the owner', () => {
  test('are verified like any other, and say what was asked for', async () => {
    const { hub, issuer, verifier, clock } = await tokenServices();
    const limits = { maxHops: 2, allowedNodes: [hub.hubId, hub.hubId], rateLimit: { calls: 5, seconds: 60 } };
    const { token, principal } = issuer.issue(request({ permissions: ['b:c', 'a:b', 'b:c'], ...limits }), OWNER);
    expect(verifier.verify(token).principal).toBe(principal);
    expect(issuer.principalOf(token)).toBe(principal);
    expect(principal).toMatchObject({
      id: 'light-agent',
      permissions: ['a:b', 'b:c'],
      token: { maxHops: 2, allowedNodes: [hub.hubId], expiresAtMs: clock.now() + HOUR_MS, keys: [hub.publicKey] },
    });
  });

  test('may hold administration and everything else', async () => {
    const { issuer } = await tokenServices();
    expect(issuer.issue(request({ permissions: ['*', 'admin:*'] }), OWNER).principal.permissions).toEqual(['*', 'admin:*']);
  });

  test('belong to the mesh of their hub, and their children with them', async () => {
    const { issuer, verifier } = await tokenServices({ meshId: 'mesh-a' });
    const { token, principal } = issuer.issue(request(), OWNER);
    expect(verifier.verify(token).chain[0].meshId).toBe('mesh-a');
    expect(issuer.issue(request({ agentId: 'helper' }), principal).principal.id).toBe('light-agent/helper');
  });

  test('can be bound to a key of the agent', async () => {
    const { issuer } = await tokenServices();
    const { publicKey } = keyPair();
    const { token } = issuer.issue(request({ key: publicKey }), OWNER);
    expect(issuer.inspect(token)).toMatchObject({ state: 'valid', isBearer: false });
    expect(issuer.inspect(issuer.issue(request(), OWNER).token)).toMatchObject({ state: 'valid', isBearer: true });
  });

  test('for other hubs can be made here without being of use here', async () => {
    const { issuer } = await tokenServices();
    const { token } = issuer.issue(request({ allowedNodes: ['hub-elsewhere'] }), OWNER);
    expect(issuer.inspect(token)).toMatchObject({ state: 'unusable', reason: expect.stringContaining('not allowed on this hub') });
  });

  test.each<[string, Partial<TokenRequest>]>([
    ['no permissions', { permissions: [] }],
    ['a malformed permission', { permissions: ['device:*:x'] }],
    ['65 permissions', { permissions: Array.from({ length: 65 }, (_, index) => `a:b:${index}`) }],
    ['more than 2 KiB', { permissions: Array.from({ length: 20 }, (_, index) => `a:b:${index}${'x'.repeat(200)}`) }],
    ['an upper-case name', { agentId: 'Agent' }],
    ['a name with a slash', { agentId: 'a/b' }],
    ['an empty name', { agentId: '' }],
    ['59 seconds', { ttlMs: 59_000 }],
    ['more than 400 days', { ttlMs: 400 * DAY_MS + 1000 }],
    ['no number of seconds', { ttlMs: Number.NaN }],
    ['a fraction of a hop', { maxHops: 0.5 }],
    ['a hop less than none', { maxHops: -1 }],
    ['no calls', { rateLimit: { calls: 0, seconds: 60 } }],
    ['33 hubs', { allowedNodes: Array.from({ length: 33 }, (_, index) => `hub-${index}`) }],
    ['what is no id of a hub', { allowedNodes: ['hub a'] }],
    ['a short key', { key: 'AAAA' }],
    ['a key of small order', { key: Buffer.alloc(32).toString('base64url') }],
  ])('with %s are refused and leave nothing behind', async (_, changes) => {
    const { issuer, heard } = await tokenServices();
    expect(refusalOf(() => issuer.issue(request(changes), OWNER))?.code).toBe('VALIDATION_ERROR');
    expect([issuer.list(), heard]).toEqual([[], []]);
  });
});

describe('children', () => {
  test('have a part of what their parent has, never longer', async () => {
    const { issuer, verifier } = await tokenServices();
    const parent = issuer.issue(request({ rateLimit: { calls: 5, seconds: 60 }, maxHops: 2 }), OWNER);
    const child = issuer.issue(request({ agentId: 'helper', permissions: ['device:read:lamp-1'], ttlMs: DAY_MS }), parent.principal);
    expect(verifier.verify(child.token).principal).toMatchObject({
      id: 'light-agent/helper',
      permissions: ['device:read:lamp-1'],
      token: {
        chain: [parent.principal.token?.id, child.principal.token?.id],
        maxHops: 2,
        expiresAtMs: parent.principal.token?.expiresAtMs,
      },
    });
    expect(child.principal.token?.rateLimits.map(({ calls }) => calls)).toEqual([5, 5]);
  });

  test.each<[string, Partial<TokenRequest>, Partial<TokenRequest>]>([
    ['a permission that the parent has not', {}, { permissions: ['device:control:lock-1'] }],
    ['a wider permission', {}, { permissions: ['device:control:*'] }],
    ['everything, even where the parent has it', { permissions: ['*', 'admin:*'] }, { permissions: ['*'] }],
    ['all of administration, even where the parent has it', { permissions: ['*', 'admin:*'] }, { permissions: ['admin:*'] }],
    ['more hops', { maxHops: 1 }, { maxHops: 2 }],
    ['another hub', { allowedNodes: [] }, { allowedNodes: ['hub-a'] }],
    ['a higher rate', { rateLimit: { calls: 5, seconds: 60 } }, { rateLimit: { calls: 6, seconds: 60 } }],
  ])('with %s are refused', async (_, ofParent, ofChild) => {
    const { issuer, hub } = await tokenServices();
    const nodes = ofParent.allowedNodes ? { allowedNodes: [hub.hubId] } : {};
    const { principal } = issuer.issue(request({ ...ofParent, ...nodes }), OWNER);
    expect(refusalOf(() => issuer.issue(request({ agentId: 'helper', ...ofChild }), principal))?.code).toBe('PERMISSION_DENIED');
    expect(issuer.list()).toHaveLength(1);
  });

  test('one right of administration can be passed on by who has it', async () => {
    const { issuer } = await tokenServices();
    const { principal } = issuer.issue(request({ permissions: ['admin:*'] }), OWNER);
    const child = issuer.issue(request({ agentId: 'helper', permissions: ['admin:token'] }), principal);
    expect(child.principal.permissions).toEqual(['admin:token']);
  });

  test('of a token with a key of its own are signed by its holder, not by the hub', async () => {
    const { issuer } = await tokenServices();
    const { principal } = issuer.issue(request({ key: keyPair().publicKey }), OWNER);
    expect(refusalOf(() => issuer.issue(request({ agentId: 'helper' }), principal))?.code).toBe('PERMISSION_DENIED');
  });

  test('stop at the fourth link', async () => {
    const { issuer } = await tokenServices();
    let { principal } = issuer.issue(request(), OWNER);
    for (const agentId of ['a', 'b', 'c']) principal = issuer.issue(request({ agentId }), principal).principal;
    expect(principal.id).toBe('light-agent/a/b/c');
    expect(refusalOf(() => issuer.issue(request({ agentId: 'd' }), principal))?.code).toBe('PERMISSION_DENIED');
  });

  test('of an expired or revoked token, or of nobody, are refused', async () => {
    const { issuer, clock } = await tokenServices();
    const { principal } = issuer.issue(request(), OWNER);
    const revoked = issuer.issue(request(), OWNER).principal;
    issuer.revoke(revoked.token?.id ?? '');
    expect(refusalOf(() => issuer.issue(request(), revoked))?.code).toBe('TOKEN_INVALID');
    clock.advance(HOUR_MS + 60_000);
    expect(refusalOf(() => issuer.issue(request(), principal))?.code).toBe('TOKEN_EXPIRED');
    expect(refusalOf(() => issuer.issue(request(), { id: 'a', kind: 'agent', permissions: ['*'] }))?.code).toBe('PERMISSION_DENIED');
  });

  test('cannot be had with permissions that were written into a principal by hand', async () => {
    const { issuer } = await tokenServices();
    const { principal } = issuer.issue(request(), OWNER);
    const forged = { ...principal, permissions: ['device:control:*'] };
    expect(refusalOf(() => issuer.issue(request({ permissions: ['device:control:lock-1'] }), forged))?.code).toBe('PERMISSION_DENIED');
  });
});

describe('what the hub remembers of its tokens', () => {
  test('is everything but the text, over a restart', async () => {
    const first = await tokenServices();
    const { token, principal } = first.issuer.issue(request({ role: 'light' }), OWNER);
    first.issuer.issue(request({ agentId: 'helper' }), principal);
    const { issuer } = await tokenServices(first);
    const tokenId = principal.token?.id;
    expect(issuer.list()).toHaveLength(2);
    expect(issuer.list().find(({ id }) => id === tokenId)).toEqual({
      id: tokenId,
      agentId: 'light-agent',
      permissions: ['device:control:lamp-1', 'device:read:*'],
      issuedAtMs: first.clock.now(),
      expiresAtMs: first.clock.now() + HOUR_MS,
      issuedBy: 'owner:owner',
      role: 'light',
    });
    expect(issuer.list().find(({ agentId }) => agentId === 'light-agent/helper')).toMatchObject({
      parent: tokenId,
      issuedBy: 'agent:light-agent',
    });
    expect(issuer.find(tokenId ?? '')).toMatchObject({ id: tokenId, role: 'light' });
    expect(issuer.find('00'.repeat(16))).toBeUndefined();
    const written = JSON.stringify([first.store.entries('access.tokens'), first.heard]);
    expect(written).not.toContain(token.slice(4));
    expect(written).not.toContain('at1.');
  });

  test('a revoked token stays revoked after a restart, and so do its children', async () => {
    const first = await tokenServices();
    const parent = first.issuer.issue(request(), OWNER);
    const child = first.issuer.issue(request({ agentId: 'helper' }), parent.principal);
    expect(first.issuer.revoke(parent.principal.token?.id ?? '')).toBe(true);
    expect(first.issuer.revoke(parent.principal.token?.id ?? '')).toBe(false);
    const { issuer } = await tokenServices(first);
    expect([parent, child].map(({ token }) => refusalOf(() => issuer.principalOf(token))?.code)).toEqual([
      'TOKEN_INVALID',
      'TOKEN_INVALID',
    ]);
    expect(issuer.inspect(child.token)).toMatchObject({ state: 'revoked', principal: { id: 'light-agent/helper' } });
    expect(issuer.list().find(({ id }) => id === parent.principal.token?.id)?.revokedAtMs).toBe(first.clock.now());
  });

  test('a token whose revocation the disk refused is listed as revoked as soon as that is written, with one event', async () => {
    const first = await tokenServices();
    const { store, issuer, heard, clock } = first;
    const id = issuer.issue(request(), OWNER).principal.token?.id ?? '';
    const set = store.set.bind(store);
    store.set = () => {
      throw new AtmoError('STORAGE_FAILED', 'disk full');
    };
    for (let time = 0; time < 2; time++) expect(refusalOf(() => issuer.revoke(id))?.code).toBe('STORAGE_FAILED');
    // Whoever ends all tokens of a person must still find this one, since a restart would forget its revocation.
    expect(issuer.find(id)?.revokedAtMs).toBeUndefined();
    store.set = set;
    clock.advance(30_000);
    expect(issuer.list()[0]?.revokedAtMs).toBe(clock.now());
    expect(heard.filter(({ type }) => type === 'token.revoked')).toHaveLength(1);
    const { records } = await tokenServices(first);
    expect(records.get(id)?.revokedAtMs).toBe(clock.now());
  });

  test('a token whose record a crash did not reach after its revocation is listed as revoked', async () => {
    const first = await tokenServices();
    const { store, issuer, clock } = first;
    const id = issuer.issue(request(), OWNER).principal.token?.id ?? '';
    const set = store.set.bind(store);
    store.set = (space, ...rest) => {
      if (space === 'access.tokens') throw new AtmoError('STORAGE_FAILED', 'the power failed');
      set(space, ...rest);
    };
    expect(refusalOf(() => issuer.revoke(id))?.code).toBe('STORAGE_FAILED');
    expect(store.entries('access.revocations')).toHaveLength(1);
    // The disk refuses the record once more at the start; the hub tries again.
    const after = await tokenServices(first);
    expect(after.records.get(id)?.revokedAtMs).toBeUndefined();
    store.set = set;
    clock.advance(30_000);
    expect(after.records.get(id)?.revokedAtMs).toBe(clock.now());
  });

  test('a look at records writes nothing, whatever was revoked', async () => {
    const first = await tokenServices();
    const ids = [1, 2].map(() => first.issuer.issue(request(), OWNER).principal.token?.id ?? '');
    for (const id of ids) first.revocations.revoke(id, first.clock.now() + HOUR_MS);
    const { issuer, store, clock } = await tokenServices(first);
    let writes = 0;
    const set = store.set.bind(store);
    store.set = (...given) => {
      writes += 1;
      set(...given);
    };
    expect([issuer.list(), ids.map((id) => issuer.find(id))].flat().map((record) => record?.revokedAtMs)).toEqual(
      new Array(4).fill(clock.now()),
    );
    expect(writes).toBe(0);
  });

  test('a token that this hub did not make can be revoked by its id', async () => {
    const { issuer, heard } = await tokenServices();
    const told: string[] = [];
    issuer.onRevoked((id) => told.push(id));
    expect(issuer.revoke('ab'.repeat(16))).toBe(true);
    expect(told).toEqual(['ab'.repeat(16)]);
    expect(heard.map(({ type, subject }) => [type, subject])).toEqual([['token.revoked', 'ab'.repeat(16)]]);
  });

  test('each token that is made is told as an event', async () => {
    const { issuer, heard } = await tokenServices();
    const { principal } = issuer.issue(request(), OWNER);
    expect(heard).toMatchObject([
      { type: 'token.issued', subject: principal.token?.id, data: { agent_id: 'light-agent', issued_by: 'owner' } },
    ]);
  });

  test('records of the key that the hub had before are not shown as if their tokens lived', async () => {
    const { issuer, store } = await tokenServices();
    issuer.issue(request(), OWNER);
    expect((await tokenServices({ store })).issuer.list()).toEqual([]);
  });

  test('records of ended tokens go after a month', async () => {
    const { issuer, clock } = await tokenServices();
    issuer.issue(request(), OWNER);
    clock.advance(30 * DAY_MS);
    expect(issuer.list()).toHaveLength(1);
    clock.advance(2 * HOUR_MS);
    expect(issuer.list()).toEqual([]);
  });

  test('of the tokens that an agent made, the ended ones fill no disk', async () => {
    const { issuer, clock, revocations } = await tokenServices();
    const parent = issuer.issue(request({ agentId: 'busy' }), OWNER).principal;
    const other = issuer.issue(request({ agentId: 'busybody' }), OWNER).principal;
    issuer.issue(request({ agentId: 'kept' }), other);
    const first = issuer.issue(request({ agentId: 'first' }), parent).principal.token?.id ?? '';
    for (let index = 0; index < 300; index++) {
      clock.advance(1_000);
      issuer.revoke(issuer.issue(request({ agentId: 'short' }), parent).principal.token?.id ?? '');
    }
    const agents = Map.groupBy(issuer.list(), ({ agentId }) => agentId);
    expect(agents.get('busy/short')).toHaveLength(255);
    expect([...agents.keys()].sort()).toEqual(['busy', 'busy/first', 'busy/short', 'busybody', 'busybody/kept']);
    expect(issuer.find(first)).toBeDefined();
    expect(revocations.statements()).toHaveLength(300);
  });

  test('what an inspection tells of a token that has expired', async () => {
    const { issuer, clock, hub } = await tokenServices();
    const { token } = issuer.issue(request(), OWNER);
    clock.advance(2 * HOUR_MS);
    expect(issuer.inspect(token)).toMatchObject({ state: 'expired', issuer: hub.hubId, reason: expect.stringContaining('expired') });
    expect(refusalOf(() => issuer.inspect('at1.AAAA'))?.code).toBe('TOKEN_INVALID');
  });
});
