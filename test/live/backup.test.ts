import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { until } from '../matter/device-hub.ts';
import { MAIN } from './main-program.ts';
import { RunningHub } from './running-hub.ts';

const PASSPHRASE = 'five words that nobody guesses';
const NAMES = ['Living room lamp', 'Front door'];
const TOGGLE = 'matter:living_room_lamp_toggle';
const TURN_ON = 'matter:living_room_lamp_turn_on';
const MESH_PORTS = { home: 8182, shed: 8183 };

const dir = mkdtempSync(join(tmpdir(), 'backup-'));
const places = { home: join(dir, 'home'), shed: join(dir, 'shed'), board: join(dir, 'board'), file: join(dir, 'home.atmo') };
let home: VirtualHome;
let hub: RunningHub;
let shed: RunningHub;
let agentToken = '';
let before: { readonly tools: readonly string[]; readonly hub: string };

beforeAll(async () => {
  const devices = homeOf(standardHome(), NAMES).devices.map(({ group: _, ...alone }) => alone);
  home = await VirtualHome.start({ spec: { devices }, dir: join(dir, 'devices') });
  hub = await RunningHub.start({
    stateDir: places.home,
    config: { mesh: { name: 'home', port: MESH_PORTS.home, peers: [`127.0.0.1:${MESH_PORTS.shed}`] } },
  });
  shed = await RunningHub.start({
    stateDir: places.shed,
    config: { matter: { enabled: false }, mesh: { name: 'shed', port: MESH_PORTS.shed, peers: [`127.0.0.1:${MESH_PORTS.home}`] } },
  });
  for (const { name } of devices) {
    await hub.result('hub:commission_device', { code: home.device(name).pairing.qrCode, name, accept_attestation: true });
  }
  await hub.result('hub:mesh_create', { passphrase: PASSPHRASE });
  const { invite } = await hub.result('hub:mesh_invite', { addresses: [`127.0.0.1:${MESH_PORTS.home}`] });
  await shed.result('hub:mesh_join', { invite: String(invite) });
  const permissions = ['device:control:living-room-lamp', 'device:read:living-room-lamp'];
  agentToken = String((await hub.result('hub:mint_token', { agent_id: 'night-guard', permissions })).token);
  await until(async () => (await callFromShed()) === 'success');
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await shed?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

async function callFromShed(): Promise<string> {
  const answer = await shed.call(TURN_ON);
  return answer.status === 'error' ? answer.error.code : 'success';
}

async function toolNames(of: RunningHub): Promise<readonly string[]> {
  const { tools } = (await of.get('/api/v1/tools?limit=200')) as { tools: { name: string }[] };
  return tools.map(({ name }) => name).toSorted();
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs `atmo` on the machine of the hub. */
async function atmo(argv: readonly string[], stateDir: string, env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...argv], {
    env: { ...process.env, ATMO_STATE_DIR: stateDir, ATMO_URL: hub.url, ATMO_PASSPHRASE: PASSPHRASE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = await Promise.all([child.stdout.setEncoding('utf8').toArray(), child.stderr.setEncoding('utf8').toArray()]);
  return { code: child.exitCode ?? (await new Promise((resolve) => child.once('exit', resolve))), out: out.join(''), err: err.join('') };
}

/** Every file below a folder with the hash of its bytes. */
function fingerprint(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => statSync(join(folder, name)).isFile());
  // The lock names the last process that held it.
  const kept = files.filter((name) => !name.startsWith('lock.db'));
  return Object.fromEntries(
    kept.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}

test('a hub is backed up while it runs, and calls go on meanwhile', async () => {
  const answers: string[] = [];
  const ended = { isEnded: false };
  const backup = atmo(['backup', places.file, '--json'], places.home).finally(() => {
    ended.isEnded = true;
  });
  while (!ended.isEnded) answers.push((await hub.call(TOGGLE)).status);
  const { code, out, err } = await backup;
  expect(err).toBe('');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ file: places.file, running: true });
  expect(answers.length).toBeGreaterThan(3);
  expect(new Set(answers)).toEqual(new Set(['success']));
  expect(statSync(places.file).mode & 0o777).toBe(0o600);
  const { node_id: id } = (await hub.get('/healthz')) as JsonObject;
  before = { tools: await toolNames(hub), hub: String(id) };
});

test('a second backup does not write over the first, and a restore is refused while the hub runs', async () => {
  expect(await atmo(['backup', places.file], places.home)).toMatchObject({ code: 2, err: expect.stringContaining('name a new file') });
  expect(await atmo(['restore', places.file], places.home)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/Another hub \(process \d+\)/),
  });
});

describe('on another board, where another hub was', () => {
  let untouched: Record<string, string>;

  beforeAll(async () => {
    await hub.stop();
    const other = await RunningHub.start({ stateDir: places.board, config: { matter: { enabled: false } } });
    await other.stop();
    untouched = fingerprint(places.board);
  });

  test('a wrong passphrase, a damaged file and one that is cut off change nothing', async () => {
    expect(await atmo(['restore', places.file], places.board, { ATMO_PASSPHRASE: 'five words that somebody guessed' })).toMatchObject({
      code: 3,
      err: expect.stringContaining('passphrase'),
    });
    const bytes = readFileSync(places.file);
    const damaged = join(dir, 'damaged.atmo');
    // Every way in which bytes can be wrong is in test/journal/archive.
    const changes = [bytes.subarray(0, Math.floor(bytes.length / 2)), flipped(bytes, bytes.length - 100_000)];
    for (const changed of changes) {
      writeFileSync(damaged, changed);
      expect(await atmo(['restore', damaged], places.board)).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringMatching(/damaged|cannot be used/),
      });
    }
    expect(fingerprint(places.board)).toEqual(untouched);
  });

  test('the backup takes the place of what was there, which is kept aside', async () => {
    const { code, out, err } = await atmo(['restore', places.file, '--json'], places.board);
    expect(err).toBe('');
    expect(code).toBe(0);
    const { aside, hub: id } = JSON.parse(out);
    expect(id).toBe(before.hub);
    expect(fingerprint(aside)).toEqual(untouched);
  });

  test('the hub starts with the same id and the same tools, and its devices answer within seconds', async () => {
    hub = await RunningHub.start({ stateDir: places.board });
    const startMs = performance.now();
    expect(((await hub.get('/healthz')) as JsonObject).node_id).toBe(before.hub);
    await until(async () => (await hub.call(TURN_ON)).status === 'success');
    const answeredMs = performance.now() - startMs;
    console.info(`first answer of a device ${answeredMs.toFixed(0)} ms after the restored hub was ready`);
    expect(answeredMs).toBeLessThan(10_000);
    expect(await home.device('Living room lamp').get('light', 'OnOff', 'OnOff')).toBe(true);
    expect(await toolNames(hub)).toEqual(before.tools);
    expect(await hub.get('/api/v1/devices/front-door')).toMatchObject({ name: 'Front door' });
  });

  test('the journal goes on from the backup, whole, and says that it was restored', async () => {
    expect(await hub.result('hub:verify_audit')).toMatchObject({ intact: true });
    const { rows } = await hub.result('hub:read_audit', { limit: 500 });
    expect(JSON.stringify(rows)).toContain('audit.restored');
    expect(hub.log.filter((line) => line.includes('audit.log_truncated'))).toEqual([]);
  });

  test('the tokens that it made are good, and open no more than before', async () => {
    const headers = { authorization: `Bearer ${agentToken}`, 'content-type': 'application/json' };
    const call = (tool: string) =>
      fetch(`${hub.url}/api/v1/tools/${encodeURIComponent(tool)}/invoke`, { method: 'POST', body: '{}', headers });
    expect((await call(TOGGLE)).status).toBe(200);
    expect((await call('matter:front_door_lock')).status).toBe(404);
  });

  test('the other hub of the mesh takes it for the one that it knew, and its news for news', async () => {
    await until(async () => (await callFromShed()) === 'success');
    const { peers } = (await shed.get('/api/v1/mesh')) as { peers: JsonObject[] };
    expect(peers.filter(({ id, node_id: nodeId }) => (id ?? nodeId) === before.hub)).toHaveLength(1);
  });
});

function flipped(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
  return changed;
}
