import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { ManualClock } from '../../test/manual-clock.ts';

const HOUR_MS = 3_600_000;

/** Lets time pass in steps and hears of each; what falls due may end before the next one. */
export async function passTime(
  clock: ManualClock,
  { forMs, stepMs }: { forMs: number; stepMs: number },
  onStep: () => unknown,
): Promise<void> {
  for (let passedMs = stepMs; passedMs <= forMs; passedMs += stepMs) {
    clock.advance(stepMs);
    await onStep();
    await nextTurn();
    // Copies and syncs are made beside the event loop.
    if (passedMs % HOUR_MS < stepMs) await sleep(20);
  }
}
