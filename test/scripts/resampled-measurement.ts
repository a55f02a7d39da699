import type { Measurement } from '../../scripts/bench/gate/verdict.ts';
import { AtmoError } from '../../src/core/errors.ts';

/**
 * Another measurement of the same programs, drawn from a recorded one: each repeat takes as many of its own rounds, at random with
 * repetition. What a whole process or a whole repeat had in common stays as it was measured (a bootstrap of blocks).
 * `random` gives numbers from 0 to below 1.
 */
export function resample(measurement: Measurement, random: () => number): Measurement {
  const repeats = measurement.repeats.map((pairs) => pairs.map(() => pairs[Math.floor(random() * pairs.length)] ?? none(measurement.name)));
  return { ...measurement, repeats };
}

/** The same measurement with the two programs changed about; where both are one program, it might as well have come so. */
export function swapped(measurement: Measurement): Measurement {
  const repeats = measurement.repeats.map((pairs) => pairs.map(({ base, present }) => ({ base: present, present: base })));
  return { ...measurement, repeats };
}

function none(name: string): never {
  throw new AtmoError('INTERNAL_ERROR', `A repeat of ${name} has no round`);
}
