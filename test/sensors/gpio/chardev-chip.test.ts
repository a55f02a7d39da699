import { expect, test } from 'vitest';
import { ChardevChip } from '../../../src/sensors/gpio/chardev-chip.ts';
import type { GpioEdge } from '../../../src/sensors/gpio/gpio-chip.ts';
import { FakeGpioKernel } from './fake-gpio-kernel.ts';
import { gpioChipContract } from './gpio-chip-contract.ts';

gpioChipContract('character device', () => {
  const kernel = new FakeGpioKernel();
  return {
    chip: new ChardevChip(kernel, '/dev/gpiochip0'),
    drive: (offset, isHigh) => kernel.drive(offset, isHigh),
    isHigh: (offset) => kernel.lines[offset]?.isHigh ?? false,
    pass: (ms) => kernel.clock.advance(ms),
  };
});

const input = { offset: 3, isActiveLow: false, bias: 'as-is', edge: 'both', debounceMs: 0 } as const;

test('a missing file, and one that is no chip, are refused with their path', () => {
  const kernel = new FakeGpioKernel();
  expect(() => new ChardevChip(kernel, '/dev/gpiochip7')).toThrow(/no GPIO chip at \/dev\/gpiochip7/);
  kernel.isUnplugged = true;
  expect(() => new ChardevChip(kernel, '/dev/gpiochip0')).toThrow(/is no GPIO chip: errno 19/);
  expect(kernel.openDescriptors).toBe(0);
});

test('changes that the kernel could not keep are counted', () => {
  const kernel = new FakeGpioKernel();
  const edges: GpioEdge[] = [];
  const chip = new ChardevChip(kernel, '/dev/gpiochip0');
  chip.requestInput(input, (edge) => edges.push(edge));
  for (let change = 1; change <= 20; change += 1) kernel.drive(3, change % 2 === 1, { isRead: false });
  kernel.drive(3, true);
  expect(edges.map(({ missed }) => missed)).toEqual([5, ...Array.from({ length: 15 }, () => 0)]);
});

test('a change that waited has the age of its time stamp', () => {
  const kernel = new FakeGpioKernel();
  const edges: GpioEdge[] = [];
  new ChardevChip(kernel, '/dev/gpiochip0').requestInput(input, (edge) => edges.push(edge));
  kernel.drive(3, true, { isRead: false });
  kernel.clock.advance(250);
  kernel.drive(3, false);
  expect(edges.map(({ ageMs }) => ageMs)).toEqual([250, 0]);
});

test('an unplugged chip is an error, and its line is not polled for ever', () => {
  const kernel = new FakeGpioKernel();
  const chip = new ChardevChip(kernel, '/dev/gpiochip0');
  const line = chip.requestInput(input, () => undefined);
  kernel.isUnplugged = true;
  kernel.drive(3, true);
  expect(() => line.isActive()).toThrow(/Line 3 of pinctrl-rp1 cannot be reached: its chip answers with errno 19/);
  kernel.isUnplugged = false;
  line[Symbol.dispose]();
  chip[Symbol.dispose]();
  expect(kernel.openDescriptors).toBe(0);
});

test('a line that was given back throws', () => {
  const line = new ChardevChip(new FakeGpioKernel(), '/dev/gpiochip0').requestInput(input, () => undefined);
  line[Symbol.dispose]();
  expect(() => line.isActive()).toThrow(/it was given back/);
});
