import type { Clock } from './clock.ts';

/** Does the work again and again, `periodMs` after the time before; the answer ends it. */
export function repeat(clock: Clock, periodMs: number, work: () => void): () => void {
  let cancel = () => {};
  const wait = () => {
    cancel = clock.after(periodMs, () => {
      work();
      wait();
    });
  };
  wait();
  return () => cancel();
}
