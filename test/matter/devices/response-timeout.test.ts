import { expect, test } from 'vitest';
import { ResponseTimeout } from '../../../src/matter/devices/device-interactions.ts';
import { ManualClock } from '../../manual-clock.ts';

const LIMIT_MS = 4_500;

function makeLimit() {
  const clock = new ManualClock();
  let answeredMs: number | undefined;
  const limit = new ResponseTimeout({ clock, limitMs: LIMIT_MS, answeredMs: () => answeredMs });
  const isOver = () => limit.signal.aborted;
  const answer = () => {
    answeredMs = clock.monotonic();
  };
  return { clock, limit, isOver, answer };
}

test('a call to a node that never answers fails after the limit, queued or not', () => {
  for (const leavesAtMs of [0, 2_000, LIMIT_MS]) {
    const { clock, limit, isOver } = makeLimit();
    clock.advance(leavesAtMs - 1);
    limit.leaveQueue();
    clock.advance(LIMIT_MS - leavesAtMs);
    expect(isOver()).toBe(false);
    clock.advance(1);
    expect(isOver()).toBe(true);
  }
});

test('a queued call waits while the node answers other calls', () => {
  const { clock, isOver, answer } = makeLimit();
  for (let round = 0; round < 5; round++) {
    clock.advance(4_000);
    answer();
  }
  expect(isOver()).toBe(false);
  clock.advance(LIMIT_MS - 1);
  expect(isOver()).toBe(false);
  clock.advance(1);
  expect(isOver()).toBe(true);
});

test('a sent call waits for its own answer, up to the limit', () => {
  const { clock, limit, isOver, answer } = makeLimit();
  clock.advance(4_000);
  answer();
  limit.leaveQueue();
  clock.advance(4_000);
  answer();
  clock.advance(499);
  expect(isOver()).toBe(false);
  clock.advance(1);
  expect(isOver()).toBe(true);
});

test('an ended call is not aborted', () => {
  const { clock, limit, isOver } = makeLimit();
  limit[Symbol.dispose]();
  clock.advance(LIMIT_MS);
  expect(isOver()).toBe(false);
});
