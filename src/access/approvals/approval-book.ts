import type { Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { TrustedTime } from '../../core/time/trusted-time.ts';
import { type ApprovalRecord, readRecord } from './approval-record.ts';

const SPACE = 'approvals';
/** How long a closed request can still be looked up; the journal keeps what happened. */
const KEPT_CLOSED_MS = 3_600_000;
const CLOCK_SKEW_MS = 60_000;
const MAX_RECORDS = 1_000;

interface BookCollaborators {
  readonly store: KeyValueStore;
  readonly time: Pick<TrustedTime, 'now'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** The requests of a hub, on the disk before anybody learns of a change, and when each is too old. */
export class ApprovalBook {
  readonly #store: KeyValueStore;
  readonly #time: Pick<TrustedTime, 'now'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #records = new Map<string, ApprovalRecord>();
  /** Monotonic times after which a request is too old, whatever the wall clock says by then. */
  readonly #deadlinesMs = new Map<string, number>();

  constructor({ store, time, clock }: BookCollaborators) {
    this.#store = store;
    this.#time = time;
    this.#clock = clock;
  }

  /** Takes over what an earlier process left. */
  load(): void {
    const stored = this.#store.entries(SPACE).flatMap(({ value }) => readRecord(value) ?? []);
    for (const record of stored.sort((a, b) => a.createdMs - b.createdMs)) this.#remember(record);
  }

  get(id: string): ApprovalRecord | undefined {
    return this.#records.get(id);
  }

  /** Oldest first. */
  all(): readonly ApprovalRecord[] {
    return [...this.#records.values()];
  }

  /** Throws STORAGE_FAILED, and then nothing has changed. */
  save(record: ApprovalRecord): void {
    if (!this.#records.has(record.id)) this.#makeRoom();
    const ttlMs = Math.max(0, record.expiresMs - this.#time.now()) + KEPT_CLOSED_MS;
    this.#store.set(SPACE, record.id, record as unknown as Json, { ttlMs });
    this.#remember(record);
  }

  /** Milliseconds until the request is too old; 0 or less when it is. */
  remainingMs(record: ApprovalRecord): number {
    const nowMs = this.#time.now();
    // A clock that stands well before the request was made has been turned back by an unknown time.
    if (nowMs < record.createdMs - CLOCK_SKEW_MS) return 0;
    const deadlineMs = this.#deadlinesMs.get(record.id) ?? 0;
    return Math.min(record.expiresMs - nowMs, deadlineMs - this.#clock.monotonic());
  }

  #remember(record: ApprovalRecord): void {
    this.#records.set(record.id, record);
    if (this.#deadlinesMs.has(record.id)) return;
    const leftMs = Math.min(record.expiresMs - this.#time.now(), record.expiresMs - record.createdMs);
    this.#deadlinesMs.set(record.id, this.#clock.monotonic() + leftMs);
  }

  /** Forgets what nobody looks up any more, and the oldest where there are too many; denials are told until they expire. */
  #makeRoom(): void {
    const final = this.all().filter((record) => record.state === 'used' || this.remainingMs(record) <= 0);
    const old = final.filter((record) => this.remainingMs(record) <= -KEPT_CLOSED_MS);
    const surplus = final.slice(0, Math.max(0, this.#records.size - MAX_RECORDS + 1));
    for (const { id } of new Set([...old, ...surplus])) {
      this.#store.delete(SPACE, id);
      this.#records.delete(id);
      this.#deadlinesMs.delete(id);
    }
  }
}
