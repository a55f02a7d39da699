import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { RunningHub } from './running-hub.ts';

/**
 * A state directory as commit 2f9aaad9 wrote it, which kept no names, and what that hub told of it: two lamps of one name, an air
 * conditioner, a light with a cluster of its maker's and a bridge. Its clock ran 15 years ahead, so that its tokens have not ended.
 */
const WRITTEN = join(import.meta.dirname, '../fixtures/state/before-kept-names.tgz');
/** What that hub wrote is no older than this for a hub that keeps history so long. */
const history = { raw_days: 36_500, five_minute_days: 36_500, hourly_days: 36_500 };

interface Told {
  readonly token: string;
  readonly revoked: string;
  readonly tools: readonly string[];
  readonly sensors: readonly (readonly [string, unknown])[];
  readonly devices: readonly (readonly [string, string, string])[];
  readonly history: readonly JsonObject[];
}

let stateDir: string;
let told: Told;
let hub: RunningHub;

beforeAll(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'old-state-'));
  mkdirSync(stateDir, { recursive: true });
  execFileSync('tar', ['-xzf', WRITTEN, '-C', stateDir, '--no-same-owner']);
  told = JSON.parse(readFileSync(join(stateDir, 'expected.json'), 'utf8')) as Told;
  rmSync(join(stateDir, 'expected.json'));
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  rmSync(stateDir, { recursive: true, force: true });
});

/** The device that a tool of the old hub is about, by the old name; what has none is of the hub itself. */
async function deviceOf(id: string): Promise<unknown> {
  const tool = (await hub.get(`/api/v1/tools/${encodeURIComponent(id.split('@', 1)[0] ?? '')}`)) as { metadata?: { device?: string } };
  return tool.metadata?.device;
}

const objectOf = async (path: string) => (await hub.get(path)) as JsonObject;
const listOf = async (path: string, member: string) => (await objectOf(path))[member] as readonly JsonObject[];

describe.each(['the first start', 'the second start'])('over a state directory of a hub that kept no names, %s', () => {
  beforeAll(async () => {
    await hub?.stop();
    hub = await RunningHub.start({ stateDir, config: { history } });
  });

  test('finds nothing wrong with it', async () => {
    expect(await hub.get('/healthz')).toMatchObject({ status: 'ok' });
    expect(hub.log.filter((line) => /damaged|restored|set_aside|rolled/.test(line))).toEqual([]);
  });

  test('has the devices under their ids, names and rooms', async () => {
    const devices = await listOf('/api/v1/devices', 'devices');
    expect(devices.map(({ id, name, area }) => [id, name, area]).sort()).toEqual(told.devices.toSorted());
    expect(await hub.get('/api/v1/devices/Leselampe')).toMatchObject({ id: 'living-room-lamp' });
    expect((await listOf('/api/v1/areas', 'areas')).find(({ area }) => area === 'Attic')).toMatchObject({
      floor: 'Top',
      aliases: ['Dachboden'],
    });
  });

  test('runs each tool under the name that it had, for the device that it was about', async () => {
    expect(told.tools.length).toBeGreaterThan(50);
    for (const id of told.tools) {
      const [, name = ''] = /^matter:(.*)@/.exec(id) ?? [];
      const owner = told.devices.find(([device, called]) => called !== 'Lamp' && name.startsWith(device.replaceAll('-', '_')))?.[0];
      const lamp = name.startsWith('lamp_7377f5') ? 'living-room-lamp' : name.startsWith('lamp_') ? 'bedroom-lamp' : undefined;
      expect([id, await deviceOf(id)]).toEqual([id, owner ?? lamp]);
    }
    expect(await hub.get('/api/v1/tools/party_light_cluster0xfff1fc01_read')).toMatchObject({ name: 'party_light_vendor_1_read' });
  });

  test('has the readings under their ids, with their history', async () => {
    const sensors = await listOf('/api/v1/sensors', 'sensors');
    expect(sensors.map(({ id }) => id)).toEqual(expect.arrayContaining(told.sensors.map(([id]) => id)));
    const { points } = await objectOf(
      '/api/v1/sensors/study-air-conditioner/temperature/readings?since=2000-01-01T00:00:00Z&until=2100-01-01T00:00:00Z',
    );
    expect(points).toEqual(expect.arrayContaining([...told.history]));
  });

  test('lets a token do what it could, and one that was revoked nothing', async () => {
    const as = async (token: string, path: string) => (await hub.request(path, { headers: { authorization: `Bearer ${token}` } })).status;
    expect(await as(told.token, '/api/v1/devices/study-air-conditioner')).toBe(200);
    expect(await as(told.token, '/api/v1/sensors/study-air-conditioner/temperature/readings')).toBe(200);
    expect(await as(told.token, '/api/v1/sensors/attic-light/is_on/readings')).toBe(404);
    expect(await as(told.revoked, '/api/v1/devices')).toBe(401);
  });

  test('has its rules, agents, own tools and journal', async () => {
    const { rules } = await hub.result('list_rules');
    expect(rules).toMatchObject([{ name: 'quiet attic' }]);
    expect(JSON.stringify(await hub.result('list_agents'))).toContain('cooler');
    expect(await hub.get('/api/v1/tools/custom:warmth')).toMatchObject({ name: 'warmth' });
    expect((await listOf('/api/v1/audit?kind=intent', 'rows')).map(({ tool }) => tool)).toContain('hub:set_device_aliases@1.0.0');
  });
});
