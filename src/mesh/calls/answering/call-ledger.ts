import { AtmoError } from '../../../core/errors.ts';
import type { HubId } from '../../../core/ids.ts';
import type { Clock } from '../../../core/time/clock.ts';

/** How long a request is remembered after it could still be taken, so that its entry hub can ask what became of it. */
const KEPT_MS = 60_000;
const SWEEP_MS = 10_000;
const MAX_REQUESTS_PER_HUB = 16_384;
const MAX_REQUESTS = 65_536;
/** Bytes of answers that are kept. */
const MAX_ANSWER_BYTES = 16_777_216;

/** A request as the ledger knows it; ids are made up by the entry hub. */
export interface LedgerEntry {
  readonly entryHub: HubId;
  readonly id: string;
  /** Hash of the signed bytes. */
  readonly fingerprint: string;
  /** Until when it could be taken or runs, by the monotonic clock. */
  readonly untilMs: number;
}

/** What became of a request. */
export interface LedgerRecord extends LedgerEntry {
  /** `spent`: it never ran and never will. */
  state: 'running' | 'finished' | 'spent';
  /** Resolves when it was let through; never for one that was refused. */
  readonly dispatched: Promise<void>;
  dispatch(): void;
  /** The answer as it travels; rejects when it ended without one. */
  readonly answer: Promise<Uint8Array>;
  /** Ends it; without bytes, as one that never ran. */
  settle(answer: Uint8Array | undefined): void;
  /** Kept for the entry hub; absent when it was too long ago or there are too many. */
  kept?: Uint8Array | undefined;
}

/** Every request that this hub was given, once: so that none runs twice, and what became of it can be told. */
export class CallLedger {
  readonly #clock: Clock;
  readonly #records = new Map<string, LedgerRecord>();
  readonly #counts = new Map<HubId, number>();
  /** With kept answers, oldest first. */
  readonly #answered = new Set<LedgerRecord>();
  #keptBytes = 0;
  #sweptMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#records.size;
  }

  find(entryHub: HubId, id: string): LedgerRecord | undefined {
    return this.#records.get(`${entryHub} ${id}`);
  }

  /** Remembers a request that is new. RESOURCE_EXCEEDED when more of them are remembered than there may be. */
  open(entry: LedgerEntry): LedgerRecord {
    this.#sweep();
    const count = this.#counts.get(entry.entryHub) ?? 0;
    if (count >= MAX_REQUESTS_PER_HUB || this.#records.size >= MAX_REQUESTS) {
      throw new AtmoError('RESOURCE_EXCEEDED', `${entry.entryHub} has made ${count} requests in a minute; wait a while`);
    }
    const record = this.#record(entry);
    this.#counts.set(entry.entryHub, count + 1);
    this.#records.set(`${entry.entryHub} ${entry.id}`, record);
    return record;
  }

  /** Remembers that a request of this id must not run when it comes. As `open`. */
  spend(entry: LedgerEntry): void {
    this.open(entry).settle(undefined);
  }

  #record(entry: LedgerEntry): LedgerRecord {
    const dispatch = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Uint8Array>();
    answer.promise.catch(() => {});
    const record: LedgerRecord = {
      ...entry,
      state: 'running',
      dispatched: dispatch.promise,
      dispatch: () => dispatch.resolve(),
      answer: answer.promise,
      settle: (bytes) => {
        record.state = bytes ? 'finished' : 'spent';
        if (bytes) this.#keep(record, bytes);
        if (bytes) answer.resolve(bytes);
        else answer.reject(new AtmoError('NODE_UNAVAILABLE', 'The request ended before it ran'));
      },
    };
    return record;
  }

  #keep(record: LedgerRecord, bytes: Uint8Array): void {
    record.kept = bytes;
    this.#keptBytes += bytes.length;
    this.#answered.add(record);
    for (const oldest of this.#answered) {
      if (this.#keptBytes <= MAX_ANSWER_BYTES) return;
      this.#drop(oldest);
    }
  }

  #drop(record: LedgerRecord): void {
    this.#keptBytes -= record.kept?.length ?? 0;
    record.kept = undefined;
    this.#answered.delete(record);
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = nowMs;
    for (const [key, record] of this.#records) {
      if (record.state === 'running' || nowMs < record.untilMs + KEPT_MS) continue;
      this.#records.delete(key);
      this.#drop(record);
      this.#counts.set(record.entryHub, (this.#counts.get(record.entryHub) ?? 1) - 1);
    }
    for (const [hub, count] of this.#counts) if (count <= 0) this.#counts.delete(hub);
  }
}
