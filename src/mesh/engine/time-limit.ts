import { AtmoError } from '../../core/errors.ts';
import type { Clock } from '../../core/time/clock.ts';

/** What ends a wait. */
export interface TimeLimitOptions {
  readonly clock: Clock;
  readonly limitMs: number;
  /** What did not happen in time, for the message: `Nobody answers at 10.0.0.1:7481`. */
  readonly problem: string;
  /** The caller's; its abort is told as CANCELLED. */
  readonly signal: AbortSignal;
  /** The engine's own end; its reason is passed on. */
  readonly stopped: AbortSignal;
}

/** Aborts with NODE_UNAVAILABLE when the time is over, with CANCELLED when the caller gives up. Dispose it when the wait ends. */
export class TimeLimit implements Disposable {
  readonly signal: AbortSignal;
  readonly #release: () => void;

  constructor({ clock, limitMs, problem, signal, stopped }: TimeLimitOptions) {
    const controller = new AbortController();
    const cancelTimer = clock.after(limitMs, () => {
      controller.abort(new AtmoError('NODE_UNAVAILABLE', `${problem} within ${limitMs / 1_000} s`));
    });
    const cancel = () => controller.abort(new AtmoError('CANCELLED', 'The caller gave up', {}, { cause: signal.reason }));
    const stop = () => controller.abort(stopped.reason);
    signal.addEventListener('abort', cancel);
    stopped.addEventListener('abort', stop);
    if (stopped.aborted) stop();
    if (signal.aborted) cancel();
    this.signal = controller.signal;
    this.#release = () => {
      cancelTimer();
      signal.removeEventListener('abort', cancel);
      stopped.removeEventListener('abort', stop);
    };
  }

  [Symbol.dispose](): void {
    this.#release();
  }
}
