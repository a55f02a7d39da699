import { describe, expect, test } from 'vitest';
import { backOffMs, tryMs } from '../../../src/mesh/discovery/peer-dialler.ts';

const NEVER = Number.POSITIVE_INFINITY;
const pauses = (sinceLossMs: number) => [1, 2, 3, 4, 5, 6, 7, 8, 1_000].map((failures) => backOffMs({ failures, sinceLossMs }, 0.5));

describe('the pause after a failed try', () => {
  test('doubles from half a second to half a minute', () => {
    expect(pauses(NEVER)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  test('stays short while a loss is young', () => {
    expect(pauses(59_999)).toEqual([500, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000]);
    expect(Math.max(...pauses(60_000))).toBe(5_000);
    expect(Math.max(...pauses(600_000))).toBe(30_000);
  });

  test('is spread by a quarter, so that hubs that lost each other together do not knock together', () => {
    expect(backOffMs({ failures: 9, sinceLossMs: NEVER }, 0)).toBe(22_500);
    expect(backOffMs({ failures: 9, sinceLossMs: NEVER }, 0.999999)).toBeCloseTo(37_500, 0);
  });

  test('and the try together leave no gap of three seconds in the first minute after a loss', () => {
    // The system repeats the first packet of a try after one second.
    const silenceMs = tryMs(30_000) - 1_000 + backOffMs({ failures: 7, sinceLossMs: 30_000 }, 0.999);
    expect(silenceMs).toBeLessThan(2_500);
  });

  test('lasts five seconds once nothing is urgent, as long as a call waits for a connection', () => {
    expect([tryMs(60_000), tryMs(NEVER)]).toEqual([5_000, 5_000]);
  });
});
