import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { until } from '../matter/device-hub.ts';
import { RunningHub } from './running-hub.ts';

let dir: string;
let home: VirtualHome;
let hub: RunningHub;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'replacement-'));
  const spec = homeOf(standardHome(), ['Living room lamp', 'Bedroom lamp', 'Kitchen ceiling']);
  [home, hub] = await Promise.all([VirtualHome.start({ spec, dir: join(dir, 'home') }), start()]);
  await commission('Living room lamp', 'Living room');
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

const start = () => RunningHub.start({ stateDir: join(dir, 'state') });

function commission(name: string, area?: string): Promise<JsonObject> {
  const request = { code: home.device(name).pairing.qrCode, name, accept_attestation: true };
  return hub.result('hub:commission_device', { ...request, ...(area !== undefined && { area }) });
}

const devices = async () => ((await hub.get('/api/v1/devices')) as { readonly devices: readonly JsonObject[] }).devices;
const isOn = (name: string) => home.device(name).get(1, 'OnOff', 'OnOff');
const lamp = { device_id: 'living-room-lamp' };

test('a dead lamp is replaced by a new one, which does what the old one did under every name', async () => {
  await hub.result('hub:set_device_aliases', { ...lamp, aliases: ['Stehlampe'] });
  await hub.result('matter:living_room_lamp_set_brightness', { brightness: 40 });
  await hub.result('core:save_scene', { name: 'Evening', area: 'Living room' });
  await hub.result('hub:create_group', { name: 'Downstairs', members: [{ ...lamp, endpoint: 1 }] });
  await commission('Bedroom lamp');
  await home.device('Living room lamp').powerOff();
  expect(await hub.result('hub:replace_device', { device_id: 'Stehlampe', new_device_id: 'bedroom-lamp' })).toMatchObject({
    device_id: 'living-room-lamp',
    former_device_id: 'bedroom-lamp',
    old_device: 'forgotten',
    lacking_tools: [],
    groups_left: [],
  });
  expect(await devices()).toMatchObject([
    { id: 'living-room-lamp', name: 'Living room lamp', area: 'Living room', aliases: ['Stehlampe'], reachability: 'reachable' },
  ]);
  await hub.result('matter:living_room_lamp_turn_off');
  await until(async () => (await isOn('Bedroom lamp')) === false);
  await hub.result('scene:evening');
  await until(async () => (await isOn('Bedroom lamp')) === true);
  expect(await home.device('Bedroom lamp').get(1, 'LevelControl', 'CurrentLevel')).toBe(102);
  expect(await hub.result('hub:list_groups')).toMatchObject([{ id: 1, members: [{ device: 'living-room-lamp', endpoint: 1 }] }]);
  expect(await home.device('Bedroom lamp').get(0, 'GroupKeyManagement', 'GroupTable')).toMatchObject([{ groupId: 1, endpoints: [1] }]);
  // The names that it had for a while still mean it.
  await hub.result('matter:bedroom_lamp_turn_on');
  const history = (await hub.get('/api/v1/sensors/living-room-lamp%2Fbrightness/readings')) as { readonly points: readonly JsonObject[] };
  expect(history.points.length).toBeGreaterThan(1);
});

test('what a hub that was killed right after it finds is the same', async () => {
  await hub.kill();
  hub = await start();
  await until(async () => (await devices())[0]?.reachability === 'reachable');
  expect(await devices()).toMatchObject([{ id: 'living-room-lamp', name: 'Living room lamp', area: 'Living room' }]);
  await hub.result('matter:living_room_lamp_turn_off');
  await until(async () => (await isOn('Bedroom lamp')) === false);
});

test('a lamp that answers leaves the home when another one takes its place; what that one lacks is in the answer', async () => {
  await commission('Kitchen ceiling');
  const answer = await hub.result('hub:replace_device', { ...lamp, new_device_id: 'kitchen-ceiling' });
  expect(answer).toMatchObject({ old_device: 'left', used_by: [] });
  expect(answer.lacking_tools).toContain('living_room_lamp_set_color');
  expect(await home.device('Bedroom lamp').get(0, 'OperationalCredentials', 'CommissionedFabrics')).toBe(0);
  await hub.result('scene:evening');
  await until(async () => (await isOn('Kitchen ceiling')) === true);
  expect(await devices()).toMatchObject([{ id: 'living-room-lamp', name: 'Living room lamp', area: 'Living room' }]);
});
