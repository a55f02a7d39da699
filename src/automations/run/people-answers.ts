import type { Clock } from '../../core/clock.ts';
import type { EventBus } from '../../core/events.ts';
import type { Json } from '../../core/json.ts';
import { atWallTime } from '../../core/local-time.ts';
import type { Question, Questions } from '../../core/questions.ts';

/** Longest wait for an approval. */
const LONGEST_WAIT_MS = 3_600_000;

/** What became of a request. It is `expired` if nobody decided in time, or the run was cancelled meanwhile. */
export type ApprovalDecision = 'approved' | 'denied' | 'expired';

/** Collects the decisions of approvers during a run. Listens from the start, because a decision may come before the wait begins. */
export class DecisionListener implements Disposable {
  readonly #clock: Clock;
  readonly #decided = new Map<string, ApprovalDecision>();
  readonly #waiting = new Map<string, (decision: ApprovalDecision) => void>();
  readonly #stop: () => void;

  constructor(events: Pick<EventBus, 'listen'>, clock: Clock) {
    this.#clock = clock;
    this.#stop = events.listen(({ subject, data }) => this.#onDecision(subject, data.state), ['approval.decided']);
  }

  /** Resolves to the decision about a request; to `expired` if it expires, the run is aborted, or an hour passes. */
  async decisionAbout(approvalId: string, expiresAtMs: number, signal: AbortSignal): Promise<ApprovalDecision> {
    const known = this.#decided.get(approvalId);
    if (known !== undefined || signal.aborted) return known ?? 'expired';
    const { promise, resolve } = Promise.withResolvers<ApprovalDecision>();
    this.#waiting.set(approvalId, resolve);
    const giveUp = () => resolve('expired');
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
    this.#decided.set(approvalId, state);
    this.#waiting.get(approvalId)?.(state);
  }
}

/**
 * Resolves with the answer to a question. Resolves with `null` if nobody answers within `leftMs` milliseconds, and ends the question. Resolves with
 * `null` too if the signal aborts first; the question then stays open.
 */
export async function answerTo(
  id: string,
  { leftMs, signal }: { readonly leftMs: number; readonly signal: AbortSignal },
  { clock, questions }: { readonly clock: Clock; readonly questions: Pick<Questions, 'get' | 'end' | 'onEnd'> },
): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stops = [questions.onEnd(id, resolve), clock.after(leftMs, resolve)];
  const giveUp = () => resolve();
  signal.addEventListener('abort', giveUp, { once: true });
  if (!isOpen(questions.get(id)) || signal.aborted) resolve();
  await promise;
  for (const stop of stops) stop();
  signal.removeEventListener('abort', giveUp);
  return (signal.aborted ? questions.get(id) : questions.end(id))?.answered?.answer ?? null;
}

function isOpen(question: Question | undefined): boolean {
  return question !== undefined && question.answered === undefined && question.endedMs === undefined;
}
