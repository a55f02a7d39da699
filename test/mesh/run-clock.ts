import { settled } from '../calls/pipeline-fixture.ts';
import type { ManualClock } from '../manual-clock.ts';

/** Moves time on in small steps, with everything that becomes ready in between. */
export async function runClock(clock: ManualClock, ms: number, stepMs = 250): Promise<void> {
  await settled();
  for (let left = ms; left > 0; left -= stepMs) {
    clock.advance(Math.min(stepMs, left));
    await settled();
  }
}
