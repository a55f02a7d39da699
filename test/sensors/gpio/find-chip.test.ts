import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findChip } from '../../../src/sensors/gpio/chardev-chip.ts';
import { FakeGpioKernel } from './fake-gpio-kernel.ts';

let devDir = '';

beforeAll(() => {
  devDir = mkdtempSync(join(tmpdir(), 'atmo-dev-'));
  for (const file of ['gpiochip0', 'gpiochip4', 'gpiomem', 'null']) writeFileSync(join(devDir, file), '');
});
afterAll(() => rmSync(devDir, { recursive: true }));

test.each([undefined, 'pinctrl-rp1', 'gpiochip0'])(
  'a chip is found by its label or its name, and the board has one without: %s',
  (wanted) => {
    const kernel = new FakeGpioKernel('pinctrl-rp1');
    const chip = findChip(wanted, { kernel, devDir });
    expect(chip.label).toBe('pinctrl-rp1');
    expect(kernel.openDescriptors).toBe(1);
    chip[Symbol.dispose]();
  },
);

test('a chip is found by its path', () => {
  expect(findChip(join(devDir, 'gpiochip0'), { kernel: new FakeGpioKernel('tca9555'), devDir }).label).toBe('tca9555');
});

test('a missing chip is refused with the names of the existing ones, and none stays open', () => {
  const kernel = new FakeGpioKernel('pinctrl-rp1');
  expect(() => findChip('pinctrl-bcm2711', { kernel, devDir })).toThrow('No GPIO chip pinctrl-bcm2711: there are pinctrl-rp1 (gpiochip0)');
  expect(kernel.openDescriptors).toBe(0);
});

test('a machine without chips is refused with that reason', () => {
  expect(() => findChip(undefined, { kernel: new FakeGpioKernel(), devDir: join(devDir, 'nothing') })).toThrow(/there is none/);
});
