import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { challengeStatement } from '../../../src/core/auth/principal.ts';
import { ask, makeHttpApi, PORT, TOKEN } from '../../http/http-fixture.ts';
import { atmo, fetchFrom, withDirectory } from '../cli-fixture.ts';

const CHALLENGE = 'c'.repeat(43);
const hubKey = generateKeyPairSync('ed25519').privateKey;

/** A hub that proves itself with this key, from a state directory in which `hubKey` lies. */
async function runAgainst(key: KeyObject | undefined, argv: readonly string[], env: Record<string, string> = {}) {
  const signChallenge = key && ((statement: Uint8Array) => sign(null, statement, key));
  const { httpApi } = makeHttpApi(signChallenge && { signChallenge });
  return withDirectory(async (dir) => {
    writeFileSync(`${dir}/owner.token`, `${TOKEN}\n`, { mode: 0o600 });
    writeFileSync(`${dir}/hub.key`, hubKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const sent: [string, string | null][] = [];
    const fetch = (url: string, init: RequestInit) => {
      sent.push([new URL(url).pathname, new Headers(init.headers).get('authorization')]);
      return fetchFrom(httpApi)(url, init);
    };
    const { code, err } = await atmo(argv, { fetch, env: { ATMO_STATE_DIR: dir, ...env } });
    return { code, err, sent };
  });
}

describe("the owner's token", () => {
  test('is sent to a hub that proves its identity, once for a command', async () => {
    const { code, sent } = await runAgainst(hubKey, ['status']);
    expect(code).toBe(0);
    expect(sent.filter(([path]) => path === '/healthz')).toEqual(Array(2).fill(['/healthz', null]));
    expect(sent.filter(([path]) => path !== '/healthz').map(([, token]) => token)).toEqual(Array(4).fill(`Bearer ${TOKEN}`));
  });

  test.each([
    ['without a key', undefined],
    ['with another key', generateKeyPairSync('ed25519').privateKey],
  ])('never goes to what listens there %s', async (_case, key) => {
    const { code, err, sent } = await runAgainst(key, ['devices']);
    expect([code, sent]).toEqual([5, [['/healthz', null]]]);
    expect(err).toMatch(/is not the hub whose key is .*hub\.key; the token was not sent/);
    expect(err).not.toContain(TOKEN);
  });

  test.each([
    ["the owner's token", ['devices'], { ATMO_TOKEN: `at0.${'x'.repeat(43)}` }],
    ['the token of an agent', ['devices'], { ATMO_TOKEN: TOKEN }],
    ['a PIN without a token', ['call', 'front_door_unlock', 'pin=1234'], {}],
    ['the token of an agent on stdio', ['mcp'], { ATMO_TOKEN: TOKEN }],
    ['no token', ['status'], {}],
  ])('never crosses a network without TLS: %s', async (_what, argv, env) => {
    const { code, err, sent } = await runAgainst(hubKey, argv, { ...env, ATMO_URL: 'http://192.168.1.9:8081' });
    expect([code, sent]).toEqual([2, []]);
    expect(err).toMatch(/Nothing is sent to http:\/\/192\.168\.1\.9:8081 in clear/);
  });

  test('a token of the environment is sent without a proof', async () => {
    const { code, sent } = await runAgainst(undefined, ['devices'], { ATMO_TOKEN: TOKEN });
    expect([code, sent]).toEqual([0, [['/api/v1/devices', `Bearer ${TOKEN}`]]]);
  });
});

describe('the token of a login', () => {
  const url = `http://127.0.0.1:${PORT}`;
  const login = { url, person: 'ann', token: TOKEN, hub_key: createPublicKey(hubKey).export({ format: 'jwk' }).x };

  async function asAnn(key: KeyObject, { file = login as object, mode = 0o600 } = {}) {
    return withDirectory(async (home) => {
      mkdirSync(`${home}/.config/atmosphere-edge`, { recursive: true });
      writeFileSync(`${home}/.config/atmosphere-edge/login.json`, JSON.stringify(file));
      chmodSync(`${home}/.config/atmosphere-edge/login.json`, mode);
      return runAgainst(key, ['devices'], { HOME: home, ATMO_URL: url });
    });
  }

  test('is sent to the hub that made it', async () => {
    expect(await asAnn(hubKey)).toMatchObject({
      code: 0,
      sent: [
        ['/healthz', null],
        ['/api/v1/devices', `Bearer ${TOKEN}`],
      ],
    });
  });

  test('is never sent to a process that took the port of that hub', async () => {
    const { code, err, sent } = await asAnn(generateKeyPairSync('ed25519').privateKey);
    expect([code, sent]).toEqual([5, [['/healthz', null]]]);
    expect(err).toMatch(/is not the hub whose key is .*login\.json; the token was not sent/);
  });

  test('is not sent when the file holds no key of a hub, or other users can read it', async () => {
    expect(await asAnn(hubKey, { file: { ...login, hub_key: 'short' } })).toMatchObject({
      code: 4,
      sent: [],
      err: expect.stringContaining('sudo atmo login'),
    });
    expect(await asAnn(hubKey, { mode: 0o644 })).toMatchObject({ code: 4, sent: [], err: expect.stringContaining('chmod 600') });
  });
});

describe('the challenge', () => {
  test('is signed together with the port, so that a listener at another port cannot forward it', async () => {
    const signed: string[] = [];
    const signChallenge = (statement: Uint8Array) => {
      signed.push(Buffer.from(statement).toString());
      return sign(null, statement, hubKey);
    };
    const { httpApi } = makeHttpApi({ signChallenge });
    const { json } = await ask(httpApi, `/healthz?challenge=${CHALLENGE}`, { token: null });
    expect(json.proof).toBe(sign(null, challengeStatement(PORT, CHALLENGE), hubKey).toString('base64url'));
    expect(signed).toEqual([`atmosphere-edge hub challenge v1\n${PORT}\n${CHALLENGE}`]);
    expect((await ask(httpApi, '/healthz')).json).not.toHaveProperty('proof');
  });

  test.each(['', 'short', `${CHALLENGE}x`, `${CHALLENGE.slice(1)}%0A`])('has one form alone, not %s', async (challenge) => {
    const { httpApi } = makeHttpApi({ signChallenge: () => new Uint8Array(64) });
    expect((await ask(httpApi, `/healthz?challenge=${challenge}`)).status).toBe(400);
  });
});

test('a hub that takes the connection and stays silent does not keep "atmo status" waiting', async () => {
  const limit = new AbortController();
  using timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal);
  const fetch = (_url: string, { signal }: RequestInit) => {
    const { promise, reject } = Promise.withResolvers<Response>();
    signal?.addEventListener('abort', () => reject(signal.reason));
    limit.abort(new DOMException('The operation timed out', 'TimeoutError'));
    return promise;
  };
  const { code, err } = await atmo(['status'], { fetch, env: {} });
  expect([code, timeout.mock.calls]).toEqual([5, [[30_000]]]);
  expect(err).toContain('sent no answer in time');
});
