import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { RunningHub } from './running-hub.ts';

const LIGHTS = ['Living room lamp', 'Bedroom lamp', 'Hall light'];
const SILENT = 'Hall light';
const BLIND = 'Bedroom blind';
const ALL_OFF = { area: 'house', what: 'lights', action: 'off' };

let dir: string;
let home: VirtualHome;
let hub: RunningHub;

const start = () => RunningHub.start({ stateDir: join(dir, 'hub'), config: { sensors: { discover: false } } });
const isOn = (name: string) => home.device(name).get(1, 'OnOff', 'onOff');
const lightsOn = async () => Promise.all(LIGHTS.map(isOn));

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'scenes-'));
  const { devices } = homeOf(standardHome(), [...LIGHTS, BLIND]);
  // The lamp that falls silent has a network of its own.
  const spec = { devices: devices.map((device) => ({ ...device, group: device.name === SILENT ? 'silent' : 'others' })) };
  home = await VirtualHome.start({ spec, dir: join(dir, 'home') });
  hub = await start();
  for (const { pairing, name, spec } of home.devices)
    await hub.result('hub:commission_device', { code: pairing.qrCode, name, ...(spec.area !== undefined && { area: spec.area }) });
});

afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

test('a scene that was saved from what is now outlives a hub that is killed, and brings the devices back', async () => {
  await Promise.all(['Living room lamp', 'Hall light'].map((name) => home.device(name).set(1, 'OnOff', 'onOff', true)));
  await home.device('Bedroom lamp').set(1, 'OnOff', 'onOff', false);
  expect(await hub.result('core:save_scene', { name: 'Evening', area: 'house' })).toMatchObject({ scene: 'evening', left_out: [] });
  await hub.kill();
  hub = await start();
  await expect.poll(async () => (await hub.call('core:control_area', ALL_OFF)).status, { timeout: 60_000, interval: 500 }).toBe('success');
  await expect.poll(lightsOn, { timeout: 20_000 }).toEqual([false, false, false]);
  const run = await hub.result('scene:evening');
  expect(run).toMatchObject({ success: true, counts: { failed: 0, skipped: 0 } });
  expect(await lightsOn()).toEqual([true, false, true]);
});

test('all lights go off in one call, and a lamp that does not answer is told without delaying the others', async () => {
  await Promise.all(LIGHTS.map((name) => home.device(name).set(1, 'OnOff', 'onOff', true)));
  await home.device(SILENT).linkDown();
  const startedMs = performance.now();
  const answer = await hub.result('core:control_area', ALL_OFF);
  const tookMs = performance.now() - startedMs;
  const members = answer.members as unknown as readonly JsonObject[];
  expect(Object.fromEntries(members.map(({ name, outcome }) => [name, outcome]))).toEqual({
    'Bedroom lamp': 'settled',
    'Living room lamp': 'settled',
    'Hall light': expect.stringMatching(/failed|skipped/),
  });
  expect(members.find(({ name }) => name === 'Hall light')?.reason).toEqual(expect.any(String));
  expect(await isOn('Bedroom lamp')).toBe(false);
  expect(await isOn('Living room lamp')).toBe(false);
  expect(tookMs).toBeLessThan(12_500);
  await home.device(SILENT).linkUp();
});
