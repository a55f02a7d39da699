import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LabHost } from '../../scripts/network-lab/lab-host.ts';
import type { CallAnswer } from '../../src/calls/request-and-answer.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { until } from '../matter/device-hub.ts';
import { MAIN } from './main-program.ts';
import { RunningHub } from './running-hub.ts';

const run = promisify(execFile);

let dir: string;
let home: VirtualHome;
let hub: RunningHub;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'administration-'));
  const spec = homeOf(standardHome(), ['Living room lamp', 'Thermostat', 'Attic bridge']);
  [home, hub] = await Promise.all([
    VirtualHome.start({ spec, dir: join(dir, 'home') }),
    RunningHub.start({ stateDir: join(dir, 'state') }),
  ]);
  const joined = await Promise.all(spec.devices.map(({ name, area }) => tryToCommission(name, area)));
  expect(joined.map(({ status }) => status)).toEqual(['success', 'success', 'success']);
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

function tryToCommission(name: string, area: string): Promise<CallAnswer> {
  return hub.call('hub:commission_device', { code: home.device(name).pairing.qrCode, name, area, accept_attestation: true });
}

/** The error of a call that has to fail. */
async function refusal(tool: string, params: JsonObject): Promise<JsonObject> {
  const answer = await hub.call(tool, params);
  if (answer.status !== 'error') throw new RangeError(`${tool} succeeded: ${JSON.stringify(answer.result)}`);
  return { ...answer.error };
}

async function deviceIds(): Promise<readonly string[]> {
  return asObjects(((await hub.get('/api/v1/devices')) as JsonObject).devices).map(({ id }) => String(id));
}

const asObjects = (value: Json | undefined): readonly JsonObject[] => (Array.isArray(value) ? (value as JsonObject[]) : []);
const lamp = { device_id: 'living-room-lamp' };

describe('names', () => {
  test('the name given at commissioning makes the id; tools bear it', async () => {
    expect(await deviceIds()).toEqual(expect.arrayContaining(['living-room-lamp', 'thermostat', 'attic-bridge', 'attic-light']));
    const tools = JSON.stringify(await hub.get('/api/v1/tools?device=living-room-lamp'));
    expect(tools).toContain('matter:living_room_lamp_set_brightness');
  });

  test('renaming a device writes its NodeLabel, keeps its id and lets the new name find it', async () => {
    expect(await hub.result('hub:rename_device', { ...lamp, name: 'Reading corner' })).toMatchObject({
      id: 'living-room-lamp',
      name: 'Reading corner',
    });
    expect(await home.device('Living room lamp').get(0, 'BasicInformation', 'NodeLabel')).toBe('Reading corner');
    expect(await hub.result('hub:ping_device', { device_id: 'reading corner' })).toHaveProperty('round_trip_ms');
    await hub.result('hub:rename_device', { ...lamp, name: 'Living room lamp' });
  });

  test('a former name means the device at another hub of the mesh too', async () => {
    const stateDir = join(dir, 'annex');
    await using annex = await RunningHub.start({ stateDir, config: { matter: { enabled: false } }, env: { ATMO_MESH_PORT: '0' } });
    await annex.result('hub:mesh_create', { passphrase: 'a passphrase for two hubs' });
    const { invite } = await annex.result('hub:mesh_invite');
    await hub.result('hub:mesh_join', { invite: String(invite) });
    const knows = (tool: string) => until(async () => (await annex.request(`/api/v1/tools/${tool}`)).ok, 60_000);
    await knows('living_room_lamp_turn_on');
    await hub.result('hub:rename_device', { ...lamp, name: 'Study corner' });
    await knows('study_corner_turn_on');
    const isOn = () => home.device('Living room lamp').get(1, 'OnOff', 'OnOff');
    for (const [tool, on] of [
      ['matter:living_room_lamp_turn_on', true],
      ['living_room_lamp_turn_off', false],
    ] as const) {
      expect(await annex.result(tool)).toMatchObject({ settled: true });
      expect(await isOn()).toBe(on);
    }
    await hub.result('hub:rename_device', { ...lamp, name: 'Living room lamp' });
    await hub.result('hub:mesh_leave');
  });

  test('renaming a bridged device writes the label behind the bridge', async () => {
    await hub.result('hub:rename_device', { device_id: 'attic-plug', name: 'Dachboden-Steckdose für Lüfter' });
    const label = await home.device('Attic bridge').get('attic-plug', 'BridgedDeviceBasicInformation', 'NodeLabel');
    expect(label).toBe('Dachboden-Steckdose für Lüfter');
  });

  test('an area shows in the list of devices and goes again', async () => {
    expect(await hub.result('hub:set_device_area', { ...lamp, area: 'Library' })).toMatchObject({ area: 'Library' });
    expect(await hub.get('/api/v1/devices/living-room-lamp')).toMatchObject({ area: 'Library' });
    expect(await hub.result('hub:set_device_area', lamp)).not.toHaveProperty('area');
  });

  test('a room keeps its grants under another name, and whoever comes with the old one is in it', async () => {
    await hub.result('hub:set_device_area', { ...lamp, area: 'Library' });
    const minted = await hub.result('mint_token', { agent_id: 'reader', permissions: ['device:control:@area/library'] });
    const turnOn = async () => {
      const headers = { authorization: `Bearer ${minted.token}`, 'content-type': 'application/json' };
      return (await hub.request('/api/v1/tools/living_room_lamp_turn_on/invoke', { method: 'POST', body: '{}', headers })).status;
    };
    expect(await turnOn()).toBe(200);
    expect(await hub.result('hub:rename_area', { area: 'library', name: 'Study' })).toMatchObject({
      area: 'Study',
      moved: ['living-room-lamp'],
      former_names: ['library'],
      used_by: [{ kind: 'token', as: ['device:control:@area/library'] }],
    });
    expect(await hub.get('/api/v1/devices/living-room-lamp')).toMatchObject({ area: 'Study' });
    expect(await turnOn()).toBe(200);
    expect(await hub.result('hub:set_device_area', { device_id: 'thermostat', area: 'Library' })).toMatchObject({ area: 'Study' });
    expect(await refusal('hub:rename_area', { area: 'Attic', name: 'Library' })).toMatchObject({
      code: 'CONFLICT',
      details: { area: 'Study' },
    });
    await hub.result('hub:set_device_area', lamp);
    expect(await turnOn()).not.toBe(200);
  });

  test('an unknown device is answered with the nearest ones', async () => {
    expect(await refusal('hub:ping_device', { device_id: 'living-rom-lamp' })).toMatchObject({
      code: 'DEVICE_NOT_FOUND',
      message: expect.stringContaining('living-room-lamp'),
      details: { suggestions: expect.arrayContaining(['living-room-lamp']) },
    });
  });
});

describe('care', () => {
  test('identify sets IdentifyTime in the device, zero ends it; behind a bridge only that endpoint', async () => {
    await hub.result('hub:identify_device', { ...lamp, seconds: 30 });
    expect(await home.device('Living room lamp').get(1, 'Identify', 'IdentifyTime')).toBeGreaterThan(0);
    await hub.result('hub:identify_device', { ...lamp, seconds: 0 });
    expect(await home.device('Living room lamp').get(1, 'Identify', 'IdentifyTime')).toBe(0);
    await hub.result('hub:identify_device', { device_id: 'attic-light', seconds: 30 });
    expect(await home.device('Attic bridge').get('attic-light', 'Identify', 'IdentifyTime')).toBeGreaterThan(0);
  });

  test('ping measures a round trip', async () => {
    const startedMs = performance.now();
    const { round_trip_ms: roundTripMs } = await hub.result('hub:ping_device', lamp);
    expect(roundTripMs).toBeGreaterThan(0);
    expect(roundTripMs).toBeLessThan(performance.now() - startedMs);
  });

  test('an interview answers all devices of the node', async () => {
    const devices = asObjects((await hub.result('hub:interview_device', { device_id: 'attic-light' })) as unknown as Json);
    expect(devices.map(({ id }) => id)).toEqual(expect.arrayContaining(['attic-bridge', 'attic-light', 'attic-thermometer']));
  });

  test('diagnostics tell what the device itself counts', async () => {
    const diagnostics = await hub.result('hub:device_diagnostics', lamp);
    const rebootCount = await home.device('Living room lamp').get(0, 'GeneralDiagnostics', 'RebootCount');
    expect(diagnostics).toMatchObject({ reachability: 'reachable', GeneralDiagnostics: { RebootCount: rebootCount } });
  });
});

describe('access control', () => {
  test('entries are read, replaced, and seen so in the device; a list that locks the hub out is refused', async () => {
    const before = asObjects((await hub.result('hub:get_access_control', lamp)) as unknown as Json);
    expect(before).toHaveLength(1);
    const guest = { privilege: 'View', authMode: 'Case', subjects: ['4660'], targets: null };
    await hub.result('hub:set_access_control', { ...lamp, entries: [...before, guest] });
    const inDevice = (await home.device('Living room lamp').get(0, 'AccessControl', 'Acl')) as { privilege: number; subjects: unknown }[];
    expect(inDevice.map(({ privilege }) => privilege)).toEqual([5, 1]);
    expect(await refusal('hub:set_access_control', { ...lamp, entries: [guest] })).toMatchObject({ code: 'CONFLICT' });
    await hub.result('hub:set_access_control', { ...lamp, entries: before as JsonObject[] });
    expect(await hub.result('hub:get_access_control', lamp)).toEqual(before);
  });
});

describe('sharing', () => {
  test('a second hub on another machine joins with the QR code, both know it, and it is removed again', async () => {
    await using other = new LabHost('other-hub', 2);
    await other.start();
    const stateDir = join(dir, 'other');
    await using second = await RunningHub.start({ stateDir, host: other });
    const share = await hub.result('hub:share_device', { ...lamp, seconds: 180 });
    expect(String(share.qr_code)).toMatch(/^MT:/);
    const atmo = async (...args: string[]): Promise<JsonObject> => {
      const [command, ...rest] = other.command([process.execPath, MAIN, ...args, '--json']);
      const { stdout } = await run(command, rest, { env: { ...process.env, ATMO_STATE_DIR: stateDir, ATMO_URL: second.url } });
      return JSON.parse(stdout) as JsonObject;
    };
    await atmo('commission', String(share.qr_code), '--name', 'Shared lamp');

    const fabrics = asObjects((await hub.result('hub:list_fabrics', lamp)) as unknown as Json);
    expect(fabrics.map(({ is_ours: isOurs }) => isOurs).toSorted()).toEqual([false, true]);
    await atmo('call', 'matter:shared_lamp_turn_on');
    expect(await home.device('Living room lamp').get(1, 'OnOff', 'OnOff')).toBe(true);

    const ours = fabrics.find(({ is_ours: isOurs }) => isOurs === true)?.fabric_index ?? 0;
    expect(await refusal('hub:remove_fabric', { ...lamp, fabric_index: ours })).toMatchObject({ code: 'CONFLICT' });
    expect(await refusal('hub:remove_fabric', { ...lamp, fabric_index: 77 })).toMatchObject({ code: 'NOT_FOUND' });
    const theirs = fabrics.find(({ is_ours: isOurs }) => isOurs === false)?.fabric_index ?? 0;
    await hub.result('hub:remove_fabric', { ...lamp, fabric_index: theirs });
    expect(await hub.result('hub:list_fabrics', lamp)).toHaveLength(1);
    expect(await home.device('Living room lamp').get(0, 'OperationalCredentials', 'CommissionedFabrics')).toBe(1);
  });

  test('a window can be opened twice, closed, and closed again', async () => {
    const first = await hub.result('hub:share_device', lamp);
    const second = await hub.result('hub:share_device', lamp);
    expect(second.manual_code).not.toBe(first.manual_code);
    const windowStatus = () => home.device('Living room lamp').get(0, 'AdministratorCommissioning', 'WindowStatus');
    expect(await windowStatus()).toBe(1);
    await hub.result('hub:close_share', lamp);
    expect(await windowStatus()).toBe(0);
    await hub.result('hub:close_share', lamp);
    expect(await refusal('hub:share_device', { ...lamp, seconds: 60 })).toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringMatching(/seconds.*180/),
    });
  });

  test('all devices of the home are opened by one call, the bridge with what is behind it', async () => {
    const { shared, failed } = await hub.result('hub:share_devices', { seconds: 180 });
    expect(failed).toEqual([]);
    expect(asObjects(shared).map(({ device_id: id }) => id)).toEqual(
      expect.arrayContaining(['living-room-lamp', 'thermostat', 'attic-bridge']),
    );
    expect(new Set(asObjects(shared).map(({ manual_code: code }) => code)).size).toBe(3);
    for (const name of ['Living room lamp', 'Thermostat', 'Attic bridge']) {
      expect(await home.device(name).get(0, 'AdministratorCommissioning', 'WindowStatus')).toBe(1);
    }
    for (const { device_id: id } of asObjects(shared)) await hub.result('hub:close_share', { device_id: id ?? '' });
  });
});

describe('removal', () => {
  const thermostat = { device_id: 'thermostat' };

  test('a removed device takes its tools along and can be commissioned again, under an id that nothing was granted on', async () => {
    expect(await hub.result('hub:remove_device', thermostat)).toEqual({ removed: ['thermostat'] });
    expect(await deviceIds()).not.toContain('thermostat');
    expect(await refusal('matter:thermostat_set_temperature', { temperature: 21 })).toMatchObject({ code: 'TOOL_NOT_FOUND' });
    expect(await home.device('Thermostat').get(0, 'OperationalCredentials', 'CommissionedFabrics')).toBe(0);
    await home.device('Thermostat').restart();
    expect((await tryToCommission('Thermostat', 'Hall')).status).toBe('success');
    expect(await deviceIds()).toContain('thermostat-2');
    expect(await deviceIds()).not.toContain('thermostat');
  });

  test('it is recognised, and gets its id with all that belongs to that back when the owner says so', async () => {
    expect(await hub.result('hub:recognised_devices')).toMatchObject([{ device: 'thermostat-2', former: 'thermostat' }]);
    expect(await hub.result('hub:restore_device', { device_id: 'thermostat-2' })).toEqual({
      restored: [{ device_id: 'thermostat', former_device_id: 'thermostat-2' }],
      left: [],
    });
    expect(await deviceIds()).toContain('thermostat');
    expect(await deviceIds()).not.toContain('thermostat-2');
    expect(await hub.result('matter:thermostat_set_temperature', { temperature: 21 })).toMatchObject({ state: expect.any(Object) });
    expect(await hub.result('hub:recognised_devices')).toEqual([]);
  });

  test('a dead device is kept unless it is removed by force', async () => {
    await home.device('Thermostat').powerOff();
    expect(await refusal('hub:rename_device', { ...thermostat, name: 'Ghost' })).toMatchObject({
      code: expect.stringMatching(/UNREACHABLE|UNKNOWN/),
    });
    expect(await hub.get('/api/v1/devices/thermostat')).toMatchObject({ name: 'Thermostat' });
    const startedMs = performance.now();
    expect(await refusal('hub:remove_device', thermostat)).toMatchObject({ code: 'DEVICE_UNREACHABLE' });
    expect(performance.now() - startedMs).toBeLessThan(6_000);
    expect(await deviceIds()).toContain('thermostat');
    expect(await hub.result('hub:remove_device', { ...thermostat, force: true })).toEqual({ removed: ['thermostat'] });
    await until(async () => !(await deviceIds()).includes('thermostat'));
  });
});
