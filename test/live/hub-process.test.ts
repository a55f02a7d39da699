import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CallAnswer } from '../../src/calls/request-and-answer.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { until } from '../matter/device-hub.ts';
import { THREAD_DATASET } from '../matter/thread-dataset.ts';
import { ownClock } from '../processor-time.ts';
import { unsweptOf } from '../storage/swept-files.ts';
import { hasEnded } from './hub-child.ts';
import { RunningHub } from './running-hub.ts';

const TURN_ON = 'matter:living_room_lamp_turn_on';
const TOGGLE = 'matter:living_room_lamp_toggle';
const WIFI_PASSWORD = 'correct-horse-battery';
const PIN = '40961';

let dir: string;
let stateDir: string;
let home: VirtualHome;
let hub: RunningHub;
const hubs: RunningHub[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'hub-process-'));
  stateDir = join(dir, 'state');
  const devices = homeOf(standardHome(), ['Living room lamp', 'Front door']).devices.map(({ group: _, ...alone }) => alone);
  home = await VirtualHome.start({ spec: { devices }, dir: join(dir, 'home') });
  hub = await start();
  await Promise.all(
    devices.map(({ name }) =>
      hub.result('hub:commission_device', { code: home.device(name).pairing.qrCode, name, accept_attestation: true }),
    ),
  );
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(async () => {
  await home.device('Living room lamp').linkUp();
  // Killed also says that it was asked to end: one that a failed test left is not what the next test meets.
  if (hub.process.killed || hasEnded(hub.process)) {
    await hub.kill();
    hub = await start();
  }
  await until(async () => ((await hub.get('/api/v1/devices/living-room-lamp')) as JsonObject).reachability === 'reachable');
});

/** Debug level, since nothing may be said there either. */
async function start(): Promise<RunningHub> {
  const started = await RunningHub.start({ stateDir, env: { ATMO_LOG: 'debug' } });
  hubs.push(started);
  return started;
}

const logLines = (): readonly string[] => hubs.flatMap(({ log }) => log);

const codeOf = (answer: CallAnswer): string => (answer.status === 'error' ? answer.error.code : 'success');

test('a second hub on the same state directory is refused, the first is not disturbed', async () => {
  await expect(RunningHub.start({ stateDir })).rejects.toThrow(/ended with 2.*CONFLICT.*Another hub \(process \d+\).*ATMO_STATE_DIR/s);
  expect(codeOf(await hub.call(TURN_ON))).toBe('success');
});

describe('the end', () => {
  test('comes at once without calls, and the next start answers its first call with all devices', async () => {
    const stopMs = performance.now();
    expect(await hub.stop()).toBe(0);
    const stoppedMs = performance.now() - stopMs;
    const startMs = performance.now();
    hub = await start();
    const readyMs = performance.now() - startMs;
    expect(codeOf(await hub.call(TURN_ON))).toBe('success');
    const answeredMs = performance.now() - startMs;
    console.info(`stop ${stoppedMs.toFixed(0)} ms, READY ${readyMs.toFixed(0)} ms, first answer ${answeredMs.toFixed(0)} ms`);
    expect(stoppedMs).toBeLessThan(5_000);
    expect(answeredMs - readyMs).toBeLessThan(5_000);
  });

  test('gives calls that run a moment, refuses new ones and exits with 0', async () => {
    await home.device('Living room lamp').linkDown();
    const running = Array.from({ length: 5 }, () => hub.call(TOGGLE));
    await until(() => hub.log.filter((line) => line.includes('"stage":"runTool"') && line.includes('_toggle')).length === running.length);
    const stopMs = performance.now();
    const elapsedMs = ownClock(hub.process.pid);
    const stopped = hub.stop();
    // What comes before it has heard the signal is a call like those that run.
    await until(() => hub.log.some((line) => line.includes('"hub.stopping"')));
    expect(elapsedMs()).toBeLessThan(1_000);
    expect(['SHUTTING_DOWN', 'no connection']).toContain(await hub.call(TURN_ON).then(codeOf, () => 'no connection'));
    for (const answer of await Promise.all(running))
      expect(['DEVICE_UNREACHABLE', 'OUTCOME_UNKNOWN', 'CANCELLED']).toContain(codeOf(answer));
    expect(await stopped).toBe(0);
    expect(performance.now() - stopMs).toBeLessThan(10_000);
    await home.device('Living room lamp').linkUp();
  });

  test('by SIGKILL loses no device and no tool, and says that a job which ran has failed', async () => {
    const tools = ((await hub.get('/api/v1/tools?limit=200')) as JsonObject).total;
    await home.device('Living room lamp').linkDown();
    const job = (await hub.call(TOGGLE, {}, { query: '?async=true' })) as unknown as { job_id: string };
    await hub.kill();
    await home.device('Living room lamp').linkUp();
    hub = await start();
    expect(await hub.get(`/api/v1/jobs/${job.job_id}`)).toMatchObject({ status: 'failed', error: { code: 'OUTCOME_UNKNOWN' } });
    expect(((await hub.get('/api/v1/tools?limit=200')) as JsonObject).total).toBe(tools);
    await until(async () => codeOf(await hub.call(TURN_ON)) === 'success');
  });
});

describe('secrets', () => {
  test('are in no line of the log, whatever the level, and in no row of the journal', async () => {
    await hub.result('hub:set_wifi_credentials', { name: 'home', ssid: 'Our net', password: WIFI_PASSWORD });
    await hub.result('hub:set_thread_credentials', { name: 'mesh', dataset: THREAD_DATASET });
    await hub.call('matter:front_door_unlock', { pin: PIN });
    await hub.result('hub:create_group', { name: 'One', members: [{ device_id: 'living-room-lamp', endpoint: 1 }] });
    const share = await hub.result('hub:share_device', { device_id: 'front-door' });
    await hub.result('hub:close_share', { device_id: 'front-door' });
    const minted = await hub.result('hub:mint_token', { agent_id: 'greedy', permissions: ['device:read:front-door'] });
    // Refused calls, with secrets of the wrong type and in the wrong place.
    await hub.call('matter:front_door_unlock', { pin: Number(PIN), color: 1 });
    await hub.call('hub:set_wifi_credentials', { name: 'home', ssid: 7, password: WIFI_PASSWORD });
    await hub.call(String(minted.token));
    const rows = await journalRows();
    expect(rows).toContain('"hub:commission_device@1.0.0"');
    expect(rows).toContain('"matter:front_door_unlock@1.0.0"');
    await hub.stop();
    const text = [...logLines(), rows].join('\n').toLowerCase();
    const codes = home.devices.flatMap(({ pairing }) => [pairing.qrCode, pairing.manualCode, String(pairing.passcode)]);
    const token = readFileSync(join(stateDir, 'owner.token'), 'utf8').trim();
    const secrets = [
      ...codes,
      token,
      String(minted.token),
      WIFI_PASSWORD,
      PIN,
      THREAD_DATASET,
      String(share.qr_code),
      String(share.manual_code),
    ];
    const keys = storedBytes();
    expect(keys.length).toBeGreaterThan(10);
    for (const secret of [...secrets, ...keys]) {
      expect(text.includes(secret.toLowerCase()), `a secret of ${secret.length} characters is in the log or journal`).toBe(false);
    }
  });

  test('and all else in the state directory belong to the hub alone', async () => {
    const entries = readdirSync(stateDir, { recursive: true, encoding: 'utf8' });
    expect(entries.length).toBeGreaterThan(5);
    for (const entry of ['.', ...entries]) {
      const { mode } = statSync(join(stateDir, entry));
      expect(`${entry} ${(mode & 0o77).toString(8)}`).toBe(`${entry} 0`);
    }
  });
});

/** The whole journal of calls as readers get it. */
async function journalRows(): Promise<string> {
  const texts: string[] = [];
  for (let page: JsonObject = { next_before: Number.MAX_SAFE_INTEGER }; page.next_before !== undefined; ) {
    page = await hub.result('hub:read_audit', { before: page.next_before, limit: 500 });
    texts.push(JSON.stringify(page.rows));
  }
  return texts.join('\n');
}

/** Every longer octet string that the hub keeps of its fabric and groups, as hex: keys, certificates, IPK. */
function storedBytes(): readonly string[] {
  using matter = new DatabaseSync(join(stateDir, 'matter/hub/storage.db'), { readOnly: true });
  const texts = matter.prepare('SELECT value_json AS text FROM kvstore').all();
  const stored = texts.flatMap(({ text }) => [...String(text).matchAll(/__value__\W+([0-9a-f]{32,})/g)]).map(([, hex]) => hex ?? '');
  using state = new DatabaseSync(join(stateDir, 'state.db'), { readOnly: true });
  const [groupKey] = state.prepare("SELECT value FROM entry WHERE space = 'group-keys'").all();
  const epochKey = String(JSON.parse(String(groupKey?.value)));
  return [...stored, epochKey, Buffer.from(epochKey, 'base64').toString('hex')];
}

test('a hub keeps no file that the sweep of damages does not know', () => {
  const entries = readdirSync(stateDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map(({ parentPath, name }) => join(parentPath, name).slice(stateDir.length + 1));
  expect(files.length).toBeGreaterThan(10);
  expect(unsweptOf(files)).toEqual([]);
});

describe('damage', () => {
  const garbage = Buffer.alloc(64 * 1024, 0x5a);
  const matterFile = (): string => join(stateDir, 'matter/hub/storage.db');
  const overwrite = (file: string): void => {
    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, garbage);
    closeSync(descriptor);
  };

  test('of the state is mended from a copy, and no device is lost', async () => {
    await hub.stop();
    overwrite(join(stateDir, 'state.db'));
    hub = await start();
    expect(hub.log.join('\n')).toContain('storage.database_restored');
    expect(await deviceIds()).toEqual(['front-door', 'living-room-lamp']);
    await until(async () => codeOf(await hub.call(TURN_ON)) === 'success');
  });

  test('of the fabric is mended from a copy; without one the hub refuses to start instead of making a new fabric', async () => {
    await hub.stop();
    overwrite(matterFile());
    hub = await start();
    expect(hub.log.join('\n')).toContain('matter.storage_restored');
    await until(async () => codeOf(await hub.call(TURN_ON)) === 'success');
    await hub.stop();
    const whole = join(dir, 'whole');
    execFileSync('cp', ['-a', stateDir, whole]);
    rmSync(join(stateDir, 'matter/snapshots'), { recursive: true });
    overwrite(matterFile());
    await expect(RunningHub.start({ stateDir })).rejects.toThrow(/ended with 4.*STORAGE_FAILED.*your own copy of the state directory/s);
    rmSync(matterFile());
    await expect(RunningHub.start({ stateDir })).rejects.toThrow(/ended with 4.*STORAGE_FAILED.*your own copy of the state directory/s);
    rmSync(stateDir, { recursive: true });
    execFileSync('cp', ['-a', whole, stateDir]);
  });

  test('of the settings and of the list of tools costs neither: those that counted last hold, and the hub says so', async () => {
    await hub.stop();
    const edited = { 'config.yaml': '{tools: {disabled: [echo]}}', 'tools_bootstrap.json': '{"tools": []}' };
    for (const [name, text] of Object.entries(edited)) writeFileSync(join(stateDir, name), text, { mode: 0o600 });
    hub = await start();
    await hub.stop();
    for (const name of Object.keys(edited)) truncateSync(join(stateDir, name), 0);
    hub = await start();
    expect(hub.log.join('\n')).toContain('config.refused');
    expect(await (await hub.request('/healthz')).json()).toMatchObject({
      status: 'degraded',
      problems: expect.arrayContaining([
        expect.stringMatching(/config\.yaml is empty; to have the defaults/),
        expect.stringMatching(/tools_bootstrap\.json is empty; to have no tools/),
      ]),
    });
    expect(codeOf(await hub.call('core:echo'))).toBe('RULE_BLOCKED');
    await hub.stop();
    for (const name of Object.keys(edited)) writeFileSync(join(stateDir, name), '{}', { mode: 0o600 });
    hub = await start();
    expect(await (await hub.request('/healthz')).json()).toMatchObject({ status: 'ok' });
  });

  test('in the middle of a restore is made good before the settings are read, which lie among what is put in its place', async () => {
    const half = join(dir, 'half-restored');
    mkdirSync(join(half, 'restore.new'), { recursive: true, mode: 0o700 });
    writeFileSync(join(half, 'restore.new/config.yaml'), '{matter: {enabled: false}, tools: {disabled: [echo]}}', { mode: 0o600 });
    writeFileSync(join(half, 'restore.pending'), JSON.stringify({ step: 'place', aside: 'before-restore-now' }), { mode: 0o600 });
    const restored = await RunningHub.start({ stateDir: half });
    hubs.push(restored);
    expect(codeOf(await restored.call('core:echo'))).toBe('RULE_BLOCKED');
    expect(await restored.stop()).toBe(0);
  });

  async function deviceIds(): Promise<readonly string[]> {
    const { devices } = (await hub.get('/api/v1/devices')) as { devices: JsonObject[] };
    return devices.map(({ id }) => String(id)).toSorted();
  }
});

describe('a full disk', () => {
  test('stops neither the hub nor calls of devices; what must be kept is refused until there is space', async () => {
    await hub.stop();
    const small = join(dir, 'small');
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m,mode=0700', 'tmpfs', small]);
    try {
      execFileSync('cp', ['-a', `${stateDir}/.`, small]);
      const full = await RunningHub.start({ stateDir: small });
      const filler = join(small, 'filler');
      const fill = spawn('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4096'], { stdio: 'ignore' });
      await once(fill, 'exit');
      for (let call = 0; call < 5; call++) expect(['success', 'STORAGE_FAILED']).toContain(codeOf(await full.call(TOGGLE)));
      expect(codeOf(await full.call(TURN_ON))).toBe('success');
      expect(codeOf(await full.call('hub:set_device_area', { device_id: 'living-room-lamp', area: 'x'.repeat(60) }))).toBe(
        'STORAGE_FAILED',
      );
      expect(codeOf(await full.call('hub:set_wifi_credentials', { name: 'n', ssid: 's', password: 'p'.repeat(60) }))).toBe(
        'STORAGE_FAILED',
      );
      await home.device('Living room lamp').set('light', 'onOff', 'onOff', false);
      await until(async () => (await (await full.request('/healthz')).status) === 200);
      expect(codeOf(await full.call(TURN_ON))).toBe('success');
      rmSync(filler);
      expect(codeOf(await full.call('hub:set_device_area', { device_id: 'living-room-lamp', area: 'Den' }))).toBe('success');
      expect(codeOf(await full.call('hub:rename_device', { device_id: 'living-room-lamp', name: 'Lamp' }))).toBe('success');
      expect(await full.stop()).toBe(0);
      const again = await RunningHub.start({ stateDir: small });
      expect(await again.get('/api/v1/devices/living-room-lamp')).toMatchObject({ name: 'Lamp', area: 'Den' } as Record<string, Json>);
      await until(async () => codeOf(await again.call('matter:lamp_turn_on')) === 'success');
      expect(await again.stop()).toBe(0);
    } finally {
      execFileSync('umount', ['-l', small]);
    }
  });
});
