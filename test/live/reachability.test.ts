import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Device } from '../../src/core/devices/device-model.ts';
import type { AtmoError } from '../../src/core/errors.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { type DeviceHub, until } from '../matter/device-hub.ts';
import { type OneDevice, startOneDevice } from '../matter/one-device.ts';

const ROUNDS = 5;
const TRIES = 40;
/** The last repetition of a message by the protocol comes 13 s after the first (Core §4.12.8, five transmissions). */
const LAST_REPETITION_MS = 14_000;

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
const toggle = (signal = new AbortController().signal): Promise<unknown> =>
  hub.devices.invoke({ device: device.id, endpoint: 1, cluster: 'OnOff', command: 'Toggle' }, {}, { signal });

/** How a call ends and how long that takes. */
async function attempt(): Promise<{ readonly end: string; readonly ms: number }> {
  const startedMs = performance.now();
  const end = await toggle().then(
    () => 'done',
    (error: AtmoError) => error.code,
  );
  return { end, ms: performance.now() - startedMs };
}

describe('a device that nobody has looked at or called', () => {
  test('is known to be away within 60 s of the loss of its link', async () => {
    await lamp.linkDown();
    try {
      expect(await is('unreachable', 60_000)).toBeLessThan(60_000);
    } finally {
      await lamp.linkUp();
    }
    await is('reachable', 30_000);
  }, 120_000);
});

describe('a device whose power is cut', () => {
  test('fails each call within 5 s, the second and third too, and is unreachable within 15 s', async () => {
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

  test('that restarts on another port before a call failed is usable within 15 s and gets the command once', async () => {
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
  test('while somebody looks at it, is known to be away within 15 s and back within 5 s', async () => {
    await is('reachable', 5_000);
    hub.attention.noteRead('all');
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

describe('a call that was given up', () => {
  const outcome = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: AtmoError) => error.code,
    );
  const write = (signal: AbortSignal): Promise<unknown> =>
    hub.devices.write({ device: device.id, endpoint: 1, cluster: 'LevelControl', attribute: 'OnLevel' }, 33, { signal });
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  beforeEach(async () => {
    await is('reachable', 20_000);
  });

  test(`never reaches the device later: ${ROUNDS * TRIES} tries, none late`, async () => {
    await hub.devices.invoke(
      { device: device.id, endpoint: 1, cluster: 'OnOff', command: 'On' },
      {},
      { signal: AbortSignal.timeout(5_000) },
    );
    await hub.devices.write({ device: device.id, endpoint: 1, cluster: 'LevelControl', attribute: 'OnLevel' }, 44, {
      signal: AbortSignal.timeout(5_000),
    });
    const before = (await lamp.commands()).length;
    const outcomes: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await lamp.linkDown();
      const tries = Array.from({ length: TRIES }, (_, index) => {
        const signal = AbortSignal.timeout(30 + index * 20);
        return outcome(index % 4 === 3 ? write(signal) : toggle(signal));
      });
      outcomes.push(...(await Promise.all(tries)));
      await lamp.linkUp();
      await pause(300);
    }
    await pause(LAST_REPETITION_MS);
    expect(outcomes).toEqual(Array.from({ length: ROUNDS * TRIES }, () => 'CANCELLED'));
    expect((await lamp.commands()).length).toBe(before);
    expect(await lamp.get(1, 'LevelControl', 'OnLevel')).toBe(44);
  });

  test('by its deadline neither runs later, and the next call runs once', async () => {
    const before = (await lamp.commands()).length;
    await lamp.linkDown();
    const startedMs = performance.now();
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => outcome(toggle())));
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(new Set(outcomes).difference(new Set(['OUTCOME_UNKNOWN', 'DEVICE_UNREACHABLE'])).size).toBe(0);
    await lamp.linkUp();
    await is('reachable', 30_000);
    expect(await outcome(toggle())).toBe('done');
    await pause(LAST_REPETITION_MS - 4_000);
    expect((await lamp.commands()).length - before).toBe(1);
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
