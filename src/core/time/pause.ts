import type { Clock } from './clock.ts';

/** Resolves after `delayMs`, or earlier when the signal aborts; at once when it has aborted already. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      stop();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const stop = clock.after(delayMs, end);
    signal.addEventListener('abort', end, { once: true });
  });
}
