import type { DatabaseSync } from 'node:sqlite';
import type { AuditHead, AuditQuery, AuditRow } from '../core/audit-log.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { type AuditFields, type ChainLink, genesis } from './audit-chain.ts';
import { JOURNAL_NOTES } from './audit-check.ts';
import {
  type ChainedRow,
  type LedgerStart,
  lastLink,
  oldestToPrune,
  openLedger,
  pruneUntil,
  type Retention,
  sliceAfter,
} from './audit-ledger.ts';
import { journalNote } from './audit-opening.ts';
import { readRows } from './audit-reader.ts';
import { AuditWriter } from './audit-writer.ts';
import { OpenIntents } from './open-intents.ts';
import type { SqliteFile } from './sqlite-file.ts';

interface TapeParts {
  readonly file: SqliteFile;
  readonly clock: Clock;
  readonly hub: string;
  /** Hears of the first of several commits that fail. */
  readonly onFailure: (error: unknown) => void;
}

/** The chain in its open file: appends, reads, gives up what is old. What it remembers follows what is committed. */
export class AuditTape {
  readonly #parts: TapeParts;
  #ledger: LedgerStart;
  #head: ChainLink;
  #headAtMs = 0;
  #writer: AuditWriter | undefined;
  #openIntents = new OpenIntents();
  /** What the journal has to say about itself as soon as it can be written. */
  #owed: readonly AuditFields[] = [];
  #missed = 0;

  constructor(parts: TapeParts) {
    this.#parts = parts;
    this.#head = genesis(parts.hub);
    this.#ledger = { hub: parts.hub, pruned: this.#head };
  }

  /** `examine` looks at what is there before anything is written. */
  open<Finding>(examine: (database: DatabaseSync, ledger: LedgerStart) => Finding): Finding {
    return this.#parts.file.use((database) => {
      this.#ledger = openLedger(database, this.#parts.hub);
      this.#head = lastLink(database, this.#ledger);
      this.#writer = new AuditWriter(database, this.#ledger.hub);
      return examine(database, this.#ledger);
    });
  }

  close(): void {
    this.#writer = undefined;
  }

  get head(): AuditHead {
    return { hub: this.#ledger.hub, ...this.#head, at: new Date(this.#headAtMs).toISOString() };
  }

  get ledger(): LedgerStart {
    return this.#ledger;
  }

  /** No row before this one is an intent that waits for its outcome. */
  get openFromSeq(): number {
    return this.#openIntents.first() ?? this.#head.seq + 1;
  }

  /** Appends all in one transaction, or throws STORAGE_FAILED or SHUTTING_DOWN and has appended nothing. */
  append(entries: readonly AuditFields[]): void {
    const all = [...this.#resumed(), ...this.#owed, ...entries];
    try {
      this.#commit(all, () => {});
      this.#owed = [];
      this.#missed = 0;
    } catch (error) {
      this.#failed(error, entries.length);
      throw error;
    }
  }

  /** Appends now, or with the first rows that can be appended: a full disk must not keep a hub from starting. */
  owe(rows: readonly AuditFields[], openIntents: OpenIntents): void {
    this.#openIntents = openIntents;
    this.#owed = rows;
    try {
      this.append([]);
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
    }
  }

  read(query: AuditQuery): readonly AuditRow[] {
    const chain = { hub: this.#ledger.hub, headSeq: this.#head.seq };
    return this.#parts.file.use((database) => readRows(database, chain, query));
  }

  slice(afterSeq: number, untilSeq: number): readonly ChainedRow[] {
    return this.#parts.file.use((database) => sliceAfter(database, afterSeq, untilSeq));
  }

  /** Gives up the oldest rows, at most a slice, and says so in the chain; false when nothing has to go. Throws STORAGE_FAILED. */
  prune(retention: Retention): boolean {
    const until = this.#parts.file.use((database) => oldestToPrune(database, retention));
    if (!until) return false;
    const note = journalNote(JOURNAL_NOTES.pruned, this.#parts.clock.now(), { until_seq: until.seq, until_hash: until.hash });
    this.#commit([note], (database) => pruneUntil(database, until));
    this.#ledger = { ...this.#ledger, pruned: until };
    return true;
  }

  #commit(rows: readonly AuditFields[], before: (database: DatabaseSync) => void): void {
    const writer = this.#writer;
    if (!writer) throw new AtmoError('SHUTTING_DOWN', 'The journal is not open: the hub is starting or stopping');
    try {
      const head = this.#parts.file.transaction((database) => {
        before(database);
        return writer.append(this.#head, rows);
      });
      this.#follow(head, rows);
    } catch (error) {
      writer.forget();
      this.#head = this.#parts.file.use((database) => lastLink(database, this.#ledger));
      throw error;
    }
  }

  #follow(head: ChainLink, rows: readonly AuditFields[]): void {
    const firstSeq = this.#head.seq + 1;
    for (const [index, fields] of rows.entries()) this.#openIntents.track(firstSeq + index, fields);
    this.#head = head;
    this.#headAtMs = rows.at(-1)?.atMs ?? this.#headAtMs;
  }

  #failed(error: unknown, count: number): void {
    if (this.#missed === 0) this.#parts.onFailure(error);
    this.#missed += Math.max(1, count);
  }

  #resumed(): readonly AuditFields[] {
    if (this.#missed === 0) return [];
    return [journalNote(JOURNAL_NOTES.resumed, this.#parts.clock.now(), { not_written: this.#missed })];
  }
}
