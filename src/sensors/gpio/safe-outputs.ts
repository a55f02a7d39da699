import type { GpioChip } from './gpio-chip.ts';
import type { GpioConfig } from './gpio-config.ts';
import { offsetOf, problemOf } from './gpio-line.ts';

/** What became of outputs that were to be made safe; each as text for people. */
export interface SafeOutputs {
  /** Such as `garden_pump off`. */
  readonly safe: readonly string[];
  /** Those that could not be set, with the reason. */
  readonly missed: readonly string[];
}

/** Sets the outputs to their safe state where nobody has their lines, and gives the lines back. Never throws. */
export function makeOutputsSafe(chip: GpioChip, outputs: GpioConfig['outputs']): SafeOutputs {
  const [safe, missed]: [string[], string[]] = [[], []];
  for (const [name, { line, activeLow: isActiveLow, safe: state }] of Object.entries(outputs)) {
    try {
      chip.requestOutput({ offset: offsetOf(chip, line), isActiveLow, isActive: state === 'on' })[Symbol.dispose]();
      safe.push(`${name} ${state}`);
    } catch (error) {
      missed.push(`${name} (${problemOf(error)})`);
    }
  }
  return { safe, missed };
}
