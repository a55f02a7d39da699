import { getHeapStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { availableHeap, MemoryGuard } from '../../src/calls/limits.ts';
import { ManualClock } from '../manual-clock.ts';

function makeGuard(freeBytes: number, heapBytes = Number.MAX_SAFE_INTEGER) {
  const clock = new ManualClock();
  const process = {
    free: freeBytes,
    asked: 0,
    availableHeap: () => heapBytes,
    availableMemory() {
      this.asked++;
      return this.free;
    },
  };
  return { clock, process, guard: new MemoryGuard({ clock, process }, { minFreeBytes: 1_000_000 }) };
}

const EXCEEDED = expect.objectContaining({ code: 'RESOURCE_EXCEEDED', message: expect.stringContaining('only 1.0 MB of memory left') });

test('work is refused while less memory than the limit is free', () => {
  expect(() => makeGuard(999_999).guard.check()).toThrow(EXCEEDED);
  expect(() => makeGuard(1_000_000).guard.check()).not.toThrow();
});

test('work is refused while the heap of V8 is almost at its bound, whatever memory the machine has', () => {
  expect(() => makeGuard(9_000_000, 999_999).guard.check()).toThrow(EXCEEDED);
  expect(() => makeGuard(9_000_000, 1_000_000).guard.check()).not.toThrow();
});

test('what V8 can take still is what its bound leaves beyond what it holds', () => {
  const differences = Array.from({ length: 5 }, () => {
    const available = availableHeap();
    const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics();
    return Math.abs(limit - used - available);
  });
  // A collection of garbage between the two looks makes one of them large.
  expect(Math.min(...differences)).toBeLessThan(1_000_000);
});

test('the free memory is measured at the first call, and from then on at most once a second', () => {
  const { clock, process, guard } = makeGuard(2_000_000);
  guard.check();
  process.free = 999_999;
  clock.advance(999);
  expect(() => guard.check()).not.toThrow();
  clock.advance(1);
  expect(() => guard.check()).toThrow(EXCEEDED);
  process.free = 2_000_000;
  clock.advance(999);
  expect(() => guard.check()).toThrow(EXCEEDED);
  clock.advance(1);
  expect(() => guard.check()).not.toThrow();
  expect(process.asked).toBe(3);
});
