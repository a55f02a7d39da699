import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../../scripts/bundle.ts';
import { FOREIGN_HINT, foreignPackages } from '../../../scripts/foreign-packages.ts';
import { LabHost } from '../../../scripts/network-lab/lab-host.ts';
import { buildClientBundle } from '../../../scripts/package/client-bundle.ts';
import { buildClientPackage } from '../../../scripts/package/client-package.ts';
import { homeOf, standardHome } from '../../home/home-spec.ts';
import { VirtualHome } from '../../home/virtual-home.ts';
import { filesIn } from '../../scripts/zip-reader.ts';
import { type LiveClient, legacyClient, modernClient } from '../mcp/mcp-clients.ts';
import { RunningHub } from '../running-hub.ts';

const LAMP = 'Living room lamp';
const PATIENCE = { timeout: 60_000, interval: 200 };
const SETUP_LIMIT_MS = 120_000;
const PACKAGES = foreignPackages('older-node');
/** Folder with the oldest Node that the client package says it needs, and its npm. Without it, the tests about it are skipped by name. */
const OLDER_NODE = PACKAGES && join(PACKAGES, 'node_modules/.bin');
const NEWER_THAN_NODE_20 =
  /Object\.groupBy|Array\.fromAsync|Promise\.try|RegExp\.escape|Iterator\.from|Error\.isError|(?:values|keys|entries)\(\)\.(?:map|filter|some|every|find|toArray|take|drop|reduce|forEach|flatMap)\(/g;
const laptop = new LabHost('laptop', 2);

let dir: string;
let file: string;
let home: VirtualHome;
let hub: RunningHub;

const startHub = (port = '0') =>
  RunningHub.start({
    stateDir: join(dir, 'hub'),
    config: { http: { host: '0.0.0.0' }, sensors: { discover: false } },
    env: { ATMO_HTTP_PORT: port },
  });

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'client package '));
  await laptop.start();
  file = await buildClientPackage(join(dir, 'release'));
  home = await VirtualHome.start({ spec: homeOf(standardHome(), [LAMP]), dir: join(dir, 'home') });
  hub = await startHub();
  const { pairing, name } = home.device(LAMP);
  await hub.result('hub:commission_device', { code: pairing.qrCode, name });
}, SETUP_LIMIT_MS);

afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

/** The environment of Ann's laptop: a home folder with a space in its name, an npm that installs into it, and no hub. */
function laptopEnv(): Record<string, string> {
  const folder = join(dir, 'ann at home');
  mkdirSync(folder, { recursive: true });
  const path = [join(folder, 'npm/bin'), ...(OLDER_NODE === undefined ? [] : [OLDER_NODE]), '/usr/bin', '/bin'];
  return { HOME: folder, PATH: path.join(':'), npm_config_prefix: join(folder, 'npm') };
}

async function onLaptop(command: readonly string[], input = '') {
  const [program, ...args] = laptop.command(['env', ...command]);
  const child = spawn(program, args, { env: laptopEnv(), stdio: 'pipe' });
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, out, err };
}

/** The line and the code that the owner of the hub gives to Ann. */
async function invitation(): Promise<{ readonly line: readonly string[]; readonly code: string }> {
  await hub.request('/api/v1/people', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'ann', role: 'adult' }),
  });
  const answer = await hub.request('/api/v1/people/ann/invitation', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const { code } = (await answer.json()) as { code: string };
  const { fingerprint_sha256: fingerprint } = (await hub.get('/api/v1/tls')) as { fingerprint_sha256: string };
  return { line: ['atmo', 'login', hub.url, '--fingerprint', `SHA256:${fingerprint}`], code };
}

const isOn = async () => (await home.device(LAMP).get(1, 'OnOff', 'OnOff')) === true;

const WHY_NOT = OLDER_NODE === undefined ? `: ${FOREIGN_HINT}` : '';

describe.skipIf(OLDER_NODE === undefined)(`on a machine with Node 20 and nothing else${WHY_NOT}`, () => {
  test('Node is the oldest that the package takes, where there is one for the machine', async () => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, 'scripts/package/client/package.json'), 'utf8')) as {
      engines: { node: string };
    };
    const oldest = process.arch === 'x64' ? 'v20.12.0' : 'v20.18.0';
    expect([engines.node, (await onLaptop(['node', '--version'])).out.trim()]).toEqual(['>=20.12', oldest]);
  });

  test('three commands lead from nothing to a switched lamp', async () => {
    const { line, code } = await invitation();
    expect(await onLaptop(['npm', 'install', '-g', file])).toMatchObject({ code: 0 });
    expect(await onLaptop(line, `${code}\n`)).toMatchObject({ code: 0, err: '' });
    expect(await isOn()).toBe(false);
    expect(await onLaptop(['atmo', 'call', 'living_room_lamp_turn_on'])).toMatchObject({ code: 0, err: '' });
    expect(await isOn()).toBe(true);
    const folder = join(laptopEnv().HOME ?? '', '.config/atmosphere-edge');
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
      expect([name, statSync(join(folder, name)).mode & 0o077]).toEqual([name, 0]);
  });

  test('a file in YAML, a QR code and a signature are made there too', async () => {
    const config = 'triggers:\n  - event: device.changed\nactions: 5\n';
    const spawned = await onLaptop(['atmo', 'agent', 'spawn', 'night-watch', '--config', '-', '--allow', 'device:read:*'], config);
    expect(spawned).toMatchObject({ code: 2, err: expect.stringContaining('actions') });
    expect(await onLaptop(['atmo', 'monitor', '--qr'])).toMatchObject({ code: 0 });
    expect(await onLaptop(['atmo', 'approver', 'key'])).toMatchObject({ code: 0, out: expect.stringMatching(/[\w-]{43}/) });
  });

  test('the commands of the machine of the hub say where they run, and doctor looks at this machine alone', async () => {
    expect(await onLaptop(['atmo', 'serve'])).toMatchObject({ code: 2, err: expect.stringContaining('runs on the machine of the hub') });
    const { out } = await onLaptop(['atmo', 'doctor', '--json']);
    const sections = (JSON.parse(out) as { checks: { section: string; check: string; state: string }[] }).checks;
    expect(new Set(sections.map(({ section }) => section))).toEqual(new Set(['Hub', 'Machine', 'Home', 'Decisions', 'Page and agents']));
    expect(sections.filter(({ section }) => section === 'Machine').map(({ state }) => state)).toEqual(['ok', 'ok', 'ok']);
  });

  test('agents of both protocol versions and atmo events work on when the hub was killed and started again', async () => {
    const program = laptop.command([join(laptopEnv().HOME ?? '', 'npm/bin/atmo')]);
    const way = { kind: 'stdio', words: ['--agent', 'desk'], env: laptopEnv(), atmo: program } as const;
    const [command, ...words] = program;
    const events = spawn(command, [...words, 'events', '--types', 'agi.tool.result', '--json'], { env: laptopEnv(), stdio: 'pipe' });
    let seen = '';
    let noted = '';
    events.stdout.on('data', (chunk) => (seen += chunk));
    events.stderr.on('data', (chunk) => (noted += chunk));
    const clients: readonly LiveClient[] = [await modernClient(way), await legacyClient(way)];
    const lamp = (turn: 'on' | 'off') => ({ name: `living_room_lamp_turn_${turn}`, arguments: {} });
    const switchedByAnn = async () => expect(await onLaptop(['atmo', 'call', 'living_room_lamp_turn_on'])).toMatchObject({ code: 0 });
    const switches = async (client: LiveClient) => {
      for (const turn of ['off', 'on'] as const) {
        expect(await client.call('control_tool', lamp(turn))).not.toMatchObject({ isError: true });
        expect(await isOn()).toBe(turn === 'on');
      }
    };
    try {
      for (const client of clients) await switches(client);
      await switchedByAnn();
      await expect.poll(() => seen, PATIENCE).toContain('turn_on');
      const { port } = new URL(hub.url);
      await hub.kill();
      await expect(clients[0]?.call('control_tool', lamp('off'))).rejects.toThrow('HUB_UNREACHABLE');
      await expect.poll(() => noted, PATIENCE).toContain('goes on as soon as the hub answers');
      seen = '';
      hub = await startHub(port);
      await expect.poll(() => noted, PATIENCE).toContain('the hub answers again');
      for (const client of clients) await expect.poll(() => switches(client).then(() => 'switched', String), PATIENCE).toBe('switched');
      await switchedByAnn();
      await expect.poll(() => seen, PATIENCE).toContain('turn_on');
    } finally {
      for (const client of clients) await client.close();
      events.kill('SIGKILL');
    }
  }, 150_000);
});

test('the bundle connects a host of agents with an invitation from its settings, also when the host starts it again', async () => {
  const bundle = await buildClientBundle(join(dir, 'release'));
  const folder = join(dir, 'host', 'extension');
  const files = filesIn(readFileSync(bundle));
  for (const [path, { text: content, mode }] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content, { mode });
  }
  const { server } = JSON.parse(files.get('manifest.json')?.text ?? '') as { server: { mcp_config: { args: readonly string[] } } };
  const node = OLDER_NODE === undefined ? process.execPath : join(OLDER_NODE, 'node');
  const { line, code } = await invitation();
  const settings = { ATMO_URL: hub.url, ATMO_FINGERPRINT: line.at(-1) ?? '', ATMO_INVITATION: code, ATMO_TOKEN: '', ATMO_AGENT: 'desktop' };
  const env = { ...laptopEnv(), HOME: join(dir, 'host'), ...settings };
  const [program = '', word] = server.mcp_config.args.map((argument) => argument.replace(/\$\{__dirname\}/, folder));
  expect(word).toBe('mcp');
  for (const connect of [modernClient, legacyClient]) {
    const client = await connect({ kind: 'stdio', words: [], env, atmo: laptop.command([node, program]) });
    try {
      expect((await client.tools()).map(({ name }) => name)).toContain('control_tool');
    } finally {
      await client.close();
    }
  }
});

test('the package is small, needs nothing else, and is the same from the same sources', async () => {
  const folder = join(dir, 'unpacked');
  mkdirSync(folder);
  const tar = spawn('tar', ['xf', file, '-C', folder]);
  await new Promise((resolve) => tar.once('close', resolve));
  const files = readdirSync(join(folder, 'package')).sort();
  expect(files).toEqual(['LICENSE', 'README.md', 'THIRD-PARTY.txt', 'atmo.mjs', 'package.json']);
  const bytes = files.reduce((sum, name) => sum + statSync(join(folder, 'package', name)).size, 0);
  expect(bytes).toBeLessThan(1_000_000);
  const manifest = JSON.parse(readFileSync(join(folder, 'package/package.json'), 'utf8'));
  expect(Object.keys(manifest).filter((key) => /depend|scripts/i.test(key))).toEqual([]);
  const program = readFileSync(join(folder, 'package/atmo.mjs'), 'utf8');
  expect(program.match(/@matter\/|libp2p|koffi|node:sqlite/g) ?? []).toEqual([]);
  const imported = [...program.matchAll(/\bimport(?:[\w$*{},\s]*\bfrom|\()"([\w@:/.-]+)"/g)].map(([, name = '']) => name);
  expect(imported.length).toBeGreaterThan(10);
  expect(imported.filter((name) => !name.startsWith('node:'))).toEqual([]);
  // Of newer versions of Node, the program may use only what src/cli/node-20.ts adds.
  expect(program.match(NEWER_THAN_NODE_20) ?? []).toEqual([]);
  const again = await buildClientPackage(join(dir, 'again'));
  expect(readFileSync(again).equals(readFileSync(file))).toBe(true);
});
