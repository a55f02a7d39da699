import { describe, expect, test } from 'vitest';
import { signChild, tokenBytes, tokenText } from '../../../src/auth/tokens/token-chain.ts';
import { TokenVerifier } from '../../../src/auth/tokens/token-verifier.ts';
import { keyPair, refusalOf, tokenServices } from './token-fixture.ts';

describe('when a token may be used', () => {
  test.each([
    [-61, 'TOKEN_INVALID'],
    [-60, undefined],
    [0, undefined],
    [3659, undefined],
    [3660, 'TOKEN_EXPIRED'],
    [1_000_000, 'TOKEN_EXPIRED'],
  ])('%i s after it was made for an hour: %s', async (seconds, code) => {
    const { clock, verifier, rootToken, nowSeconds } = await tokenServices();
    const made = nowSeconds();
    const token = rootToken({ issuedAt: made, expiresAt: made + 3600 });
    const later = new TokenVerifier(
      {
        issuers: { get: () => verifier.verify(token).issuerKey, permissionsOf: () => undefined },
        revocations: { firstRevoked: () => undefined },
        time: { now: () => clock.now() + seconds * 1000, isTrusted: () => true },
        onIssuedAt: () => {},
      },
      { hubId: 'hub-x', meshId: () => undefined },
    );
    expect(refusalOf(() => later.verify(token))?.code).toBe(code);
  });

  test.each([
    [61, 'TOKEN_INVALID'],
    [60, undefined],
    [-3600, undefined],
  ])('a beginning %i s from now: %s', async (seconds, code) => {
    const { verifier, rootToken, nowSeconds } = await tokenServices();
    expect(refusalOf(() => verifier.verify(rootToken({ notBefore: nowSeconds() + seconds })))?.code).toBe(code);
  });

  test('one whose maker lived in the future is refused, whatever its beginning', async () => {
    const { verifier, rootToken, nowSeconds } = await tokenServices();
    const token = rootToken({ issuedAt: nowSeconds() + 120, notBefore: 0 });
    expect(refusalOf(() => verifier.verify(token))).toMatchObject({
      code: 'TOKEN_INVALID',
      message: expect.stringContaining('not valid before'),
    });
  });

  test('a token that was good expires where it is remembered', async () => {
    const { clock, verifier, rootToken } = await tokenServices();
    const token = rootToken();
    const { principal } = verifier.verify(token);
    expect(verifier.isStillValid(principal)).toBe(true);
    clock.advance(3_660_000);
    expect(refusalOf(() => verifier.verify(token))?.code).toBe('TOKEN_EXPIRED');
    expect(verifier.isStillValid(principal)).toBe(false);
  });

  test('who has no token is always valid', async () => {
    const { verifier } = await tokenServices();
    expect(verifier.isStillValid({ id: 'owner', kind: 'owner', permissions: ['*'] })).toBe(true);
  });
});

describe('where a token may be used', () => {
  test('on every hub that it names, and on no other', async () => {
    const { hub, verifier, rootToken } = await tokenServices();
    expect(refusalOf(() => verifier.verify(rootToken({ audience: ['hub-a', hub.hubId] })))).toBeUndefined();
    for (const audience of [['hub-a'], [], [hub.hubId.toUpperCase()], [`${hub.hubId}0`]]) {
      expect(refusalOf(() => verifier.verify(rootToken({ audience })))).toMatchObject({
        code: 'TOKEN_INVALID',
        message: expect.stringContaining(hub.hubId),
      });
    }
  });

  test('in its own mesh, and in no other', async () => {
    const alone = await tokenServices();
    const member = await tokenServices({ meshId: 'mesh-a' });
    expect(refusalOf(() => member.verifier.verify(member.rootToken({ meshId: 'mesh-a' })))).toBeUndefined();
    expect(refusalOf(() => member.verifier.verify(member.rootToken({ meshId: 'mesh-b' })))?.message).toContain('another mesh');
    expect(refusalOf(() => alone.verifier.verify(alone.rootToken({ meshId: 'mesh-a' })))?.message).toContain('another mesh');
  });

  test('a hub that is trusted no more takes its tokens with it, also remembered ones', async () => {
    const { issuers, hub, verifier, rootToken } = await tokenServices();
    const token = rootToken();
    verifier.verify(token);
    issuers.set(hub.hubId, keyPair().publicKey);
    expect(refusalOf(() => verifier.verify(token))?.code).toBe('TOKEN_INVALID');
    issuers.delete(hub.hubId);
    expect(refusalOf(() => verifier.verify(token))?.message).toContain('not trusted');
  });
});

describe('revocation', () => {
  test('ends a remembered token at once', async () => {
    const { verifier, revocations, rootToken, clock } = await tokenServices();
    const token = rootToken();
    const { principal } = verifier.verify(token);
    revocations.revoke(principal.token.id, clock.now() + 3_600_000);
    expect(refusalOf(() => verifier.verify(token))).toMatchObject({ code: 'TOKEN_INVALID', message: expect.stringContaining('revoked') });
    expect(verifier.isStillValid(principal)).toBe(false);
  });

  test('of a parent ends its children, of a child leaves the parent', async () => {
    const { hub, verifier, revocations, rootToken, rootClaims, clock } = await tokenServices();
    const parent = rootToken();
    const child = (name: string) =>
      tokenText(signChild(tokenBytes(parent), rootClaims({ issuer: 'light-agent', subject: `light-agent/${name}` }), hub.privateKey));
    const [first, second] = [child('a'), child('b')];
    revocations.revoke(verifier.verify(first).principal.token.id, clock.now() + 3_600_000);
    expect([first, second, parent].map((token) => refusalOf(() => verifier.verify(token))?.code)).toEqual([
      'TOKEN_INVALID',
      undefined,
      undefined,
    ]);
    revocations.revoke(verifier.verify(parent).principal.token.id, clock.now() + 3_600_000);
    expect([first, second, parent].map((token) => refusalOf(() => verifier.verify(token))?.code)).toEqual(Array(3).fill('TOKEN_INVALID'));
  });
});

describe('memory', () => {
  test('holds the tokens that were used last, and no more than it may', async () => {
    const { issuers, revocations, time, rootToken } = await tokenServices();
    const verifier = new TokenVerifier(
      { issuers, revocations, time, onIssuedAt: () => {} },
      { hubId: 'hub-x', meshId: () => undefined, maxCached: 2 },
    );
    const [a, b, c] = [rootToken(), rootToken(), rootToken()];
    const last = new Map<string, unknown>();
    const isRemembered = [a, b, a, c, a, b].map((token) => {
      const before = last.get(token);
      last.set(token, verifier.verify(token));
      return last.get(token) === before;
    });
    expect(isRemembered).toEqual([false, false, true, false, true, false]);
  });

  test('gives the same principal for the same text', async () => {
    const { verifier, rootToken } = await tokenServices();
    const token = rootToken();
    expect(verifier.verify(token).principal).toBe(verifier.verify(token).principal);
  });
});
