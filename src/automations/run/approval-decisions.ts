import type { Clock } from '../../core/clock.ts';
import type { EventBus } from '../../core/events.ts';
import type { Json } from '../../core/json.ts';
import { atWallTime } from '../../core/local-time.ts';

/** Longest wait for an approval. */
const LONGEST_WAIT_MS = 3_600_000;

/** Collects the decisions of approvers during a run. Listens from the start, because a decision may come before the wait begins. */
export class DecisionListener implements Disposable {
  readonly #clock: Clock;
  readonly #decided = new Map<string, boolean>();
  readonly #waiting = new Map<string, (isApproved: boolean) => void>();
  readonly #stop: () => void;

  constructor(events: EventBus, clock: Clock) {
    this.#clock = clock;
    this.#stop = events.listen(({ subject, data }) => this.#onDecision(subject, data.state), ['approval.decided']);
  }

  /** Resolves to true if the request is approved. Resolves to false if it is denied or expires, the run is aborted, or an hour passes. */
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

  /** Handles a decision. The state `pending` does not end the wait: it means that more persons must approve. */
  #onDecision(approvalId: string, state: Json | undefined): void {
    if (state !== 'approved' && state !== 'denied' && state !== 'expired') return;
    this.#decided.set(approvalId, state === 'approved');
    this.#waiting.get(approvalId)?.(state === 'approved');
  }
}
