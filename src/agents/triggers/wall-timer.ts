import type { Clock } from '../../core/time/clock.ts';

/** The clock on the wall may be set while a timer waits: it is looked at again at least this often. */
const LOOK_AGAIN_MS = 60_000;

/** Calls back once when the clock shows `dueMs` (milliseconds since 1970) or more, however far away that is; the answer cancels. */
export function atWallTime(clock: Clock, dueMs: number, callback: () => void): () => void {
  let cancel = () => {};
  const look = () => {
    const leftMs = dueMs - clock.now();
    if (leftMs <= 0) callback();
    else cancel = clock.after(Math.min(leftMs, LOOK_AGAIN_MS), look);
  };
  cancel = clock.after(0, look);
  return () => cancel();
}
