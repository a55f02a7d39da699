import { expect, test } from 'vitest';
import { findLine } from '../../../src/sensors/gpio/gpio-chip.ts';
import { SimulatedChip } from '../../../src/sensors/gpio/simulated-chip.ts';
import { ManualClock } from '../../manual-clock.ts';
import { gpioChipContract } from './gpio-chip-contract.ts';

gpioChipContract('simulated chip', () => {
  const clock = new ManualClock();
  const chip = new SimulatedChip(clock);
  return {
    chip,
    drive: (offset, isHigh) => {
      chip.drive(offset, isHigh);
      clock.advance(0);
    },
    isHigh: (offset) => chip.isHigh(offset),
    pass: (ms) => clock.advance(ms),
  };
});

test('a line is found by its number and by its name', () => {
  const lines = new SimulatedChip(new ManualClock(), { names: ['ID_SDA', 'ID_SCL', 'GPIO2'] }).lines();
  expect([findLine(lines, 1), findLine(lines, 'GPIO2'), findLine(lines, 'GPIO3'), findLine(lines, 3)]).toEqual([
    1,
    2,
    undefined,
    undefined,
  ]);
});
