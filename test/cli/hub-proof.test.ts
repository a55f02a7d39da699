import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { challengeStatement } from '../../src/core/hub-challenge.ts';
import { ask, makeGateway, PORT, TOKEN } from '../gateway/gateway-room.ts';
import { atmo, fetchFrom, withDirectory } from './cli-room.ts';

const CHALLENGE = 'c'.repeat(43);
const hubKey = generateKeyPairSync('ed25519').privateKey;

/** A hub that proves itself with this key, from a state directory in which `hubKey` lies. */
async function runAgainst(key: KeyObject | undefined, argv: readonly string[], env: Record<string, string> = {}) {
  const signChallenge = key && ((statement: Uint8Array) => sign(null, statement, key));
  const { gateway } = makeGateway(signChallenge && { signChallenge });
  return withDirectory(async (dir) => {
    writeFileSync(`${dir}/owner.token`, `${TOKEN}\n`, { mode: 0o600 });
    writeFileSync(`${dir}/hub.key`, hubKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const sent: [string, string | null][] = [];
    const fetch = (url: string, init: RequestInit) => {
      sent.push([new URL(url).pathname, new Headers(init.headers).get('authorization')]);
      return fetchFrom(gateway)(url, init);
    };
    const { code, err } = await atmo(argv, { fetch, env: { ATMO_STATE_DIR: dir, ...env } });
    return { code, err, sent };
  });
}

describe("the owner's token", () => {
  test('goes to the hub that proves itself, which it does once for a command', async () => {
    const { code, sent } = await runAgainst(hubKey, ['status']);
    expect(code).toBe(0);
    expect(sent.filter(([path]) => path === '/healthz')).toEqual(Array(2).fill(['/healthz', null]));
    expect(sent.filter(([path]) => path !== '/healthz').map(([, token]) => token)).toEqual(Array(3).fill(`Bearer ${TOKEN}`));
  });

  test.each([
    ['without a key', undefined],
    ['with another key', generateKeyPairSync('ed25519').privateKey],
  ])('never goes to what listens there %s', async (_case, key) => {
    const { code, err, sent } = await runAgainst(key, ['devices']);
    expect([code, sent]).toEqual([5, [['/healthz', null]]]);
    expect(err).toMatch(/is not the hub whose key is .*hub\.key; the owner's token was not sent/);
    expect(err).not.toContain(TOKEN);
  });

  test('a token of the environment is sent as it is told to', async () => {
    const { code, sent } = await runAgainst(undefined, ['devices'], { ATMO_TOKEN: TOKEN });
    expect([code, sent]).toEqual([0, [['/api/v1/devices', `Bearer ${TOKEN}`]]]);
  });
});

describe('the challenge', () => {
  test('is signed together with the port, so that a listener elsewhere cannot pass it on', async () => {
    const signed: string[] = [];
    const signChallenge = (statement: Uint8Array) => {
      signed.push(Buffer.from(statement).toString());
      return sign(null, statement, hubKey);
    };
    const { gateway } = makeGateway({ signChallenge });
    const { json } = await ask(gateway, `/healthz?challenge=${CHALLENGE}`, { token: null });
    expect(json.proof).toBe(sign(null, challengeStatement(PORT, CHALLENGE), hubKey).toString('base64url'));
    expect(signed).toEqual([`atmosphere-edge hub challenge v1\n${PORT}\n${CHALLENGE}`]);
    expect((await ask(gateway, '/healthz')).json).not.toHaveProperty('proof');
  });

  test.each(['', 'short', `${CHALLENGE}x`, `${CHALLENGE.slice(1)}%0A`])('has one form alone, not %s', async (challenge) => {
    const { gateway } = makeGateway({ signChallenge: () => new Uint8Array(64) });
    expect((await ask(gateway, `/healthz?challenge=${challenge}`)).status).toBe(400);
  });
});
