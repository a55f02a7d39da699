import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/core/clock.ts';
import { StallDetector } from '../../src/core/health.ts';
import { ManualClock } from '../manual-clock.ts';

/** A clock whose timers run late: time passes first, then whoever looks looks, then the timers run, as after a stopped process. */
class StoppedClock extends ManualClock implements Clock {
  #stoodMs = 0;

  override monotonic(): number {
    return super.monotonic() + this.#stoodMs;
  }

  stand(ms: number): void {
    this.#stoodMs += ms;
  }
}

async function started() {
  const clock = new StoppedClock();
  const detector = new StallDetector(clock);
  await detector.start();
  clock.advance(10_000);
  return { clock, detector };
}

describe('a stall', () => {
  test('is none while the beats come in time, a little late or not', async () => {
    const { clock, detector } = await started();
    clock.stand(400);
    expect(detector.waitedMs).toBe(0);
    clock.advance(1_000);
    clock.advance(900);
    expect(detector.waitedMs).toBe(0);
  });

  test('is noticed by what arrives before the first timer and shortly after it, and is over then', async () => {
    const { clock, detector } = await started();
    clock.stand(15_000);
    expect(detector.waitedMs).toBe(15_000);
    clock.advance(1_000);
    expect(detector.waitedMs).toBe(16_000);
    clock.advance(500);
    expect(detector.waitedMs).toBe(16_500);
    clock.advance(500);
    expect(detector.waitedMs).toBe(0);
  });

  test('is none before the start and after the end', async () => {
    const clock = new StoppedClock();
    const detector = new StallDetector(clock);
    clock.stand(60_000);
    expect(detector.waitedMs).toBe(0);
    await detector.start();
    clock.stand(60_000);
    await detector[Symbol.asyncDispose]();
    expect(detector.waitedMs).toBe(0);
  });
});
