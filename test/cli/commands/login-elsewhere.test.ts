import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findCredential, hubUrl } from '../../../src/cli/identity/credential.ts';
import { atmo, withDirectory } from '../cli-fixture.ts';

const URL_THERE = 'https://hub.local:8081';

/** A hub that knows one token, and the paths that it was asked for with it. */
function makeHub(facts: object = { state: 'valid', agent_id: 'ann', expires_at: '2027-01-01T00:00:00.000Z' }) {
  const asked: string[] = [];
  const fetch = async (url: string, init?: RequestInit) => {
    asked.push(`${new Headers(init?.headers).get('authorization')} ${new URL(url).pathname}`);
    return Response.json({ status: 'success', result: facts });
  };
  return { asked, fetch };
}

test('a token is stored for the hub of another machine, and later commands need no setting', () =>
  withDirectory(async (dir) => {
    const { asked, fetch } = makeHub();
    writeFileSync(join(dir, 'ann.token'), 'at1.ann\n');
    const there = { HOME: dir, ATMO_URL: URL_THERE };
    const { code, out } = await atmo(['login', '--token', `@${join(dir, 'ann.token')}`], { env: there, fetch });
    expect([code, asked]).toEqual([0, ['Bearer at1.ann /api/v1/tools/hub%3Ashow_token/invoke']]);
    expect(out).toContain(`ann is logged in at ${URL_THERE} until 2027-01-01`);
    expect(out).toContain('sudo atmo approver enroll ann');
    const file = join(dir, '.config/atmosphere-edge/login.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const env of [there, { HOME: dir }]) {
      expect(hubUrl(env)).toBe(URL_THERE);
      expect(findCredential(env)).toEqual({ token: 'at1.ann', source: 'login', login: { file } });
    }
    expect(findCredential({ HOME: dir, ATMO_URL: 'https://other.local:8081' })).toBeUndefined();
    expect(hubUrl({ HOME: dir, ATMO_HTTP_PORT: '9000' })).toBe('http://127.0.0.1:9000');
  }));

test.each([
  ['in clear to another machine', { ATMO_URL: 'http://hub.local:8081' }, 'at1.ann', 'https://'],
  ["with the owner's token", { ATMO_URL: URL_THERE }, 'at0.owner', "owner's token stays on the hub"],
])('nobody logs in %s', (_what, env, token, message) =>
  withDirectory(async (dir) => {
    const { asked, fetch } = makeHub();
    const { code, err } = await atmo(['login', '--token', token], { env: { HOME: dir, ...env }, fetch });
    expect([code, err, asked]).toEqual([2, expect.stringContaining(message), []]);
  }),
);

test('a token that the hub rejects is not stored', () =>
  withDirectory(async (dir) => {
    const { fetch } = makeHub({ state: 'revoked', agent_id: 'ann' });
    const env = { HOME: dir, ATMO_URL: URL_THERE };
    expect((await atmo(['login', '--token', 'at1.ann'], { env, fetch })).err).toContain('TOKEN_INVALID');
    expect(findCredential(env)).toBeUndefined();
  }));
