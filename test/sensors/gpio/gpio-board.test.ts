import { describe, expect, test } from 'vitest';
import type { SensorSample } from '../../../src/sensors/sensor-source.ts';
import { FullStore } from '../../full-store.ts';
import { ManualClock } from '../../manual-clock.ts';
import { sensorSourceContract } from '../sensor-source-contract.ts';
import { GpioFixture } from './gpio-fixture.ts';

const HOME = `
gpio:
  chip: pinctrl-rp1
  inputs:
    front_door: { line: GPIO1, kind: contact, bias: pull-up, debounce_ms: 20, title: Front door, area: Hall }
    motion: { line: 2, kind: occupancy }
    water_meter: { line: 3, kind: water, counts_per_unit: 100, unit: m³ }
  outputs:
    pump: { line: GPIO4, active_low: true }
    valve: { line: 5, initial: on, safe: off, max_seconds: 60 }
`;

async function started(yaml = HOME) {
  const setup = new GpioFixture(yaml);
  await setup.gpio.service.start();
  return setup;
}

sensorSourceContract('a board of GPIO lines', async () => {
  const setup = await started();
  const offsetOf: Readonly<Record<string, number>> = { 'gpio:front_door': 1, 'gpio:motion': 2, 'gpio:water_meter': 3 };
  return {
    source: setup.gpio.source,
    unplug: (address) => void setup.kernel.brokenOffsets.add(offsetOf[address] ?? 0),
    provoke: (address) => {
      const offset = offsetOf[address] ?? 0;
      setup.kernel.drive(offset, !setup.isHigh(offset));
      setup.clock.advance(20);
    },
    [Symbol.asyncDispose]: () => setup.gpio.service[Symbol.asyncDispose](),
  };
});

describe('inputs', () => {
  test('are listed with the settings of the owner', async () => {
    const { gpio } = await started();
    expect((await gpio.source.find())[0]).toEqual({
      address: 'gpio:front_door',
      device: 'gpio',
      reading: 'front_door',
      kind: 'contact',
      unit: '',
      title: 'Front door',
      area: 'Hall',
      isConfigured: true,
    });
  });

  test('emit every change with the time stamp of the kernel', async () => {
    const { gpio, kernel, clock } = await started();
    const samples: SensorSample[] = [];
    gpio.source.listen?.((sample) => samples.push(sample));
    const startMs = clock.now();
    kernel.drive(2, true, { isRead: false });
    clock.advance(40);
    kernel.drive(2, false);
    expect(samples).toEqual([
      { address: 'gpio:motion', value: true, atMs: startMs },
      { address: 'gpio:motion', value: false, atMs: startMs + 40 },
    ]);
  });

  test('that flutter are emitted at a bounded rate, then as their state, and people are warned once', async () => {
    const setup = await started();
    const { gpio, kernel, clock } = setup;
    const samples: SensorSample[] = [];
    gpio.source.listen?.((sample) => samples.push(sample));
    for (let change = 1; change <= 1001; change += 1) kernel.drive(2, change % 2 === 1);
    expect(samples).toHaveLength(20);
    clock.advance(1000);
    expect(samples).toHaveLength(21);
    expect(samples.at(-1)).toMatchObject({ value: true });
    kernel.drive(2, false);
    expect(samples.at(-1)).toMatchObject({ value: false });
    for (let change = 1; change <= 100; change += 1) kernel.drive(2, change % 2 === 1);
    expect(setup.warnings).toEqual(['gpio.changes_limited']);
  });

  test('whose changes came too fast to be read say how many were lost', async () => {
    const setup = await started();
    for (let change = 1; change <= 20; change += 1) setup.kernel.drive(2, change % 2 === 1, { isRead: false });
    setup.kernel.drive(2, true);
    expect(setup.events.map(({ data }) => data.message)).toEqual(['motion: 5 changes came faster than they could be read']);
  });
});

describe('meters', () => {
  const pulses = (setup: GpioFixture, count: number) => {
    for (let pulse = 0; pulse < count; pulse += 1) {
      setup.kernel.drive(3, true);
      setup.kernel.drive(3, false);
    }
  };

  test('count pulses in their unit, those that could not be read too', async () => {
    const setup = await started();
    pulses(setup, 250);
    expect((await setup.values())['gpio:water_meter']).toBe(2.5);
    for (let change = 0; change < 100; change += 1) setup.kernel.drive(3, change % 2 === 0, { isRead: false });
    pulses(setup, 1);
    expect((await setup.values())['gpio:water_meter']).toBe(3.01);
  });

  test('go on from where they were, after a stop and after an end without one', async () => {
    const first = await started();
    pulses(first, 70);
    await first.gpio.service[Symbol.asyncDispose]();
    const second = new GpioFixture(HOME, first.store);
    await second.gpio.service.start();
    pulses(second, 5);
    second.exit();
    const third = new GpioFixture(HOME, first.store);
    await third.gpio.service.start();
    expect((await third.values())['gpio:water_meter']).toBe(0.75);
  });

  test('on a full disk count on, end with the hub, and are kept as soon as there is room', async () => {
    const store = new FullStore(new ManualClock());
    const setup = new GpioFixture(HOME, store);
    await setup.gpio.service.start();
    pulses(setup, 70);
    setup.clock.advance(300_000);
    expect((await setup.values())['gpio:water_meter']).toBe(0.7);
    store.isFull = false;
    setup.clock.advance(300_000);
    expect(store.entries('gpio-pulses')).toEqual([{ key: 'water_meter', value: 70 }]);
    store.isFull = true;
    pulses(setup, 1);
    await setup.gpio.service[Symbol.asyncDispose]();
    await expect(setup.values()).resolves.toMatchObject({ 'gpio:water_meter': 'gone' });
  });

  test('are written down every five minutes, and only where they went on', async () => {
    const setup = await started();
    pulses(setup, 3);
    expect(setup.store.entries('gpio-pulses')).toEqual([]);
    setup.clock.advance(300_000);
    expect(setup.store.entries('gpio-pulses')).toEqual([{ key: 'water_meter', value: 3 }]);
    setup.store.delete('gpio-pulses', 'water_meter');
    setup.clock.advance(300_000);
    expect(setup.store.entries('gpio-pulses')).toEqual([]);
  });
});

describe('outputs', () => {
  test('have their initial state from the start on, and are sensors of their state', async () => {
    const setup = await started();
    expect([setup.isHigh(4), setup.isHigh(5)]).toEqual([true, true]);
    expect(await setup.values()).toMatchObject({ 'gpio:pump': false, 'gpio:valve': true });
  });

  test('are safe when the hub has stopped, and their lines are free', async () => {
    const setup = await started();
    await setup.gpio.service[Symbol.asyncDispose]();
    expect([setup.isHigh(4), setup.isHigh(5)]).toEqual([true, false]);
    expect(setup.kernel.openDescriptors).toBe(0);
  });

  test('are safe when the process ends without a stop', async () => {
    const setup = await started();
    setup.exit();
    expect(setup.isHigh(5)).toBe(false);
  });

  test('do not stay away from their safe state longer than the owner allows, from the start on', async () => {
    const setup = await started();
    setup.clock.advance(59_999);
    expect(setup.isHigh(5)).toBe(true);
    setup.clock.advance(1);
    expect(setup.isHigh(5)).toBe(false);
  });
});

describe('a chip', () => {
  test('that is missing causes one warning, and all of its lines are gone', async () => {
    const setup = new GpioFixture(HOME);
    setup.kernel.isUnplugged = true;
    await setup.gpio.service.start();
    expect(setup.warnings).toEqual(['gpio.chip_unusable']);
    expect(new Set(Object.values(await setup.values()))).toEqual(new Set(['gone']));
  });

  test('that comes back has its lines again, outputs in their safe state', async () => {
    const setup = await started();
    setup.kernel.isUnplugged = true;
    await turn(setup);
    expect((await setup.values())['gpio:valve']).toBe('gone');
    setup.kernel.isUnplugged = false;
    await turn(setup);
    expect(await setup.values()).toMatchObject({ 'gpio:front_door': true, 'gpio:valve': false });
    expect(setup.kernel.openDescriptors).toBe(6);
  });

  test('keeps the lines that it has where one is in use by another program', async () => {
    const setup = new GpioFixture(HOME);
    Object.assign(setup.kernel.lines[2] ?? {}, { consumer: 'spi0 CS0' });
    await setup.gpio.service.start();
    expect(await setup.values()).toMatchObject({ 'gpio:motion': 'gone', 'gpio:pump': false });
    expect(setup.events.map(({ data }) => data.message)).toEqual(['motion: Line 2 of pinctrl-rp1 is in use already']);
    Object.assign(setup.kernel.lines[2] ?? {}, { consumer: '' });
    await turn(setup);
    expect((await setup.values())['gpio:motion']).toBe(false);
  });

  test('without a line of the name is refused with its names', async () => {
    const setup = await started('gpio: { inputs: { door: { line: GPIO99 } } }');
    expect(setup.events.map(({ data }) => data.message)).toEqual([
      'door: pinctrl-rp1 has no line GPIO99, only GPIO0, GPIO1, GPIO2, GPIO3, GPIO4, GPIO5, GPIO6, GPIO7',
    ]);
  });
});

/** The half minute after which the board looks again. */
async function turn(setup: GpioFixture): Promise<void> {
  setup.clock.advance(30_000);
  await new Promise((resolve) => setImmediate(resolve));
}
