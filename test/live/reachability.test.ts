import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../../src/core/devices/device-model.ts';
import type { AtmoError } from '../../src/core/errors.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { type DeviceHub, until } from '../matter/device-hub.ts';
import { type OneDevice, startOneDevice } from '../matter/one-device.ts';

let one: OneDevice;
let hub: DeviceHub;
let lamp: VirtualDevice;
let device: Device;

beforeAll(async () => {
  one = await startOneDevice('Living room lamp');
  ({ hub, virtual: lamp, device } = one);
});
afterAll(() => one?.[Symbol.asyncDispose]());

const is = (reachability: Device['reachability'], limitMs: number): Promise<number> =>
  until(() => hub.devices.get(device.id)?.reachability === reachability, limitMs);
const toggle = (): Promise<unknown> =>
  hub.devices.invoke({ device: device.id, endpoint: 1, cluster: 'OnOff', command: 'Toggle' }, {}, { signal: new AbortController().signal });

/** How a call ends and how long that takes. */
async function attempt(): Promise<{ readonly end: string; readonly ms: number }> {
  const startedMs = performance.now();
  const end = await toggle().then(
    () => 'done',
    (error: AtmoError) => error.code,
  );
  return { end, ms: performance.now() - startedMs };
}

describe('a device whose power is cut', () => {
  test('fails each call within 5 s, the second and third too, and is known to be away within 15 s', async () => {
    await lamp.powerOff();
    const known = is('unreachable', 15_000);
    const attempts = [await attempt(), await attempt(), await attempt()];
    await known;
    attempts.push(await attempt());
    for (const { end, ms } of attempts) {
      expect(['OUTCOME_UNKNOWN', 'DEVICE_UNREACHABLE']).toContain(end);
      expect(ms).toBeLessThan(5_000);
    }
    expect(attempts.at(-1)?.end).toBe('DEVICE_UNREACHABLE');
  });

  test('is usable within 5 s of its announcement on another port', async () => {
    await lamp.powerOff();
    await is('unreachable', 15_000);
    await lamp.powerOn({ port: 5_777 });
    expect(await is('reachable', 5_000)).toBeLessThan(5_000);
    expect((await attempt()).end).toBe('done');
    expect((await lamp.commands()).map(({ command }) => command)).toEqual(['toggle']);
  });

  test('restarted on another port before it was missed, it is usable within 15 s and told nothing twice', async () => {
    await lamp.restart({ port: 5_778 });
    const ms = await until(async () => (await attempt()).end === 'done', 15_000);
    expect(ms).toBeLessThan(15_000);
    expect((await lamp.commands()).length).toBe(1);
  });

  test('its values are fresh again afterwards', async () => {
    const startedMs = Date.now();
    await lamp.set(1, 'LevelControl', 'currentLevel', 61);
    const path = { device: device.id, endpoint: 1, cluster: 'LevelControl', attribute: 'CurrentLevel' };
    await until(() => hub.devices.cached(path)?.value === 61, 20_000);
    expect(hub.devices.cached(path)?.atMs).toBeGreaterThanOrEqual(startedMs);
  });
});

describe('a device whose link drops', () => {
  test('idle, is known to be away within 15 s and back within 5 s', async () => {
    await is('reachable', 5_000);
    await lamp.linkDown();
    try {
      expect(await is('unreachable', 15_500)).toBeLessThan(15_500);
    } finally {
      await lamp.linkUp();
    }
    expect(await is('reachable', 5_000)).toBeLessThan(5_000);
    expect((await attempt()).end).toBe('done');
  });
});

describe('a device on batteries that listens all the time', () => {
  test('is unreachable after the first call without an answer', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'reachability-'));
    await using made = new AsyncDisposableStack();
    made.defer(() => rmSync(dir, { recursive: true, force: true }));
    const home = made.use(await VirtualHome.start({ spec: homeOf(standardHome(), ['Kitchen window']), dir }));
    const virtual = home.device('Kitchen window');
    const [window = expect.unreachable('no device came')] = await hub.commission(virtual);
    const path = { device: window.id, endpoint: 1, cluster: 'BooleanState', attribute: 'StateValue' };
    const read = () => hub.devices.read([path], { signal: new AbortController().signal });
    expect((await read()).map(({ reachability }) => reachability)).toEqual(['reachable']);
    await virtual.powerOff();
    const startedMs = performance.now();
    await expect(read()).rejects.toMatchObject({ code: 'DEVICE_UNREACHABLE' });
    await until(() => hub.devices.get(window.id)?.reachability === 'unreachable', 5_000);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(hub.devices.get(window.id)?.isSleepy).toBe(false);
  });
});
