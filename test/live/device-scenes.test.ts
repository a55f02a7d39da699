import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { RunningHub } from './running-hub.ts';

const LAMPS = ['Living room lamp', 'Bedroom lamp', 'Kitchen ceiling'];
const BLIND = 'Bedroom blind';
const LIMIT = { timeout: 20_000 };

const stack = new AsyncDisposableStack();
let home: VirtualHome;
let hub: RunningHub;

/** How often the hub has sent a command to a device; every command of the device where none is named. */
async function count(name: string, command?: string): Promise<number> {
  const all = (await home.device(name).commands()).filter(({ endpoint }) => endpoint === 1);
  return all.filter((one) => command === undefined || one.command === command).length;
}

const counts = (command?: string) => Promise.all(LAMPS.map((name) => count(name, command)));
const lampsOn = () => Promise.all(LAMPS.map((name) => home.device(name).get(1, 'OnOff', 'onOff')));
const levels = () => Promise.all(LAMPS.map((name) => home.device(name).get(1, 'LevelControl', 'currentLevel')));

/** Runs the scene from the dark. Resolves with what it did, how many commands the lamps got, and how long it took. */
async function runFromDark() {
  await hub.call('core:control_area', { area: 'house', what: 'lights', action: 'off' });
  await expect.poll(lampsOn, LIMIT).toEqual([false, false, false]);
  const before = await counts();
  const startedMs = performance.now();
  const answer = await hub.result('scene:evening');
  const tookMs = performance.now() - startedMs;
  const commands = (await counts()).map((number, index) => number - (before[index] ?? 0));
  return { answer, commands, tookMs };
}

beforeAll(async () => {
  const dir = stack.adopt(mkdtempSync(join(tmpdir(), 'device-scenes-')), (path) => rmSync(path, { recursive: true, force: true }));
  home = stack.use(await VirtualHome.start({ spec: homeOf(standardHome(), [...LAMPS, BLIND]), dir: join(dir, 'home') }));
  hub = stack.use(await RunningHub.start({ stateDir: join(dir, 'hub'), config: { sensors: { discover: false } } }));
  for (const { pairing, name } of home.devices) await hub.result('hub:commission_device', { code: pairing.qrCode, name, area: 'House' });
  for (const [index, name] of LAMPS.entries()) {
    await home.device(name).set(1, 'OnOff', 'onOff', true);
    await home.device(name).set(1, 'LevelControl', 'currentLevel', 100 + index);
  }
});
afterAll(() => stack.disposeAsync());

const RUNS = 5;

/** Runs the scene from the dark several times, and tells the middle of the times. */
async function timed(how: string): Promise<readonly (readonly number[])[]> {
  const runs = [];
  for (let count = 0; count < RUNS; count++) runs.push(await runFromDark());
  const times = runs.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  console.log(`a scene of three lamps and a blind, ${how}: ${Math.round(times[RUNS >> 1] ?? 0)} ms`);
  for (const { answer } of runs) expect(answer).toMatchObject({ success: true, counts: { settled: 4 } });
  return runs.map(({ commands }) => commands);
}

/** Whether the lamps are as bright as the scene has them: a command rounds to percents. */
async function areAsSaved(): Promise<boolean> {
  return (await levels()).every((level, index) => Math.abs(Number(level) - 100 - index) <= 2);
}

test('lamps keep a scene that is saved from what is now, and one command brings each back', async () => {
  expect(await hub.result('core:save_scene', { name: 'Evening', area: 'house' })).toMatchObject({ left_out: [] });
  expect([await counts('storeScene'), await count(BLIND, 'storeScene')]).toEqual([[1, 1, 1], 0]);
  expect(await timed('kept by the lamps')).toEqual(Array.from({ length: RUNS }, () => [1, 1, 1]));
  expect(await counts('recallScene')).toEqual([RUNS, RUNS, RUNS]);
  expect(await levels()).toEqual([100, 101, 102]);
});

test('a lamp that was changed by hand is brought back like the others', async () => {
  await home.device(LAMPS[1] ?? '').set(1, 'LevelControl', 'currentLevel', 7);
  expect(await hub.result('scene:evening')).toMatchObject({ success: true, counts: { settled: 4 } });
  expect(await levels()).toEqual([100, 101, 102]);
});

test('a lamp whose own scene differs or is gone gets its commands, is told by what it shows, and is not asked again', async () => {
  const own = (command: string, name: string) =>
    hub.result('matter:control_matter_device', {
      device_id: name,
      endpoint: 1,
      cluster: 'ScenesManagement',
      command,
      params: { groupId: 0, sceneId: 254 },
    });
  await home.device(LAMPS[0] ?? '').set(1, 'LevelControl', 'currentLevel', 30);
  await own('StoreScene', LAMPS[0] ?? '');
  await own('RemoveScene', LAMPS[1] ?? '');
  const before = await counts('recallScene');
  for (let count = 0; count < 2; count++) {
    expect(await runFromDark()).toMatchObject({ answer: { success: true, counts: { settled: 4 } } });
    expect(await areAsSaved()).toBe(true);
  }
  expect((await counts('recallScene')).map((number, index) => number - (before[index] ?? 0))).toEqual([1, 1, 2]);
});

test('a scene that becomes a list of actions is forgotten by the lamps, which get commands', async () => {
  const { scenes } = (await hub.result('core:list_scenes')) as { readonly scenes?: readonly JsonObject[] };
  const actions = scenes?.[0]?.actions as unknown as readonly JsonObject[];
  const listed = actions.map(({ device_id: device, action, params }) => ({ device, action, params })) as unknown as JsonObject[];
  await hub.result('core:change_scene', { scene: 'evening', actions: listed });
  expect(await count(LAMPS[2] ?? '', 'removeScene')).toBe(1);
  const before = await counts('recallScene');
  expect(await timed('by commands')).toEqual(Array.from({ length: RUNS }, () => [1, 2, 2]));
  expect([await counts('recallScene'), await areAsSaved()]).toEqual([before, true]);
});
