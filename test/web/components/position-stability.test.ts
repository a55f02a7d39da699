import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PositionStability } from '../../../src/web/components/position-stability.ts';

describe('a button that decides', () => {
  test('counts after half a second at one place', () => {
    const steadiness = new PositionStability<string>();
    steadiness.update([['approve', '10,10']], 1_000);
    expect(steadiness.isStable('approve', 1_499)).toBe(false);
    steadiness.update([['approve', '10,10']], 1_300);
    expect(steadiness.isStable('approve', 1_500)).toBe(true);
    expect(steadiness.isStable('another', 9_000)).toBe(false);
  });

  test.each<[string, (steadiness: PositionStability<string>) => void]>([
    ['moved', (one) => one.update([['approve', '10,90']], 2_000)],
    [
      'was covered for a moment',
      (one) => {
        one.update([['approve', undefined]], 1_990);
        one.update([['approve', '10,10']], 2_000);
      },
    ],
    [
      'was gone for a moment',
      (one) => {
        one.update([], 1_990);
        one.update([['approve', '10,10']], 2_000);
      },
    ],
    [
      'was forgotten with its page',
      (one) => {
        one.reset();
        one.update([['approve', '10,10']], 2_000);
      },
    ],
  ])('starts anew when it %s', (_what, happens) => {
    const steadiness = new PositionStability<string>();
    steadiness.update([['approve', '10,10']], 1_000);
    happens(steadiness);
    expect(steadiness.isStable('approve', 2_499)).toBe(false);
    expect(steadiness.isStable('approve', 2_500)).toBe(true);
  });

  test('never counts at a place where it has been for less than half a second, however the list moves', () => {
    const move = fc.record({ afterMs: fc.integer({ min: 1, max: 400 }), place: fc.constantFrom('a', 'b', 'c', undefined) });
    fc.assert(
      fc.property(fc.array(move, { minLength: 1 }), (moves) => {
        const steadiness = new PositionStability<string>();
        let nowMs = 0;
        let here: { readonly place: string | undefined; readonly sinceMs: number } = { place: undefined, sinceMs: 0 };
        for (const { afterMs, place } of moves) {
          nowMs += afterMs;
          if (place !== here.place) here = { place, sinceMs: nowMs };
          steadiness.update([['approve', place]], nowMs);
          expect(steadiness.isStable('approve', nowMs)).toBe(place !== undefined && nowMs - here.sinceMs >= 500);
        }
      }),
    );
  });
});
