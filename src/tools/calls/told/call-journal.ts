import { principalKey } from '../../../core/access/principal.ts';
import type { AuditOutcome, AuditSink } from '../../../core/storage/audit-sink.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { Call } from '../call.ts';

const WINDOW_MS = 10_000;

interface JournalCollaborators {
  readonly audit: AuditSink;
  readonly clock: Clock;
  readonly nowMs: () => number;
}

/**
 * Writes down how calls end, so that nobody can fill the disk by being refused: of a caller that calls too often the first
 * RATE_LIMITED in 10 s is a row, and one note tells how many more there were.
 */
export class CallJournal {
  readonly #collaborators: JournalCollaborators;
  /** How many were left out, by caller; an entry lives as long as its window. */
  readonly #leftOut = new Map<string, number>();

  constructor(collaborators: JournalCollaborators) {
    this.#collaborators = collaborators;
  }

  /** As `AuditSink.record`. */
  async record(outcome: AuditOutcome): Promise<void> {
    if (outcome.error === 'RATE_LIMITED' && outcome.kind === 'refusal' && this.#isLeftOut(outcome)) return;
    await this.#collaborators.audit.record(outcome);
  }

  /** A call that got the answer of an earlier one with the same idempotency key: nothing ran. */
  async repeated({ request, requestId, traceId, toolId }: Call): Promise<void> {
    const { audit, nowMs } = this.#collaborators;
    const data = { tool: toolId, request: requestId };
    await audit.record({ kind: 'note', event: 'call.repeated', atMs: nowMs(), principalId: request.principal.id, traceId, data });
  }

  #isLeftOut({ principal }: AuditOutcome): boolean {
    const key = principalKey(principal);
    const count = this.#leftOut.get(key);
    this.#leftOut.set(key, (count ?? -1) + 1);
    if (count !== undefined) return true;
    this.#collaborators.clock.after(WINDOW_MS, () => this.#close(key, principal.id));
    return false;
  }

  #close(key: string, principalId: string): void {
    const count = this.#leftOut.get(key) ?? 0;
    this.#leftOut.delete(key);
    if (count === 0) return;
    const { audit, nowMs } = this.#collaborators;
    // A disk that refuses is told of by the rows that matter.
    audit.record({ kind: 'note', event: 'call.rate_limited', atMs: nowMs(), principalId, data: { count } }).catch(() => {});
  }
}
