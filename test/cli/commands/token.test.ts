import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { AGENT_TOKEN, makeHttpApi } from '../../http/http-fixture.ts';
import { atmo, fetchFrom } from '../cli-fixture.ts';

const MINTED = {
  token: 'at1.abc',
  token_id: '0'.repeat(32),
  agent_id: 'helper',
  permissions: ['device:control:lamp'],
  expires_at: '2026-01-02T00:00:00.000Z',
};

/** A hub whose token tools tell what they were asked. */
function makeHub() {
  const setup = makeHttpApi();
  const asked: [string, JsonObject][] = [];
  const answers: Record<string, JsonObject> = {
    mint_token: MINTED,
    show_token: { state: 'revoked', agent_id: 'helper' },
    list_tokens: { tokens: [{ ...MINTED, token: undefined, state: 'valid' } as never] },
    revoke_token: { revoked: true, known: true },
    rotate_owner: { success: true },
  };
  for (const [name, answer] of Object.entries(answers))
    setup.addTool({
      name,
      namespace: 'hub',
      parameters: { type: 'object' },
      handler: async (params) => {
        asked.push([name, params]);
        return JSON.parse(JSON.stringify(answer));
      },
    });
  const run = (argv: readonly string[], io = {}) => atmo(argv, { fetch: fetchFrom(setup.httpApi), ...io });
  return { asked, run };
}

describe('atmo token mint', () => {
  test('prints the token alone, so that $(atmo token mint …) works; the rest goes to stderr', async () => {
    const { run, asked } = makeHub();
    const { code, out, err } = await run(['token', 'mint', '--agent', 'helper', '--allow', 'device:control:lamp']);
    expect([code, out]).toEqual([0, 'at1.abc\n']);
    expect(err).toMatch(/until 2026-01-02.*atmo token revoke 0000/);
    expect(asked).toEqual([['mint_token', { agent_id: 'helper', permissions: ['device:control:lamp'] }]]);
    expect((await run(['token', 'mint', '--agent', 'helper', '--allow', 'a:b', '--json'])).json()).toEqual(MINTED);
  });

  test('makes the token, and prints grants that look misspelled', async () => {
    const { run } = makeHub();
    const { code, out, err } = await run(['token', 'mint', '--agent', 'helper', '--allow', 'device:control:lmp']);
    expect([code, out]).toEqual([0, 'at1.abc\n']);
    expect(err).toContain('device:control:lmp: no device lmp is known here');
  });

  test('every option reaches the hub in its units', async () => {
    const { run, asked } = makeHub();
    const argv =
      '--agent a --allow x:y --allow x:z --ttl 30d --max-hops 2 --rate 30/min --node hub-aaaaaaaaaaaaaaaa --node hub-bbbbbbbbbbbbbbbb --role guest'.split(
        ' ',
      );
    await run(['token', 'mint', ...argv, '--key', 'K'.repeat(43)]);
    expect(asked[0]?.[1]).toEqual({
      agent_id: 'a',
      permissions: ['x:y', 'x:z'],
      role: 'guest',
      ttl_seconds: 2_592_000,
      max_hops: 2,
      rate_per_minute: 30,
      allowed_nodes: ['hub-aaaaaaaaaaaaaaaa', 'hub-bbbbbbbbbbbbbbbb'],
      key: 'K'.repeat(43),
    });
  });

  test.each([
    [['--allow', 'a:b', 'c:d', 'e:f']],
    [['--allow', 'a:b,c:d', '--allow=e:f']],
    [['--allow', 'a:b', '--allow', 'c:d', '--allow', 'e:f']],
  ])('permissions come as %j', async (argv) => {
    const { run, asked } = makeHub();
    await run(['token', 'mint', '--agent', 'a', ...argv]);
    expect(new Set(asked[0]?.[1].permissions as string[])).toEqual(new Set(['a:b', 'c:d', 'e:f']));
  });

  test('a role alone is enough', async () => {
    const { run, asked } = makeHub();
    await run(['token', 'mint', '--agent', 'a', '--role', 'guest', '--ttl', '15m']);
    expect(asked[0]?.[1]).toEqual({ agent_id: 'a', role: 'guest', ttl_seconds: 900 });
  });

  test.each([
    [['--allow', 'a:b'], '--agent is missing'],
    [['--agent', 'a'], '--allow is missing'],
    [['--agent', 'a', '--allow', 'a:b', '--ttl', 'soon'], '--ttl takes a duration'],
    [['--agent', 'a', '--allow', 'a:b', '--ttl', '3y'], '--ttl takes a duration'],
    [['--agent', 'a', '--allow', 'a:b', '--rate', '3/h'], '--rate takes calls a minute'],
    [['--agent', 'a', '--allow', 'a:b', '--max-hops', '-1'], 'max-hops'],
    [['--agent', 'a', '--agent'], 'agent'],
  ])('%j is wrong usage', async (argv, message) => {
    const { run, asked } = makeHub();
    const { code, err } = await run(['token', 'mint', ...argv]);
    expect([code, err, asked]).toEqual([2, expect.stringContaining(message), []]);
  });
});

describe('tokens that exist', () => {
  test('are listed, shown from an argument or stdin, and revoked', async () => {
    const { run, asked } = makeHub();
    expect((await run(['tokens'])).out).toMatch(/0000 +helper +- +valid +2026-01-02T00:00:00.000Z +device:control:lamp\n/);
    expect((await run(['token', 'show', 'at1.x'])).out).toMatch(/state +revoked/);
    await run(['token', 'show', '-'], { stdin: 'at1.y\n' });
    expect((await run(['token', 'revoke', '0'.repeat(32)])).out).toMatch(/is revoked, with all/);
    expect((await run(['token', 'revoke', '9'])).err).toMatch(/No token begins with "9"/);
    expect((await run(['token', 'rotate-owner'])).out).toMatch(/owner\.token/);
    expect(asked.slice(1)).toEqual([
      ['show_token', { token: 'at1.x' }],
      ['show_token', { token: 'at1.y' }],
      ['revoke_token', { token_id: '0'.repeat(32) }],
      ['list_tokens', {}],
      ['rotate_owner', {}],
    ]);
  });
});

test('the error of a command without permission names the present token, and the one to use', async () => {
  const fetch = fetchFrom(makeHttpApi().httpApi);
  for (const argv of [
    ['audit', 'tail'],
    ['token', 'rotate-owner'],
  ]) {
    const { code, err } = await atmo(argv, { fetch });
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/^TOOL_NOT_FOUND: hub:\w+ does not exist for the token in ATMO_TOKEN; .*"sudo atmo …"/),
    ]);
  }
  expect((await atmo(['tools', 'hub:nothing'], { fetch })).err).toContain('There is no tool "hub:nothing"');
});

describe('atmo token check', () => {
  const check = (allow: string, ...require: string[]) =>
    atmo(['token', 'check', '--allow', allow, ...require.flatMap((text) => ['--require', text])], { env: {} });

  test.each([
    ['device:control:lamp', 'device:control:lamp', 0],
    ['device:control', 'device:control:lamp', 3],
    ['device:control:lamp', 'device:control', 3],
    ['*', 'device:control:lamp', 0],
    ['*', 'admin:hub', 3],
    ['storage:read:config/*', 'storage:read:config/a/b', 0],
    ['storage:read:config/*', 'storage:read:config/../a', 3],
    ['device:*', 'device:control:{id}', 3],
    ['device:*', 'device:control:*', 3],
  ])('%s for %s exits with %i and needs no hub', async (allow, required, code) => {
    expect((await check(allow, required)).code).toBe(code);
  });

  test('all requirements have to hold; the answer names those that do not', async () => {
    const { code, json } = await atmo(
      ['token', 'check', '--allow', 'a:b', '--allow', 'c:d', '--require', 'a:b', '--require', 'e:f', '--json'],
      { env: {} },
    );
    expect([code, json()]).toEqual([3, { allowed: false, missing: ['e:f'] }]);
  });

  test.each(['Device:control', 'a:b:c*', 'a:b:../x', 'a', 'a:b:c:d', '*:b', 'a:b:%2e', 'a:b:{x}'])(
    'a malformed grant %s is wrong usage',
    async (allow) => {
      const { code, err } = await check(allow, 'a:b');
      expect([code, err]).toEqual([2, expect.stringContaining('is not a permission that can be granted')]);
    },
  );

  test('a note says that only a hub knows the devices of a group', async () => {
    const { code, err } = await check('device:control:@type/light', 'device:control:lamp');
    expect([code, err]).toEqual([3, expect.stringContaining('Only a hub knows')]);
  });

  test('without a requirement it is wrong usage', async () => {
    expect((await check('a:b')).code).toBe(2);
  });
});

describe('atmo whoami', () => {
  test('prints the agent of a token, its permissions, and its source', async () => {
    const { run, asked } = makeHub();
    const { code, json } = await run(['whoami', '--json'], { env: { ATMO_TOKEN: AGENT_TOKEN } });
    expect([code, json()]).toEqual([0, { hub: expect.stringContaining('http'), by: 'ATMO_TOKEN', state: 'revoked', agent_id: 'helper' }]);
    expect(asked).toEqual([['show_token', { token: AGENT_TOKEN }]]);
  });

  test('fails without a token', async () => {
    const { run } = makeHub();
    const { code, err } = await run(['whoami'], { env: { ATMO_URL: 'https://10.0.0.9:8081' } });
    expect([code, err]).toEqual([3, expect.stringContaining('atmo login')]);
  });
});
