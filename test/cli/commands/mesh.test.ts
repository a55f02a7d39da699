import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { applyKeys, promptSecret } from '../../../src/cli/identity/secret-prompt.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { makeHttpApi } from '../../http/http-fixture.ts';
import { atmo, fetchFrom, withDirectory } from '../cli-fixture.ts';

const PEERS = [
  {
    hub_id: 'hub-aaaaaaaaaaaaaaaa',
    name: 'attic',
    state: 'fresh',
    reachable: true,
    hops: 1,
    round_trip_ms: 2.5,
    version: '1.0.0',
    tools: 12,
  },
  { hub_id: 'hub-bbbbbbbbbbbbbbbb', name: 'shed', state: 'stale', reachable: false, hops: 2, version: '0.9.0', tools: 3 },
];
const STATUS = { state: 'member', hub_id: 'hub-1', mesh_id: 'mesh-1', expires_at: '2026-04-01T00:00:00.000Z' };

/** A hub whose tools of the mesh answer what a test says, and remember what they were given. */
function makeHub(answers: Readonly<Record<string, Json>> = {}) {
  const { httpApi, addTool } = makeHttpApi();
  const asked: [string, JsonObject][] = [];
  const all: Readonly<Record<string, Json>> = { mesh_status: STATUS, mesh_peers: PEERS, ...answers };
  for (const [name, answer] of Object.entries(all)) {
    const handler = async (params: JsonObject) => {
      asked.push([name, params]);
      return answer;
    };
    addTool({ namespace: 'hub', name, parameters: { type: 'object' }, handler });
  }
  const run = (argv: readonly string[], io = {}) => atmo(argv, { fetch: fetchFrom(httpApi), ...io });
  return { run, asked, addTool };
}

describe('atmo mesh peers', () => {
  test('prints the hubs with their round trips for people', async () => {
    const { run } = makeHub();
    const { out, code } = await run(['mesh', 'peers']);
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['ID', 'NAME', 'REACHABLE', 'ROUND TRIP', 'VERSION', 'TOOLS', 'STATE'],
      ['hub-aaaaaaaaaaaaaaaa', 'attic', 'yes', '2.5 ms', '1.0.0', '12', 'fresh'],
      ['hub-bbbbbbbbbbbbbbbb', 'shed', 'no', '-', '0.9.0', '3', 'stale'],
      [''],
    ]);
  });

  test('prints advice without other hubs, and the number of missing definitions', async () => {
    const alone = await makeHub({ mesh_status: { state: 'none', hub_id: 'hub-1' }, mesh_peers: [] }).run(['mesh', 'peers']);
    expect(alone).toMatchObject({ code: 0, out: '(none)\n', err: expect.stringContaining('atmo mesh create') });
    const first = await makeHub({ mesh_peers: [] }).run(['mesh', 'peers']);
    expect(first.err).toContain('atmo mesh invite');
    const missing = await makeHub({ mesh_peers: [{ ...PEERS[0], missing_tools: 3 }] }).run(['mesh', 'peers']);
    expect(missing.out).toContain('12, 3 missing');
  });

  test('prints id and reachable for programs', async () => {
    const { run } = makeHub();
    expect((await run(['mesh', 'peers', '--json'])).json()).toMatchObject({
      mesh_id: 'mesh-1',
      peers: [
        { id: 'hub-aaaaaaaaaaaaaaaa', reachable: true },
        { id: 'hub-bbbbbbbbbbbbbbbb', reachable: false },
      ],
    });
    expect((await run(['mesh', 'peers', '--reachable', '--json'])).json().peers).toHaveLength(1);
  });
});

describe('atmo mesh invite', () => {
  const answer = { mesh_invite: { invite: 'atmo-join1.abc', invite_id: 'i1', expires_at: '2026-01-01T00:15:00.000Z' } };

  test('prints the one line alone, and `code` for programs', async () => {
    const { run, asked } = makeHub(answer);
    const { out, err } = await run(['mesh', 'invite', '--ttl', '1h', '--allow', 'device:*', '--address', '10.0.0.1:8082']);
    expect(out).toBe('atmo-join1.abc\n');
    expect(err).toContain('until 2026-01-01T00:15:00.000Z');
    expect(asked).toEqual([['mesh_invite', { ttl_seconds: 3600, permissions: ['device:*'], addresses: ['10.0.0.1:8082'] }]]);
    expect((await run(['mesh', 'invite', '--json'])).json()).toEqual({
      code: 'atmo-join1.abc',
      invite_id: 'i1',
      expires_at: '2026-01-01T00:15:00.000Z',
    });
  });

  test('rejects a time that no invite may have by the name of the option', async () => {
    const { run, asked } = makeHub(answer);
    for (const ttl of ['1s', '48h'])
      expect(await run(['mesh', 'invite', '--ttl', ttl])).toMatchObject({ code: 2, err: expect.stringContaining('--ttl takes 1m to 24h') });
    expect(asked).toEqual([]);
  });

  test('shows a QR code above it when asked', async () => {
    const { out } = await makeHub(answer).run(['mesh', 'invite', '--qr']);
    expect(out).toContain('█');
    expect(out.endsWith('\natmo-join1.abc\n') || out.endsWith('atmo-join1.abc\n')).toBe(true);
  });

  test('for a hub that may invite others needs the passphrase', async () => {
    const { run, asked } = makeHub(answer);
    expect((await run(['mesh', 'invite', '--may-invite'])).code).toBe(2);
    await run(['mesh', 'invite', '--may-invite'], { env: { ATMO_TOKEN: 'owner-secret', ATMO_PASSPHRASE: 'five words' } });
    expect(asked).toEqual([['mesh_invite', { may_invite: true, passphrase: 'five words' }]]);
  });
});

describe('the passphrase', () => {
  test('comes from a file, else the environment, else the terminal, where a new one is typed twice', async () => {
    await withDirectory(async (dir) => {
      const file = join(dir, 'phrase');
      writeFileSync(file, 'from the file\n');
      const { run, asked } = makeHub({ mesh_create: STATUS, mesh_status: { state: 'none' } });
      const env = { ATMO_TOKEN: 'owner-secret', ATMO_PASSPHRASE: 'from the environment' };
      const typing = (...lines: string[]) => ({ askSecret: async () => lines.shift() });
      expect((await run(['mesh', 'create', '--name', 'home', '--passphrase-file', file], { env })).code).toBe(0);
      expect((await run(['mesh', 'create'], { env })).code).toBe(0);
      expect((await run(['mesh', 'create'], typing('typed by hand', 'typed by hand'))).code).toBe(0);
      expect(await run(['mesh', 'create'], typing('typed by hand', 'tipped by hand'))).toMatchObject({
        code: 2,
        err: expect.stringContaining('differ'),
      });
      expect(await run(['mesh', 'create'])).toMatchObject({ code: 2, err: expect.stringContaining('ATMO_PASSPHRASE') });
      expect(asked.filter(([name]) => name === 'mesh_create').map(([, params]) => params)).toEqual([
        { name: 'home', passphrase: 'from the file' },
        { passphrase: 'from the environment' },
        { passphrase: 'typed by hand' },
      ]);
    });
  });

  test('of a new mesh is not needed where the hub is in one already', async () => {
    const { run, asked } = makeHub({ mesh_create: STATUS });
    const typed: string[] = [];
    const askSecret = async (prompt: string) => {
      typed.push(prompt);
      return 'five words nobody guesses';
    };
    const { code, err } = await run(['mesh', 'create'], { askSecret });
    expect([code, err]).toEqual([2, expect.stringContaining('atmo mesh leave')]);
    expect(err).toContain('mesh-1');
    expect([typed, asked.some(([name]) => name === 'mesh_create')]).toEqual([[], false]);
  });

  test('of a new mesh is rejected before the request when it is short', async () => {
    const { run, asked } = makeHub({ mesh_create: STATUS, mesh_status: { state: 'none' } });
    const { code, err } = await run(['mesh', 'create'], { env: { ATMO_TOKEN: 'owner-secret', ATMO_PASSPHRASE: 'short' } });
    expect([code, err]).toEqual([2, expect.stringContaining('at least 10 characters')]);
    expect(asked.some(([name]) => name === 'mesh_create')).toBe(false);
  });

  test('is typed without being shown', async () => {
    expect(applyKeys('', 'ab\u007fc\r')).toEqual({ text: 'ac', isDone: true });
    expect(applyKeys('ab', 'c')).toEqual({ text: 'abc', isDone: false });
    expect(() => applyKeys('ab', '\u0003')).toThrow(AtmoError);
    let told = '';
    const modes: boolean[] = [];
    let hear: (chunk: string) => void = () => {};
    const stdin = {
      isTTY: true,
      setRawMode: (mode: boolean) => modes.push(mode),
      on: (_event: string, listener: typeof hear) => {
        hear = listener;
      },
      off: () => {},
    };
    const asked = promptSecret('Passphrase: ', stdin as never, { write: (text: string) => (told += text) });
    hear('se');
    hear('cret\r');
    expect([await asked, told, modes]).toEqual(['secret', 'Passphrase: \n', [true, false]]);
    expect(await promptSecret('Passphrase: ', { on: () => {}, off: () => {} } as never, { write: () => {} })).toBeUndefined();
  });
});

describe('joining and leaving', () => {
  test('join takes the line as it is, from a file or from stdin', async () => {
    await withDirectory(async (dir) => {
      const file = join(dir, 'invite');
      writeFileSync(file, 'atmo-join1.file\n');
      const { run, asked } = makeHub({ mesh_join: STATUS });
      expect((await run(['mesh', 'join', 'atmo-join1.abc'])).out).toContain('member of mesh-1 until 2026-04-01');
      await run(['mesh', 'join', `@${file}`]);
      await run(['mesh', 'join', '-'], { stdin: 'atmo-join1.stdin\n' });
      expect(asked.map(([, { invite }]) => invite)).toEqual(['atmo-join1.abc', 'atmo-join1.file', 'atmo-join1.stdin']);
    });
  });

  test('a text that is no invite is rejected as such, not by its length', async () => {
    const { run, asked } = makeHub({ mesh_join: STATUS });
    expect(await run(['mesh', 'join', 'garbage'])).toMatchObject({ code: 2, err: expect.stringContaining('atmo-join1.') });
    expect(asked).toEqual([]);
  });

  test('leave keeps the root key by default', async () => {
    const { run, asked } = makeHub({ mesh_leave: { success: true } });
    expect((await run(['mesh', 'leave'])).code).toBe(0);
    await run(['mesh', 'leave', '--delete-root-key']);
    expect(asked.map(([, params]) => params)).toEqual([{ delete_root_key: false }, { delete_root_key: true }]);
  });

  test('status prints the membership without the other hubs', async () => {
    const { run } = makeHub();
    expect((await run(['mesh', 'status', '--json'])).json()).toEqual(STATUS);
    expect((await run(['mesh', 'status'])).out).toMatch(/mesh +mesh-1\nmembership +until 2026-04-01/);
    const { out } = await makeHub({ mesh_status: { state: 'none', hub_id: 'hub-1' } }).run(['mesh', 'status']);
    expect(out).toMatch(/mesh +none; .*atmo mesh join LINE/);
  });
});

describe('the commands of the holder of the root key', () => {
  test('revoke takes a name or an id, and the passphrase where there is one', async () => {
    const hub = 'hub-aaaaaaaaaaaaaaaa';
    const { run, asked } = makeHub({ mesh_revoke: { hub, also_ended: ['hub-cccccccccccccccc'] } });
    expect((await run(['mesh', 'revoke', 'attic'])).out).toBe(`${hub}, hub-cccccccccccccccc are no member any more\n`);
    await run(['mesh', 'revoke', hub], { env: { ATMO_TOKEN: 'owner-secret', ATMO_PASSPHRASE: 'five words' } });
    expect(asked.filter(([name]) => name === 'mesh_revoke').map(([, params]) => params)).toEqual([
      { hub },
      { hub, passphrase: 'five words' },
    ]);
    expect(await run(['mesh', 'revoke', 'moon'])).toMatchObject({ code: 2, err: expect.stringContaining('"moon"') });
  });

  test('delegate prints whether the hub has received it', async () => {
    const { run } = makeHub({ mesh_delegate: { hub: 'hub-bbbbbbbbbbbbbbbb', delivered: false } });
    const env = { ATMO_TOKEN: 'owner-secret', ATMO_PASSPHRASE: 'five words' };
    expect((await run(['mesh', 'delegate', 'shed'], { env })).out).toContain('as soon as it connects');
  });

  test('export-root writes a new file for its owner alone, import-root reads it', async () => {
    await withDirectory(async (dir) => {
      const file = join(dir, 'root');
      const env = { ATMO_TOKEN: 'owner-secret', ATMO_PASSPHRASE: 'five words' };
      const { run, asked } = makeHub({ mesh_export_root: { root_key: 'atmo-root1.abc' }, mesh_import_root: { success: true } });
      expect((await run(['mesh', 'export-root', file, '--json'], { env })).json()).toEqual({ file });
      expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['atmo-root1.abc\n', 0o600]);
      expect(await run(['mesh', 'export-root', file], { env })).toMatchObject({ code: 2, err: expect.stringContaining('there already') });
      expect((await run(['mesh', 'export-root', '-'], { env })).out).toBe('atmo-root1.abc\n');
      expect((await run(['mesh', 'import-root', file], { env })).code).toBe(0);
      expect(asked.at(-1)).toEqual(['mesh_import_root', { root_key: 'atmo-root1.abc', passphrase: 'five words' }]);
    });
  });
});

describe('--hub', () => {
  /** What the requests of a command say of the hub. */
  async function hubsAsked(argv: readonly string[]) {
    const asked: string[] = [];
    const fetch = async (url: string, init: RequestInit) => {
      const { pathname, search } = new URL(url);
      asked.push(`${pathname}${search} ${new Headers(init.headers).get('x-hub')}`);
      return Response.json({ status: 'success', result: { values: [] }, tools: [], approvals: [], parameters: {} });
    };
    expect((await atmo(argv, { fetch })).code).toBe(0);
    return asked;
  }

  test('is sent with every request of the command, and selects the definition of that hub', async () => {
    expect(await hubsAsked(['call', 'dim', 'level=4', '--hub', 'attic', '--max-hops', '2'])).toEqual([
      '/api/v1/tools/dim?node=attic attic',
      '/api/v1/tools/dim/invoke?hop_limit=2 attic',
    ]);
    expect(await hubsAsked(['approvals', '--hub', 'attic'])).toEqual(['/api/v1/approvals attic']);
    expect(await hubsAsked(['tools', '--hub', 'attic'])).toEqual(['/api/v1/tools?node=attic&limit=1000 attic']);
    expect(await hubsAsked(['read', 'attic-lamp/temperature', '--hub', 'attic'])).toEqual([
      '/api/v1/tools/core%3Aquery_sensor/invoke attic',
    ]);
    expect(await hubsAsked(['sensors', '--hub', 'attic'])).toEqual(['/api/v1/tools/core%3Alist_sensors/invoke attic']);
  });

  test('a call that waits for approvers of another hub names them, and the owner here does not approve it', async () => {
    const details = { approval_id: 'a1', node_id: 'hub-2' };
    const asked: string[] = [];
    const fetch = async (url: string) => {
      asked.push(new URL(url).pathname);
      return Response.json({ status: 'error', error: { code: 'APPROVAL_REQUIRED', message: 'wait', details } }, { status: 202 });
    };
    const { code, err } = await atmo(['call', 'unlock'], { fetch });
    expect(code).toBe(3);
    expect(err).toContain('there a person agrees with "atmo approve a1"');
    expect(err).toContain('atmo approve a1 --hub hub-2');
    expect(asked).toEqual(['/api/v1/tools/unlock/invoke']);
  });
});

test('atmo events --hub ends with the reason when the hub is lost', async () => {
  const body = 'retry: 2000\n\nevent: error\ndata: {"code":"NODE_UNAVAILABLE","message":"attic is gone"}\n\n';
  const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  expect(await atmo(['events', '--hub', 'attic'], { fetch })).toMatchObject({ code: 4, err: 'NODE_UNAVAILABLE: attic is gone\n' });
});
