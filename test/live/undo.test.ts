import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { RunningHub } from './running-hub.ts';

const LAMP = 'Living room lamp';
const SET_BRIGHTNESS = 'matter:living_room_lamp_set_brightness';

let dir: string;
let home: VirtualHome;
let hub: RunningHub;

const start = () => RunningHub.start({ stateDir: join(dir, 'hub'), config: { sensors: { discover: false } } });
const lamp = () => home.device(LAMP);
const state = async () => [await lamp().get(1, 'OnOff', 'onOff'), await lamp().get(1, 'LevelControl', 'currentLevel')];

async function given(isOn: boolean, level: number): Promise<void> {
  await lamp().set(1, 'LevelControl', 'currentLevel', level);
  await lamp().set(1, 'OnOff', 'onOff', isOn);
  const told = async () => nowOf(await rehearse(SET_BRIGHTNESS, { brightness: 100 }));
  await expect.poll(told).toEqual({ brightness: Math.round((level / 254) * 100), is_on: isOn });
}

function nowOf({ changes }: JsonObject): JsonObject {
  return Object.fromEntries((changes as unknown as readonly JsonObject[]).map(({ name, now = null }) => [name, now]));
}

async function rehearse(tool: string, params: JsonObject): Promise<JsonObject> {
  const response = await hub.request(`/api/v1/tools/${encodeURIComponent(tool)}/invoke?rehearse=true`, {
    method: 'POST',
    body: JSON.stringify(params),
    headers: { 'content-type': 'application/json' },
  });
  return (await response.json()) as JsonObject;
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'undo-'));
  home = await VirtualHome.start({ spec: homeOf(standardHome(), [LAMP]), dir: join(dir, 'home') });
  hub = await start();
  for (const { pairing, name } of home.devices) await hub.result('hub:commission_device', { code: pairing.qrCode, name });
});

afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

test('a rehearsed lamp stays as it is, and a lamp that was set is put back exactly, after a hub that was killed as well', async () => {
  await given(true, 101);
  const commands = (await lamp().commands()).length;
  const rehearsal = await rehearse(SET_BRIGHTNESS, { brightness: 80 });
  expect(rehearsal).toMatchObject({ outcome: 'would_run', risk: 'low', undo: { possible: true } });
  expect(rehearsal.changes).toContainEqual(expect.objectContaining({ name: 'brightness', now: 40, expected: 80 }));
  const turnOff = { trigger: { type: 'every', seconds: 1800 }, actions: [{ tool: 'matter:living_room_lamp_turn_off' }] };
  const request = { agent_type: 'automation', name: 'Evening', permissions: ['device:control:*'], config: turnOff };
  const { agent_id: agent } = (await hub.result('spawn_agent', request)) as JsonObject;
  const { conflicts } = await rehearse('matter:living_room_lamp_turn_on', {});
  expect(conflicts).toMatchObject([
    { when: 'at_time', certain: true, agent_id: agent, sentence: expect.stringMatching(/^"Evening" will do this at \d\d:\d\d: Turn off /) },
  ]);
  await hub.result('kill_agent', { agent_id: agent ?? '' });
  expect(await rehearse('matter:living_room_lamp_turn_on', {})).not.toHaveProperty('conflicts');
  expect((await lamp().commands()).length).toBe(commands);
  const answer = await hub.call(SET_BRIGHTNESS, { brightness: 80 });
  await expect.poll(state).toEqual([true, 203]);
  await hub.kill();
  hub = await start();
  const undone = () => hub.call('hub:undo', { trace_id: answer.trace_id });
  await expect.poll(async () => (await undone()).status, { timeout: 60_000, interval: 500 }).toBe('success');
  expect(await state()).toEqual([true, 101]);
});

test('what somebody changed at the lamp since is not overwritten', async () => {
  await given(true, 101);
  const { trace_id: traceId } = await hub.call(SET_BRIGHTNESS, { brightness: 80 });
  await given(true, 51);
  const refused = await hub.call('hub:undo', { trace_id: traceId });
  expect(refused).toMatchObject({ status: 'error', error: { code: 'CONFLICT', details: { reason: 'changed_since' } } });
  expect(await state()).toEqual([true, 51]);
});

test('a lamp gets its room and its name back, and a scene that was saved is deleted', async () => {
  const devices = async () => ((await hub.get('/api/v1/devices')) as unknown as { devices: readonly JsonObject[] }).devices;
  const [before] = await devices();
  const id = String(before?.id);
  const calls = [
    ['hub:set_device_area', { device_id: id, area: 'Attic' }],
    ['hub:rename_device', { device_id: id, name: 'Moon' }],
    ['save_scene', { name: 'Evening', devices: [id] }],
  ] as const;
  const traces: string[] = [];
  for (const [tool, params] of calls) {
    const answer = await hub.call(tool, params);
    expect(answer).toMatchObject({ status: 'success' });
    traces.push(answer.trace_id);
  }
  expect((await devices())[0]).toMatchObject({ name: 'Moon', area: 'Attic' });
  for (const trace of traces.toReversed()) expect(await hub.call('hub:undo', { trace_id: trace })).toMatchObject({ status: 'success' });
  expect((await devices())[0]).toMatchObject({ name: String(before?.name), ...(before?.area !== undefined && { area: before.area }) });
  expect(await hub.result('list_scenes')).toMatchObject({ scenes: [] });
});
