import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { judge, type Measurement } from '../../scripts/bench/gate/verdict.ts';
import { seededRandom } from '../seeded-random.ts';
import { resample, swapped } from './resampled-measurement.ts';

/** A run of one program against itself, as `npm run bench -- --gate --self N --record FILE` wrote it. */
interface RecordedRun {
  /** Load averages of a machine with two processors, before and after. */
  readonly load: readonly number[];
  readonly measurements: readonly Measurement[];
}

const RUNS: readonly RecordedRun[] = readFileSync(new URL('../fixtures/gate-samples.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
const FIGURES = ['start', 'memory', 'rest', 'call', 'remote call', 'light'];
const same = (measurement: Measurement): Measurement => measurement;

/** How many of `count` gates fail that are drawn from the runs, either of which may be called the base. */
function failing(runs: readonly RecordedRun[], count: number): number {
  const random = seededRandom(18);
  const gates = Array.from({ length: count }, () => {
    const { measurements = [] } = runs[Math.floor(random() * runs.length)] ?? {};
    const change = random() < 0.5 ? swapped : same;
    return measurements.some((each) => judge(resample(change(each), random)).isWorse);
  });
  return gates.filter(Boolean).length;
}

/** Rounds of a program that takes 10, on a machine on which others make each longer by about `noise` of it. */
function noisy(noise: number, factor: number, random: () => number): Measurement {
  const value = () => 10 * (1 - noise * Math.log(1 - random()));
  const repeats = Array.from({ length: 3 }, () => Array.from({ length: 9 }, () => ({ base: value(), present: factor * value() })));
  return { name: 'call', unit: 'ms', repeats };
}

describe('one program against itself', () => {
  test('was recorded with every figure of the gate', () => {
    expect(RUNS.length).toBeGreaterThanOrEqual(3);
    for (const { measurements } of RUNS) expect(measurements.map(({ name }) => name)).toEqual(FIGURES);
  });

  test('passed in each run, whichever of the two was called the base', () => {
    const verdicts = RUNS.flatMap(({ measurements }) => measurements.flatMap((each) => [judge(each), judge(swapped(each))]));
    expect(verdicts.filter(({ isWorse }) => isWorse)).toEqual([]);
  });

  test('passes 100 of 100 times that are drawn from the two runs with less load, which are above the bound of the gate as well', () => {
    expect(failing(RUNS.slice(0, -1), 100)).toBe(0);
  });

  test('fails sometimes when it is drawn from the run with the most load, at which the gate judges nothing', () => {
    const failures = failing(RUNS.slice(-1), 1_000);
    expect(failures).toBeGreaterThan(0);
    expect(failures).toBeLessThan(50);
  });

  test('passes 1,000 times while others make each round longer, by a third on average', () => {
    const random = seededRandom(18);
    const failures = Array.from({ length: 1_000 }, () => judge(noisy(1 / 3, 1, random))).filter(({ isWorse }) => isWorse);
    expect(failures).toEqual([]);
  });
});

describe('a program that is worse', () => {
  test.each([
    { factor: 1.3, noise: 0.1, seen: 95 },
    { factor: 1.5, noise: 1 / 3, seen: 75 },
    { factor: 2, noise: 1 / 3, seen: 95 },
  ])('by $factor is seen at least $seen of 100 times with noise of $noise', ({ factor, noise, seen }) => {
    const random = seededRandom(18);
    const verdicts = Array.from({ length: 100 }, () => judge(noisy(noise, factor, random)));
    expect(verdicts.filter(({ isWorse }) => isWorse).length).toBeGreaterThanOrEqual(seen);
  });
});
