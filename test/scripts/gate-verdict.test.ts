import { describe, expect, test } from 'vitest';
import { judge, type Measurement, type Pair, tableOf } from '../../scripts/bench/gate/verdict.ts';
import { seededRandom } from '../seeded-random.ts';
import { resample, swapped } from './resampled-measurement.ts';

const pairsOf = (...ratios: readonly number[]): readonly Pair[] => ratios.map((ratio) => ({ base: 10, present: 10 * ratio }));
const measured = (...repeats: readonly (readonly Pair[])[]): Measurement => ({ name: 'call', unit: 'ms', repeats });

describe('the verdict of the gate', () => {
  test('is against a program that is worse by more than 15 % in each of three repeats', () => {
    const { isWorse, ratios } = judge(measured(pairsOf(1.2, 1.2, 1.3), pairsOf(1.16, 1.16, 1.2), pairsOf(2, 1.17, 1.17)));
    expect(ratios.map((ratio) => Number(ratio.toFixed(3)))).toEqual([1.2, 1.16, 1.17]);
    expect(isWorse).toBe(true);
  });

  test('needs all three repeats, whatever the others say', () => {
    expect(judge(measured(pairsOf(3, 3, 3), pairsOf(3, 3, 3), pairsOf(1.1, 1.1, 3))).isWorse).toBe(false);
  });

  test('is not against one that is worse by exactly 15 %, or better', () => {
    expect(judge(measured(...Array.from({ length: 3 }, () => [{ base: 20, present: 23 }]))).isWorse).toBe(false);
    expect(judge(measured(...Array.from({ length: 3 }, () => pairsOf(0.5)))).isWorse).toBe(false);
  });

  test('needs the least values to differ as well, which others on the machine never make smaller', () => {
    const busy: readonly Pair[] = [
      { base: 10, present: 90 },
      { base: 12, present: 80 },
      { base: 70, present: 11 },
    ];
    expect(judge(measured(busy, busy, busy)).ratios.map((ratio) => Number(ratio.toFixed(3)))).toEqual([1.1, 1.1, 1.1]);
  });

  test('goes by pairs: a machine that gets slower while it is measured changes nothing', () => {
    const drifting = [1, 2, 4].map((load) => [1, 1.5, 2].map((more) => ({ base: 10 * load * more, present: 11 * load * more })));
    expect(judge(measured(...drifting)).ratios.map((ratio) => Number(ratio.toFixed(3)))).toEqual([1.1, 1.1, 1.1]);
  });

  test('cannot be had from fewer than three repeats, or from one without a round', () => {
    expect(() => judge(measured(pairsOf(1), pairsOf(1)))).toThrow('call has 2 repeats, not 3');
    expect(() => judge(measured(pairsOf(1), [], pairsOf(1)))).toThrow('no sample');
  });

  test('is a line of a table for each figure', () => {
    const [head = '', good = '', bad = ''] = tableOf([
      judge(measured(pairsOf(1), pairsOf(1.02), pairsOf(0.98))),
      judge({ name: 'rest', unit: 'ms/s', repeats: [pairsOf(1.5), pairsOf(1.4), pairsOf(1.3)] }),
    ]);
    expect(head).toMatch(/repeat 1 +repeat 2 +repeat 3 +base +present/);
    expect(good).toMatch(/^call +1\.00 +1\.02 +0\.98 +10\.0 ms +10\.0 ms +✓$/);
    expect(bad).toMatch(/^rest +1\.50 +1\.40 +1\.30 +10\.0 ms\/s +14\.0 ms\/s ✗ worse by more than 15 %$/);
  });
});

describe('another measurement drawn from one', () => {
  test('has some rounds twice and others not', () => {
    const { repeats } = resample(measured(pairsOf(...Array.from({ length: 20 }, (_, round) => round))), seededRandom(1));
    const drawn = new Set(repeats.flat().map(({ present }) => present));
    expect(drawn.size).toBeGreaterThan(8);
    expect(drawn.size).toBeLessThan(20);
  });

  test('draws each round from its own repeat', () => {
    const { repeats } = resample(measured(pairsOf(1, 2), pairsOf(3, 4), pairsOf(5, 6)), seededRandom(1));
    expect(repeats.map((pairs) => pairs.length)).toEqual([2, 2, 2]);
    expect(repeats.map((pairs) => pairs.map(({ present }) => Math.ceil(present / 20)))).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  test('of one program may have the two names changed about', () => {
    const swappedOnce = swapped(measured(pairsOf(2), pairsOf(1), pairsOf(4)));
    expect(swappedOnce.repeats.flat()).toEqual([
      { base: 20, present: 10 },
      { base: 10, present: 10 },
      { base: 40, present: 10 },
    ]);
  });
});
