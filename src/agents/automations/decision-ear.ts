import type { EventBus } from '../../core/events.ts';
import type { Json } from '../../core/json.ts';
import type { Clock } from '../../core/time/clock.ts';
import { atWallTime } from '../triggers/wall-timer.ts';

/** A wait never lasts longer, whatever a queue says. */
const LONGEST_WAIT_MS = 3_600_000;

/** What people decided while a run goes on; it listens from the start, so that no decision falls between call and wait. */
export class DecisionEar implements Disposable {
  readonly #clock: Clock;
  readonly #decided = new Map<string, boolean>();
  readonly #waiting = new Map<string, (isApproved: boolean) => void>();
  readonly #stop: () => void;

  constructor(events: EventBus, clock: Clock) {
    this.#clock = clock;
    this.#stop = events.listen(({ type, subject, data }) => {
      if (type === 'approval.decided') this.#hear(subject, data.state);
    });
  }

  /** True once it is approved; false when it is denied or expires, or when the run has to end. */
  async isApproved(approvalId: string, expiresAtMs: number, signal: AbortSignal): Promise<boolean> {
    const known = this.#decided.get(approvalId);
    if (known !== undefined || signal.aborted) return known ?? false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.set(approvalId, resolve);
    const giveUp = () => resolve(false);
    const untilMs = Math.min(expiresAtMs, this.#clock.now() + LONGEST_WAIT_MS);
    const cancelTimer = atWallTime(this.#clock, untilMs, giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await promise;
    } finally {
      cancelTimer();
      signal.removeEventListener('abort', giveUp);
      this.#waiting.delete(approvalId);
    }
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  /** One of several persons who approves decides nothing yet. */
  #hear(approvalId: string, state: Json | undefined): void {
    if (state !== 'approved' && state !== 'denied' && state !== 'expired') return;
    this.#decided.set(approvalId, state === 'approved');
    this.#waiting.get(approvalId)?.(state === 'approved');
  }
}
