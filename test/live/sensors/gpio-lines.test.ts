import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { RunningHub } from '../running-hub.ts';

const LINES = {
  inputs: { front_door: { line: 'GPIO17', kind: 'contact', bias: 'pull-up', area: 'Hall' } },
  outputs: { pump: { line: 27, max_seconds: 600, title: 'Garden pump' }, siren: { line: 24, risk: 'dangerous' } },
};

const folders: string[] = [];

function start(gpio: JsonObject): Promise<RunningHub> {
  const stateDir = mkdtempSync(join(tmpdir(), 'gpio-'));
  folders.push(stateDir);
  return RunningHub.start({ stateDir, config: { matter: { enabled: false }, sensors: { poll_seconds: 1, gpio } } });
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describe('a hub with GPIO lines', () => {
  let hub: RunningHub;
  beforeAll(async () => {
    hub = await start({ backend: 'sim', ...LINES });
  });
  afterAll(() => hub[Symbol.asyncDispose]());

  const latest = async (sensor: string) => {
    const reading = await hub.result('query_sensor', { sensor_id: sensor });
    return (reading as { readonly values: readonly { readonly value: unknown }[] }).values.at(-1)?.value;
  };

  test('has inputs as sensors', async () => {
    await expect.poll(() => latest('gpio/front_door')).toBe(1);
  });

  test('turns an output on and off, and knows at once that it did', async () => {
    expect(await hub.result('gpio:pump_turn_on', {})).toEqual({ output: 'pump', is_on: true });
    expect(await latest('gpio/pump')).toBe(1);
    expect(await hub.result('gpio:pump_turn_off', {})).toEqual({ output: 'pump', is_on: false });
    expect(await latest('gpio/pump')).toBe(0);
  });

  test('pulses an output and tells its history', async () => {
    expect(await hub.result('gpio:pump_pulse', { duration_ms: 50 })).toEqual({ output: 'pump', is_on: false });
    const start = new Date(Date.now() - 60_000).toISOString();
    const history = await hub.result('query_sensor', { sensor_id: 'gpio/pump', time_range: { start }, aggregation: 'max' });
    expect(history).toMatchObject({ values: [{ value: 1 }], sensor_type: 'switch' });
  });

  test('lets nobody turn a dangerous output on without an approval', async () => {
    const answer = await hub.call('gpio:siren_turn_on', {}, { approve: false });
    expect(answer).toMatchObject({ status: 'error', error: { code: 'APPROVAL_REQUIRED' } });
    expect(await latest('gpio/siren')).toBe(0);
    expect(await hub.result('gpio:siren_turn_on', {})).toEqual({ output: 'siren', is_on: true });
    expect(await hub.result('gpio:siren_turn_off', {})).toEqual({ output: 'siren', is_on: false });
  });
});

test('a hub on a machine without the chip starts all the same, and says what it misses', async () => {
  await using hub = await start({ chip: 'pinctrl-of-nobody', ...LINES });
  expect(await hub.call('gpio:pump_turn_on', {})).toMatchObject({ status: 'error', error: { code: 'DEVICE_UNREACHABLE' } });
  expect(hub.log.join('')).toContain('No GPIO chip pinctrl-of-nobody');
});
