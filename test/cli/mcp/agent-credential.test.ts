import { generateKeyPairSync, sign } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CliIo } from '../../../src/cli/cli-io.ts';
import { AgentCredential, HOME_PERMISSIONS } from '../../../src/cli/mcp/agent-credential.ts';
import { challengeStatement } from '../../../src/core/auth/principal.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { ManualClock } from '../../manual-clock.ts';
import { atmo, withDirectory } from '../cli-fixture.ts';

const DAY_MS = 86_400_000;

/** A hub that mints what it is asked for, and remembers who asked. */
function mintingHub(clock: ManualClock) {
  const asked: { readonly tool: string; readonly params: JsonObject; readonly by: string | null }[] = [];
  const fetch: CliIo['fetch'] = async (url, init) => {
    const tool = decodeURIComponent(/tools\/([^/]+)\/invoke/.exec(url)?.[1] ?? '');
    const params = JSON.parse(String(init.body)) as JsonObject;
    asked.push({ tool, params, by: new Headers(init.headers).get('authorization') });
    const expires = new Date(clock.now() + Number(params.ttl_seconds) * 1000).toISOString();
    const result = { agent_id: String(params.agent_id ?? `ann/${params.name}`), token: `at1.made-${asked.length}`, expires_at: expires };
    return Response.json({ status: 'success', result });
  };
  return { asked, fetch };
}

/** The same with a key of its own, which lies in its state directory and with which it proves itself. */
function provingHub(stateDir: string, clock: ManualClock) {
  const key = generateKeyPairSync('ed25519').privateKey;
  writeFileSync(join(stateDir, 'hub.key'), key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const { asked, fetch: mint } = mintingHub(clock);
  const fetch: CliIo['fetch'] = async (url, init) => {
    const challenge = new URL(url).searchParams.get('challenge');
    if (challenge === null) return mint(url, init);
    return Response.json({ proof: sign(null, challengeStatement(8081, challenge), key).toString('base64url') });
  };
  return { asked, fetch };
}

function ownerHome(dir: string) {
  mkdirSync(join(dir, 'state'));
  writeFileSync(join(dir, 'state/owner.token'), 'at0.owner', { mode: 0o600 });
  return { HOME: join(dir, 'home'), ATMO_STATE_DIR: join(dir, 'state') };
}

function credentialIn(env: CliIo['env'], clock: ManualClock, hub = mintingHub(clock), permissions: readonly string[] = HOME_PERMISSIONS) {
  return new AgentCredential({ io: { env, fetch: hub.fetch }, note: () => {}, clock }, 'claude', permissions);
}

describe('atmo mcp', () => {
  test("never uses the owner's token, whatever its source", async () => {
    await withDirectory(async (dir) => {
      const env = ownerHome(dir);
      const requests: string[] = [];
      const fetch: CliIo['fetch'] = async (url) => {
        requests.push(url);
        return Response.json({});
      };
      const given = await atmo(['mcp'], { env: { ...env, ATMO_TOKEN: 'at0.owner' }, fetch });
      expect(given).toMatchObject({ code: 3, out: '', err: expect.stringContaining("ATMO_TOKEN holds the owner's token") });
      const found = await atmo(['mcp'], { env, fetch });
      expect(found).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--agent NAME') });
      expect(requests).toEqual([]);
    });
  });

  test('reports a wrong view, a wrong name, and permissions without a name', async () => {
    expect((await atmo(['mcp', '--view', 'kitchen'])).err).toContain('areas/AREA');
    expect((await atmo(['mcp', '--agent', 'No Name'])).err).toContain('cannot be the name of an agent');
    expect((await atmo(['mcp', '--allow', 'device:read:*'])).err).toContain('--allow says what --agent may do');
  });
});

describe('the token of --agent', () => {
  test("is made once by the owner's token, with few permissions, and readable by this user alone", async () => {
    await withDirectory(async (dir) => {
      const clock = new ManualClock();
      const hub = mintingHub(clock);
      const env = ownerHome(dir);
      expect(await credentialIn(env, clock, hub).token()).toBe('at1.made-1');
      expect(await credentialIn(env, clock, hub).token()).toBe('at1.made-1');
      expect(hub.asked).toEqual([
        {
          tool: 'hub:mint_token',
          by: 'Bearer at0.owner',
          params: { agent_id: 'claude', permissions: HOME_PERMISSIONS, ttl_seconds: 2_592_000 },
        },
      ]);
      expect(HOME_PERMISSIONS.filter((permission) => /^(admin|\*)/.test(permission))).toEqual([]);
      const file = join(dir, 'home/.config/atmosphere-edge/agents/claude.json');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file, 'utf8')).not.toContain('at0.');
      chmodSync(file, 0o644);
      await expect(credentialIn(env, clock, hub).token()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    });
  });

  test('is a new one for other permissions', async () => {
    await withDirectory(async (dir) => {
      const clock = new ManualClock();
      const hub = mintingHub(clock);
      const env = ownerHome(dir);
      await credentialIn(env, clock, hub).token();
      expect(await credentialIn(env, clock, hub, ['sensor:read:*']).token()).toBe('at1.made-2');
      expect(hub.asked[1]?.params.permissions).toEqual(['sensor:read:*']);
    });
  });

  test('is replaced before it expires; where that fails the old one is used until then', async () => {
    await withDirectory(async (dir) => {
      const clock = new ManualClock();
      const hub = mintingHub(clock);
      const env = ownerHome(dir);
      await credentialIn(env, clock, hub).token();
      clock.advance(19 * DAY_MS);
      expect(await credentialIn(env, clock, hub).token()).toBe('at1.made-1');
      clock.advance(2 * DAY_MS);
      const isDown = { asked: [], fetch: () => Promise.reject(new TypeError('fetch failed')) };
      expect(await credentialIn(env, clock, isDown).token()).toBe('at1.made-1');
      expect(await credentialIn(env, clock, hub).token()).toBe('at1.made-2');
      clock.advance(31 * DAY_MS);
      await expect(credentialIn(env, clock, isDown).token()).rejects.toMatchObject({ code: 'HUB_UNREACHABLE' });
    });
  });

  test('is not asked for with each request where the hub refuses another one while the old one is valid', async () => {
    await withDirectory(async (dir) => {
      const clock = new ManualClock();
      const env = ownerHome(dir);
      await credentialIn(env, clock).token();
      clock.advance(21 * DAY_MS);
      const asked: string[] = [];
      const fetch: CliIo['fetch'] = async (url) => {
        asked.push(url);
        return Response.json({ status: 'error', error: { code: 'CONFLICT', message: 'There is one' } }, { status: 409 });
      };
      const credential = new AgentCredential({ io: { env, fetch }, note: () => {}, clock }, 'claude', HOME_PERMISSIONS);
      for (let request = 0; request < 5; request += 1) expect(await credential.token()).toBe('at1.made-1');
      expect(asked).toHaveLength(1);
      clock.advance(5 * DAY_MS);
      expect(await credential.token()).toBe('at1.made-1');
      expect(asked).toHaveLength(2);
    });
  });

  test('that another process made a moment before is used', async () => {
    await withDirectory(async (dir) => {
      const clock = new ManualClock();
      const env = ownerHome(dir);
      const first = credentialIn(env, clock);
      const fetch: CliIo['fetch'] = async () => {
        await first.token();
        return Response.json({ status: 'error', error: { code: 'CONFLICT', message: 'There is one' } }, { status: 409 });
      };
      const second = new AgentCredential({ io: { env, fetch }, note: () => {}, clock }, 'claude', HOME_PERMISSIONS);
      expect(await second.token()).toBe('at1.made-1');
    });
  });

  test('is made again for a hub that was set up again; a user who cannot make one gets the path of the old file', async () => {
    await withDirectory(async (dir) => {
      const clock = new ManualClock();
      const env = ownerHome(dir);
      const first = provingHub(join(dir, 'state'), clock);
      expect(await credentialIn(env, clock, first).token()).toBe('at1.made-1');
      const second = provingHub(join(dir, 'state'), clock);
      expect(await credentialIn(env, clock, second).token()).toBe('at1.made-1');
      expect([first.asked.length, second.asked.length]).toEqual([1, 1]);
      const withoutRight = credentialIn({ ...env, ATMO_STATE_DIR: join(dir, 'none') }, clock, first);
      await withoutRight.token();
      expect(withoutRight.hub()).toMatchObject({ file: expect.stringContaining('claude.json'), ifAnew: 'remove that file' });
    });
  });

  test('has permissions of the person with the login, and is for the hub of that login', async () => {
    await withDirectory(async (dir) => {
      const clock = new ManualClock();
      const hub = mintingHub(clock);
      const folder = join(dir, '.config/atmosphere-edge');
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const login = { url: 'http://127.0.0.1:8081', person: 'ann', token: 'at1.ann' };
      writeFileSync(join(folder, 'login.json'), JSON.stringify(login), { mode: 0o600 });
      const env = { HOME: dir, ATMO_STATE_DIR: join(dir, 'none') };
      expect(await credentialIn(env, clock, hub).token()).toBe('at1.made-1');
      expect(hub.asked).toMatchObject([{ tool: 'spawn_agent', by: 'Bearer at1.ann', params: { agent_type: 'external', name: 'claude' } }]);
      const elsewhere = credentialIn({ ...env, ATMO_URL: 'http://127.0.0.1:9999' }, clock, hub);
      await expect(elsewhere.token()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    });
  });

  test('needs a login, and the error names the command for one', async () => {
    await withDirectory(async (dir) => {
      const none = await atmo(['mcp', '--agent', 'claude'], { env: { HOME: dir, ATMO_STATE_DIR: join(dir, 'none') } });
      expect(none).toMatchObject({ code: 3, out: '', err: expect.stringContaining('sudo atmo login') });
    });
  });
});
