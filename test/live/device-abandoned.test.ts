import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Device } from '../../src/core/devices/device-model.ts';
import type { AtmoError } from '../../src/core/errors.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
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
beforeEach(async () => {
  await lamp.linkUp();
  await until(() => hub.devices.get(device.id)?.reachability === 'reachable');
});

const outcome = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: AtmoError) => error.code,
  );
const toggle = (signal: AbortSignal): Promise<unknown> =>
  hub.devices.invoke({ device: device.id, endpoint: 1, cluster: 'OnOff', command: 'Toggle' }, {}, { signal });
const write = (signal: AbortSignal): Promise<unknown> =>
  hub.devices.write({ device: device.id, endpoint: 1, cluster: 'LevelControl', attribute: 'OnLevel' }, 33, { signal });
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('a call that was given up', () => {
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
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => outcome(toggle(new AbortController().signal))));
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(new Set(outcomes).difference(new Set(['OUTCOME_UNKNOWN', 'DEVICE_UNREACHABLE'])).size).toBe(0);
    await lamp.linkUp();
    await until(() => hub.devices.get(device.id)?.reachability === 'reachable', 30_000);
    expect(await outcome(toggle(new AbortController().signal))).toBe('done');
    await pause(LAST_REPETITION_MS - 4_000);
    expect((await lamp.commands()).length - before).toBe(1);
  });
});
