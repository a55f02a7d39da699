import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome, together } from '../home/home-spec.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { until } from '../matter/device-hub.ts';
import { RunningHub } from './running-hub.ts';

const SENSOR = 'garden-thermometer/temperature';
const WARM_LIGHT: JsonObject = {
  parameters: { limit: { value: 25, minimum: 0, maximum: 40, unit: '°C' } },
  trigger: { type: 'reading', sensor_id: SENSOR, above: { param: 'limit' }, hysteresis: 1 },
  actions: [{ tool: 'matter:living_room_lamp_turn_on' }],
  cooldown_seconds: 0,
};

let dir: string;
let home: VirtualHome;
let hub: RunningHub;
let lamp: VirtualDevice;
let thermometer: VirtualDevice;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'agents-'));
  const spec = together(homeOf(standardHome(), ['Living room lamp', 'Garden thermometer']));
  home = await VirtualHome.start({ spec, dir: join(dir, 'home') });
  hub = await startHub();
  lamp = home.device('Living room lamp');
  thermometer = home.device('Garden thermometer');
  for (const { name, pairing } of [lamp, thermometer]) {
    const answer = await hub.call('hub:commission_device', { code: pairing.qrCode, name, accept_attestation: true });
    expect(answer.status, JSON.stringify(answer)).toBe('success');
  }
  await measure(20);
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

function startHub(): Promise<RunningHub> {
  return RunningHub.start({ stateDir: join(dir, 'state') });
}

/** The device measures a temperature, and the hub has heard of it. */
async function measure(celsius: number): Promise<void> {
  await thermometer.set(1, 'TemperatureMeasurement', 'MeasuredValue', celsius * 100);
  await until(async () => {
    const answer = await hub.call('read_temperature', { location: SENSOR });
    return answer.status === 'success' && (answer.result as JsonObject).value === celsius;
  });
}

const isOn = async (): Promise<boolean> => (await lamp.get(1, 'OnOff', 'OnOff')) === true;
const switchOff = (): Promise<unknown> => hub.result('matter:living_room_lamp_turn_off');
const turnOns = async (): Promise<number> => (await lamp.commands()).filter(({ command }) => command === 'on').length;

async function agent(): Promise<JsonObject> {
  const { agents } = await hub.result('list_agents');
  return (agents as readonly JsonObject[])[0] ?? {};
}

test('an automation switches the lamp in its own process when the thermometer crosses, over a restart, until it is killed', async () => {
  const spawned = await hub.result('spawn_agent', {
    agent_type: 'automation',
    name: 'warm-light',
    config: WARM_LIGHT,
    permissions: [`sensor:read:${SENSOR}`, 'device:control:living-room-lamp'],
  });
  expect(spawned).toMatchObject({ agent_id: 'warm-light', status: 'active', token: expect.stringMatching(/^at1\./) });
  expect(await isOn()).toBe(false);

  const startedMs = performance.now();
  await measure(26);
  await until(isOn);
  console.info(`reading to lamp: ${(performance.now() - startedMs).toFixed(0)} ms, with both polls`);
  await until(async () => (await agent()).runs === 1);

  await switchOff();
  await measure(27);
  expect(await turnOns()).toBe(1);

  await measure(20);
  expect(await hub.result('adjust_threshold', { agent_id: 'warm-light', param: 'limit', value: 22 })).toEqual({
    success: true,
    old_value: 25,
  });
  await measure(23);
  await until(isOn);

  await measure(20);
  await switchOff();
  expect(await hub.stop()).toBe(0);
  hub = await startHub();
  expect(await agent()).toMatchObject({ agent_id: 'warm-light', status: 'active', runs: 2, parameters: { limit: 22 } });
  await measure(20);
  await measure(24);
  await until(isOn);
  expect(await turnOns()).toBe(3);

  await measure(20);
  await switchOff();
  expect(await hub.result('kill_agent', { agent_id: 'warm-light', reason: 'test' })).toEqual({ success: true });
  await measure(24);
  expect(await agent()).toMatchObject({ status: 'killed', runs: 3 });
  expect(await turnOns()).toBe(3);
  expect(await isOn()).toBe(false);
});

test('the replay of a draft over what the thermometer showed says when it would have switched the lamp, and switches nothing', async () => {
  const before = await turnOns();
  const { parameters: _, ...rest } = WARM_LIGHT;
  const replayed = await hub.result('replay_automation', {
    config: { ...rest, trigger: { type: 'reading', sensor_id: SENSOR, above: 22, hysteresis: 1 } },
    permissions: [`sensor:read:${SENSOR}`, 'device:control:living-room-lamp'],
  });
  const list = replayed.list as readonly JsonObject[];
  expect(replayed).toMatchObject({ runs: 4, list: expect.any(Array) });
  for (const { would } of list) expect(would).toEqual([expect.stringContaining('Turn on Living room lamp')]);
  const gaps = (replayed.incomplete as readonly JsonObject[]).map(({ kind, id }) => `${kind} ${id}`);
  expect(gaps).toEqual([`no_readings ${SENSOR}`]);
  expect(await turnOns()).toBe(before);
});

test('an automation that did not run says why, with the value of the thermometer, also after a restart', async () => {
  const conditions = [{ type: 'reading', sensor_id: SENSOR, above: 30 }];
  await hub.result('spawn_agent', {
    agent_type: 'automation',
    name: 'hot-light',
    config: { ...WARM_LIGHT, conditions },
    permissions: [`sensor:read:${SENSOR}`, 'device:control:living-room-lamp'],
  });
  await measure(20);
  await measure(26);
  const why = () => hub.result('explain_automation', { agent_id: 'hot-light' });
  await until(async () => (await why()).cause === 'condition_false');
  const { at, summary } = await why();
  expect(summary).toMatch(/^It did not run at \d\d:\d\d because .*thermometer.* showed 26 °C and it needs more than 30 °C\.$/i);
  expect(await hub.stop()).toBe(0);
  hub = await startHub();
  expect(await hub.result('explain_automation', { agent_id: 'hot-light', at: String(at) })).toMatchObject({
    cause: 'condition_false',
    value: 26,
    at,
  });
  await hub.result('kill_agent', { agent_id: 'hot-light' });
});

test('a draft that works against a living automation on the real lamp, also through a scene, or sets itself off, is found', async () => {
  const permissions = ['device:control:living-room-lamp', 'sensor:read:living-room-lamp/*'];
  const at = { type: 'time', at: '22:00' };
  const check = async (config: JsonObject) => {
    const { conflicts } = await hub.result('hub:check_automation', { config, permissions });
    return (conflicts as readonly JsonObject[]).map(({ kind, severity }) => `${severity}: ${kind}`);
  };
  const on: JsonObject = { trigger: at, actions: [{ tool: 'turn_on_light', params: { device_id: 'living-room-lamp' } }] };
  expect(await hub.result('spawn_agent', { agent_type: 'automation', name: 'evening', config: on, permissions })).toMatchObject({
    conflicts: [],
  });
  await switchOff();
  await hub.result('save_scene', { name: 'Dark', devices: ['living-room-lamp'] });
  const off = (tool: string, params: JsonObject = {}): JsonObject => ({ trigger: at, actions: [{ tool, params }] });
  expect(await check(off('matter:living_room_lamp_turn_off'))).toEqual(['warning: opposite_effects']);
  expect(await check(off('run_scene', { scene: 'Dark' }))).toEqual(['warning: opposite_effects']);
  expect(await check(off('matter:living_room_lamp_turn_on'))).toEqual([]);
  expect(await check({ ...off('matter:living_room_lamp_turn_off'), trigger: { type: 'time', at: '22:01' } })).toEqual([]);
  const changes = { type: 'reading', sensor_id: 'living-room-lamp/is_on', changes: true };
  expect(await check({ trigger: changes, actions: [{ tool: 'matter:living_room_lamp_toggle' }] })).toContain('warning: loop');
  await hub.result('kill_agent', { agent_id: 'evening' });
});

test('its token does at the door what the agent may and nothing else, and nothing once it has ended', async () => {
  const { token } = await hub.result('spawn_agent', {
    agent_type: 'external',
    name: 'helper',
    permissions: ['device:control:living-room-lamp', 'agent:spawn'],
  });
  const as = async (tool: string, params: JsonObject = {}) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await hub.request(`/api/v1/tools/${tool}/invoke`, { method: 'POST', headers, body: JSON.stringify(params) });
    return response.status;
  };
  expect(await as('matter:living_room_lamp_turn_on')).toBe(200);
  expect(await isOn()).toBe(true);
  expect(await as('read_temperature', { location: SENSOR })).toBe(404);
  expect(await as('spawn_agent', { agent_type: 'external', name: 'more', permissions: ['device:control:*'] })).toBe(403);
  expect(await as('spawn_agent', { agent_type: 'external', name: 'less', permissions: ['device:control:living-room-lamp'] })).toBe(200);
  await hub.result('kill_agent', { agent_id: 'helper' });
  expect(await as('matter:living_room_lamp_turn_off')).toBe(401);
  const { agents } = await hub.result('list_agents');
  expect((agents as readonly JsonObject[]).find(({ agent_id }) => agent_id === 'helper/less')).toMatchObject({ status: 'killed' });
  expect(await isOn()).toBe(true);
});
