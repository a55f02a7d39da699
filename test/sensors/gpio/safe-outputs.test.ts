import { expect, test } from 'vitest';
import { ChardevChip } from '../../../src/sensors/gpio/chardev-chip.ts';
import { makeOutputsSafe } from '../../../src/sensors/gpio/gpio-board.ts';
import { FakeGpioKernel } from './fake-gpio-kernel.ts';
import { gpioConfig } from './gpio-fixture.ts';

const { outputs } = gpioConfig(
  'gpio: { outputs: { pump: { line: GPIO0 }, fan: { line: 1, safe: "on" }, valve: { line: GPIO2, active_low: true }, gone: { line: GPIO9 } } }',
);

test('outputs that a killed hub left go to their safe state, each by its own, and are free again', () => {
  const kernel = new FakeGpioKernel('pinctrl-rp1', ['GPIO0', 'GPIO1', 'GPIO2']);
  for (const [offset, isHigh] of [true, false, false].entries()) {
    const line = kernel.lines[offset];
    if (line) line.isHigh = isHigh;
  }
  using chip = new ChardevChip(kernel, '/dev/gpiochip0');
  expect(makeOutputsSafe(chip, outputs)).toEqual({
    safe: ['pump off', 'fan on', 'valve off'],
    missed: ['gone (pinctrl-rp1 has no line GPIO9, only GPIO0, GPIO1, GPIO2)'],
  });
  expect(kernel.lines.map(({ isHigh, consumer }) => [isHigh, consumer])).toEqual([
    [false, ''],
    [true, ''],
    [true, ''],
  ]);
});

test('a line that somebody has stays as it is', () => {
  const kernel = new FakeGpioKernel('pinctrl-rp1', ['GPIO0', 'GPIO1', 'GPIO2']);
  using other = new ChardevChip(kernel, '/dev/gpiochip0');
  using _held = other.requestOutput({ offset: 0, isActiveLow: false, isActive: true });
  using chip = new ChardevChip(kernel, '/dev/gpiochip0');
  const { safe, missed } = makeOutputsSafe(chip, outputs);
  expect(safe).toEqual(['fan on', 'valve off']);
  expect(missed[0]).toBe('pump (Line 0 of pinctrl-rp1 is in use already)');
  expect(kernel.lines[0]?.isHigh).toBe(true);
});
