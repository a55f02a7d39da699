import { describe, expect, test } from 'vitest';
import { GrantAuthorizer } from '../../../src/auth/grant-authorizer.ts';
import { type HubMembership, MeshTokens } from '../../../src/auth/tokens/mesh-tokens.ts';
import { originOf, signChild, signRoot, tokenBytes, tokenText, trustedIssuers } from '../../../src/auth/tokens/token-chain.ts';
import { TokenVerifier } from '../../../src/auth/tokens/token-verifier.ts';
import { NO_GROUPS } from '../../../src/core/auth/permission.ts';
import { foreignAgentId, type Principal, type TrustedHub } from '../../../src/core/auth/principal.ts';
import { NO_REMOTE_GROUPS } from '../../no-device-facts.ts';
import { keyPair, refusalOf, tokenServices } from './token-fixture.ts';

const MESH = 'mesh-1';
const owner: Principal = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] };

/** Two hubs of one mesh: what `away` makes is judged `here`. */
async function makePair({
  permissions = ['*'],
  meshId = MESH,
}: {
  readonly permissions?: readonly string[];
  readonly meshId?: string;
} = {}) {
  const away = await tokenServices({ meshId: MESH });
  const here = await tokenServices({ clock: away.clock, meshId });
  const members = new Map<string, TrustedHub>([[away.hub.hubId, { key: away.hub.publicKey, permissions }]]);
  const mesh = { meshId: () => meshId, hub: (id: string) => members.get(id) };
  const issuers = trustedIssuers({ hub: here.hub, mesh });
  const { revocations, time } = here;
  const verifier = new TokenVerifier({ issuers, revocations, time, onIssuedAt: () => {} }, { hubId: here.hub.hubId, meshId: mesh.meshId });
  const standing: HubMembership = { meshId: () => MESH, hub: () => undefined, own: () => ({ permissions }) };
  const shown = new MeshTokens({ hub: away.hub, mesh: standing, time: away.time });
  return { away, here, members, verifier, shown, issuers };
}

describe('an agent of another hub', () => {
  test('has a name that says whose it is, and so have its children', async () => {
    const { away, verifier } = await makePair();
    const root = away.rootToken({ meshId: MESH });
    const child = away.rootClaims({ meshId: MESH, issuer: 'light-agent', subject: 'light-agent/helper' });
    const idOf = (token: string) => verifier.verify(token).principal.id;
    expect(idOf(root)).toBe(`light-agent@${away.hub.hubId}`);
    expect(idOf(tokenText(signChild(tokenBytes(root), child, away.hub.privateKey)))).toBe(`light-agent@${away.hub.hubId}/helper`);
    expect(originOf({ ...owner, kind: 'agent', id: idOf(root) })).toBe(away.hub.hubId);
  });

  test('is another than the agent of that name of this hub, which keeps its own', async () => {
    const { here, verifier } = await makePair();
    const { principal } = verifier.verify(here.rootToken({ meshId: MESH }));
    expect(principal.id).toBe('light-agent');
    expect(originOf(principal)).toBeUndefined();
    expect(foreignAgentId('a/b', 'hub-x')).toBe('a@hub-x/b');
  });

  test.each([
    [['device:*'], ['device:control:lamp'], ['device:control:lamp']],
    [['device:*'], ['device:read', 'sensor:read:*', 'admin:hub'], ['device:read']],
    [['device:control:*'], ['device:*', 'device:control:lamp'], ['device:control:*', 'device:control:lamp']],
    [['sensor:*', 'notify:send'], ['*'], ['sensor:*', 'notify:send']],
    [['*'], ['*', 'admin:*'], ['*']],
    [
      ['*', 'admin:approvals'],
      ['*', 'admin:*'],
      ['*', 'admin:approvals'],
    ],
    [
      ['*', 'admin:*'],
      ['*', 'admin:*'],
      ['*', 'admin:*'],
    ],
    [['device:control:@type/light'], ['device:control:lamp', 'device:control:*'], ['device:control:@type/light']],
  ])('holds no more than the mesh lets its hub give: of %j at most, %j is %j', async (ceiling, permissions, held) => {
    const { away, verifier } = await makePair({ permissions: ceiling });
    const { principal } = verifier.verify(away.rootToken({ permissions, meshId: MESH }));
    expect(principal.permissions).toEqual(held);
    expect(verifier.isStillValid(principal)).toBe(true);
  });

  test('may do nothing of what its token says beyond that', async () => {
    const { away, verifier } = await makePair();
    const { principal } = verifier.verify(away.rootToken({ permissions: ['device:control:lamp', 'admin:hub'], meshId: MESH }));
    const authorizer = new GrantAuthorizer({ groups: NO_GROUPS, elsewhere: NO_REMOTE_GROUPS, validity: verifier });
    expect(authorizer.authorize(principal, ['device:control:lamp']).allowed).toBe(true);
    expect(authorizer.authorize(principal, ['admin:hub']).allowed).toBe(false);
    expect(authorizer.canSee(principal, 'admin:hub')).toBe(false);
  });

  test.each([[['sensor:read:*']], [['admin:hub']], [['admin:*', 'sensor:*']]])(
    'is refused where nothing is left of %j',
    async (permissions) => {
      const { away, verifier } = await makePair({ permissions: ['device:*'] });
      const refusal = refusalOf(() => verifier.verify(away.rootToken({ permissions, meshId: MESH })));
      expect(refusal).toMatchObject({ code: 'TOKEN_INVALID', message: expect.stringContaining(permissions[0] ?? '') });
    },
  );

  test('makes no token here that has what it does not have here', async () => {
    const { away, here, verifier } = await makePair({ permissions: ['device:*'] });
    here.issuers.set(away.hub.hubId, away.hub.publicKey);
    const bound = away.rootToken({ permissions: ['device:*', 'admin:hub'], key: here.hub.publicKey, meshId: MESH });
    const { principal } = verifier.verify(bound);
    const mint = (permission: string) => here.issuer.issue({ agentId: 'helper', permissions: [permission], ttlMs: 60_000 }, principal);
    expect(refusalOf(() => mint('admin:hub'))).toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(mint('device:control:lamp').principal.permissions).toEqual(['device:control:lamp']);
  });

  test('has more or less as soon as its hub may give more or less', async () => {
    const { away, verifier, members } = await makePair({ permissions: ['device:*'] });
    const token = away.rootToken({ permissions: ['device:*', 'sensor:*', 'admin:hub'], meshId: MESH });
    const { principal } = verifier.verify(token);
    expect(verifier.verify(token).principal).toBe(principal);
    members.set(away.hub.hubId, { key: away.hub.publicKey, permissions: ['sensor:*'] });
    expect(verifier.isStillValid(principal)).toBe(false);
    expect(verifier.verify(token).principal.permissions).toEqual(['sensor:*']);
    members.set(away.hub.hubId, { key: away.hub.publicKey, permissions: ['*', 'admin:*'] });
    expect(verifier.verify(token).principal.permissions).toEqual(['device:*', 'sensor:*', 'admin:hub']);
  });

  test('ends with the trust in its hub, also where its token is remembered', async () => {
    const { away, verifier, members } = await makePair();
    const token = away.rootToken({ meshId: MESH });
    const { principal } = verifier.verify(token);
    expect(verifier.isStillValid(principal)).toBe(true);
    members.set(away.hub.hubId, { key: away.hub.publicKey, permissions: ['sensor:*'] });
    expect(verifier.isStillValid(principal)).toBe(false);
    members.clear();
    expect(verifier.isStillValid(principal)).toBe(false);
    expect(refusalOf(() => verifier.verify(token))?.message).toContain('not trusted');
  });

  test('of another mesh is refused', async () => {
    const { away, verifier } = await makePair({ meshId: 'mesh-2' });
    expect(refusalOf(() => verifier.verify(away.rootToken({ meshId: MESH })))?.message).toContain('another mesh');
  });

  test('can be ended by its hub', async () => {
    const { away, here, verifier } = await makePair();
    const { principal } = verifier.verify(away.rootToken({ meshId: MESH }));
    here.issuers.set(away.hub.hubId, away.hub.publicKey);
    away.revocations.revoke(principal.token.id, away.clock.now() + 3_600_000);
    for (const statement of away.revocations.statements()) here.revocations.merge(statement);
    expect(verifier.isStillValid(principal)).toBe(false);
  });
});

describe('the token that a hub shows to another', () => {
  test('for its owner makes an agent of it that holds what the mesh lets the hub give, on that hub alone', async () => {
    const { away, here, verifier, shown } = await makePair({ permissions: ['*', 'admin:*'] });
    const { principal } = verifier.verify(shown.textFor(owner, here.hub.hubId));
    expect(principal).toMatchObject({ id: `owner@${away.hub.hubId}`, kind: 'agent', permissions: ['*', 'admin:*'] });
    expect(principal.token).toMatchObject({ allowedNodes: [here.hub.hubId], keys: [away.hub.publicKey] });
    expect(refusalOf(() => verifier.verify(shown.textFor(owner, 'hub-3')))?.message).toContain('not allowed on this hub');
  });

  test('for its owner lasts ten minutes, and is a new one when half of them are over or the standing changed', async () => {
    const { away, here, shown } = await makePair();
    const first = shown.textFor(owner, here.hub.hubId);
    away.clock.advance(299_000);
    expect(shown.textFor(owner, here.hub.hubId)).toBe(first);
    away.clock.advance(2_000);
    expect(shown.textFor(owner, here.hub.hubId)).not.toBe(first);
    expect(shown.textFor(owner, 'hub-3')).not.toBe(first);
  });

  test('for its owner outlasts the longest request for approval where the call waits', async () => {
    const { away, here, verifier, shown } = await makePair();
    const waiting = shown.textFor(owner, here.hub.hubId, 'waiting');
    expect(shown.textFor(owner, here.hub.hubId)).not.toBe(waiting);
    const { principal } = verifier.verify(waiting);
    expect((principal.token?.expiresAtMs ?? 0) - away.clock.now()).toBeGreaterThan(86_400_000);
    expect(principal.token).toMatchObject({ allowedNodes: [here.hub.hubId], keys: [away.hub.publicKey] });
  });

  test('for an agent that it can speak for is its own', async () => {
    const { away, shown } = await makePair();
    const { principal } = away.verifier.verify(away.rootToken({ meshId: MESH }));
    expect(shown.textFor(principal, 'hub-3')).toBe(principal.token.text);
  });

  test('for an agent with a key of its own does not exist: it is told to mint a child bound to the hub', async () => {
    const { away, shown } = await makePair();
    const mine = keyPair();
    const root = away.rootToken({ meshId: MESH, key: mine.publicKey });
    const { principal } = away.verifier.verify(root);
    expect(refusalOf(() => shown.textFor(principal, 'hub-3'))).toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('sign a child token'),
    });
    const child = away.rootClaims({ meshId: MESH, issuer: 'light-agent', subject: 'light-agent/mesh', key: away.hub.publicKey });
    const { principal: bound } = away.verifier.verify(tokenText(signChild(tokenBytes(root), child, mine.privateKey)));
    expect(shown.textFor(bound, 'hub-3')).toBe(bound.token.text);
  });

  test('does not exist for a guest, for the hub itself, nor in no mesh', async () => {
    const { away, here, verifier } = await makePair();
    const alone = new MeshTokens({
      hub: here.hub,
      mesh: { meshId: () => undefined, hub: () => undefined, own: () => undefined },
      time: here.time,
    });
    const { principal } = verifier.verify(tokenText(signRoot(away.rootClaims({ meshId: MESH }), away.hub.privateKey)));
    expect(refusalOf(() => alone.textFor(principal, 'hub-3'))?.message).toContain('the key of another hub');
    expect(refusalOf(() => alone.textFor({ id: 'hub', kind: 'hub', permissions: ['*'] }, 'hub-3'))?.code).toBe('PERMISSION_DENIED');
    expect(refusalOf(() => alone.textFor(owner, 'hub-3'))?.code).toBe('CONFLICT');
  });
});
