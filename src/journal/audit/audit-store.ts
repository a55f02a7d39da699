import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/service.ts';
import type { AuditHead, AuditLog, AuditQuery, AuditRow, AuditVerification } from '../../core/storage/audit-log.ts';
import type { AuditSink } from '../../core/storage/audit-sink.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { takeRestoreNote } from '../archive/restore-note.ts';
import type { Snapshot } from '../snapshot-folder.ts';
import { type JournalCollaborators, SqliteFile } from '../sqlite-file.ts';
import { AuditAnchor } from './audit-anchor.ts';
import type { AuditFields, ChainLink } from './audit-chain.ts';
import { AuditCheck, JOURNAL_NOTES } from './audit-check.ts';
import { type AuditEntry, fieldsOf } from './audit-fields.ts';
import { AuditFront } from './audit-front.ts';
import { examine, journalNote, type Loss } from './audit-opening.ts';
import { AUDIT_MIGRATIONS } from './audit-schema.ts';
import { AuditTape } from './audit-tape.ts';
import { unknownOutcome } from './open-intents.ts';
import { WalSync } from './wal-sync.ts';

/** Where the journal lies, whose it is, and how much of it is kept. */
export interface AuditStoreOptions {
  /** Folder that holds `audit.db` and `audit.front`. */
  readonly directory: string;
  readonly snapshotDirectory: string;
  readonly hubId: string;
  /** Beyond this the oldest rows go; default 256 MB. */
  readonly maxBytes?: number;
  /** Rows older than this go; default 365. */
  readonly keepDays?: number;
  readonly snapshotEveryMs?: number;
}

interface AuditCollaborators extends JournalCollaborators {
  /** Keeps the head of the chain in another file. */
  readonly anchors: KeyValueStore;
}

const DAY_MS = 86_400_000;
const UPKEEP_MS = 10_000;
const MAX_READ_ROWS = 1_000;

/**
 * The journal of calls in `audit.db`: a chain of rows, each with a hash over itself and the one before. When `record` resolves a
 * row is in `audit.front` and no end of the process can take it back; it is in `audit.db` and on the disk within 250 ms, and at
 * once where the entry says so.
 */
export class AuditStore implements AuditSink, AuditLog, Service {
  readonly #collaborators: AuditCollaborators;
  readonly #options: AuditStoreOptions;
  readonly #file: SqliteFile;
  readonly #tape: AuditTape;
  readonly #anchor: AuditAnchor;
  readonly #sync: WalSync;
  #checksRunning = 0;
  #cancelUpkeep: () => void = () => {};

  constructor(collaborators: AuditCollaborators, options: AuditStoreOptions) {
    const { clock } = collaborators;
    this.#collaborators = collaborators;
    this.#options = options;
    const path = join(options.directory, 'audit.db');
    this.#file = new SqliteFile(collaborators, {
      path,
      synchronous: 'NORMAL',
      pageSizeBytes: 4096,
      // A checkpoint syncs twice on the event loop: seldom, and then many rewrites of the same page are one.
      checkpointPages: 4000,
      // Room for rows that come while older ones are pruned.
      maxBytes: this.#maxBytes + 16 * 1_048_576,
      migrations: AUDIT_MIGRATIONS,
      snapshots: { directory: options.snapshotDirectory, everyMs: options.snapshotEveryMs ?? DAY_MS, kept: 1 },
      whenLost: 'start-anew',
    });
    const front = new AuditFront(join(options.directory, 'audit.front'));
    this.#tape = new AuditTape({ file: this.#file, front, clock, hub: options.hubId, onFailure: this.#warner('audit_not_written') });
    this.#anchor = new AuditAnchor(collaborators.anchors);
    this.#sync = new WalSync({ clock, path, commit: () => this.#tape.commit(), onFailure: this.#warner('audit_not_synced') });
  }

  async start(): Promise<void> {
    if (this.#file.isOpen) return;
    await this.#file.start();
    const hub = this.#options.hubId;
    const { losses, openIntents } = this.#tape.open((chain) => examine(chain, { hub, anchor: this.#anchor }));
    const nowMs = this.#collaborators.clock.now();
    const unknown = openIntents.list().map((intent) => unknownOutcome(intent, nowMs));
    this.#tape.owe(
      [...this.#restoreNotes(nowMs), this.#openingNote(nowMs), ...losses.map((loss) => this.#tellLoss(loss, nowMs)), ...unknown],
      openIntents,
    );
    // From here on the chain itself tells of the loss.
    if (losses.length > 0) await this.#keepHead();
    else this.#sync.soon();
    this.#scheduleUpkeep();
  }

  async record(entry: AuditEntry): Promise<void> {
    this.#tape.append(fieldsOf(entry));
    this.#sync.soon();
    if (entry.kind === 'intent' && entry.mustSync) await this.#sync.now();
  }

  read(query: AuditQuery): readonly AuditRow[] {
    return this.#tape.read({ ...query, limit: Math.min(query.limit, MAX_READ_ROWS) });
  }

  head(): AuditHead {
    return this.#tape.head;
  }

  async verify(expected?: Pick<AuditHead, 'seq' | 'hash'>): Promise<AuditVerification> {
    this.#checksRunning++;
    try {
      return await this.#verify(expected);
    } finally {
      this.#checksRunning--;
    }
  }

  /** Copies the database now, with every row there is. Throws STORAGE_FAILED. */
  async snapshot(): Promise<Snapshot> {
    this.#tape.commit();
    return await this.#file.snapshot();
  }

  /** Gives up what is too old or too much, in slices. Throws STORAGE_FAILED. */
  async prune(): Promise<void> {
    const olderThanMs = this.#collaborators.clock.now() - (this.#options.keepDays ?? 365) * DAY_MS;
    // A check that is under way still has to see the rows.
    while (this.#file.isOpen && this.#checksRunning === 0 && this.#tape.prune({ maxBytes: this.#maxBytes, olderThanMs })) {
      this.#sync.soon();
      await nextTurn();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelUpkeep();
    if (this.#file.isOpen) await this.#keepHead();
    this.#tape.close();
    await this.#sync[Symbol.asyncDispose]();
    await this.#file[Symbol.asyncDispose]();
  }

  get #maxBytes(): number {
    return this.#options.maxBytes ?? 256 * 1_048_576;
  }

  async #verify(expected: ChainLink | undefined): Promise<AuditVerification> {
    this.#tape.commit();
    const { head, ledger } = this.#tape;
    const kept = this.#anchor.read()?.head;
    const witnesses = [kept, expected].flatMap((link) => (link && link.seq >= ledger.pruned.seq ? [link] : []));
    const check = new AuditCheck({ hub: ledger.hub, after: ledger.pruned, witnesses, isWhole: true });
    for (let seq: number | undefined = ledger.pruned.seq; seq !== undefined; ) {
      const rows = this.#tape.slice(seq, head.seq);
      for (const { link, fields } of rows) check.take(link, fields);
      seq = rows.at(-1)?.link.seq;
      await nextTurn();
    }
    const problem = check.finish(head.seq) ?? beyondReach(expected, ledger.pruned);
    return { intact: problem === undefined, rows: check.rows, head, ...(problem && { problem }) };
  }

  #openingNote(nowMs: number): AuditFields {
    const { recovery } = this.#file;
    const isFirst = this.#tape.head.seq === 0;
    const data = { hub: this.#options.hubId, ...(recovery && { recovery }) };
    return journalNote(isFirst ? JOURNAL_NOTES.began : JOURNAL_NOTES.opened, nowMs, data);
  }

  #restoreNotes(nowMs: number): readonly AuditFields[] {
    const restored = takeRestoreNote(this.#collaborators.anchors);
    return restored ? [journalNote(JOURNAL_NOTES.restored, nowMs, restored)] : [];
  }

  #tellLoss({ warning, seq, reason }: Loss, nowMs: number): AuditFields {
    this.#warn(warning, { seq, reason });
    return journalNote(JOURNAL_NOTES.lost, nowMs, { warning, seq, reason });
  }

  #scheduleUpkeep(): void {
    this.#cancelUpkeep = this.#collaborators.clock.after(UPKEEP_MS, () => {
      this.#scheduleUpkeep();
      void this.#upkeep();
    });
  }

  async #upkeep(): Promise<void> {
    await this.#keepHead();
    await this.prune().catch(this.#warner('audit_not_pruned'));
  }

  /** The head outside of the file must never be ahead of what a power cut leaves of it. */
  async #keepHead(): Promise<void> {
    const { head, openFromSeq } = this.#tape;
    try {
      await this.#sync.now();
      this.#anchor.write({ head: { seq: head.seq, hash: head.hash }, openFromSeq });
    } catch (error) {
      this.#warner('audit_head_not_kept')(error);
    }
  }

  #warner(warning: string): (error: unknown) => void {
    return (error) => this.#warn(warning, { reason: error instanceof Error ? error.message : String(error) });
  }

  #warn(warning: string, data: JsonObject): void {
    this.#collaborators.logger.error(warning, data);
    this.#collaborators.events.emit('hub.warning', 'audit.db', { warning, ...data });
  }
}

function beyondReach(expected: ChainLink | undefined, pruned: ChainLink): AuditVerification['problem'] {
  if (!expected || expected.seq >= pruned.seq) return undefined;
  const { seq } = expected;
  return { seq, reason: `row ${seq} can no longer be compared: the rows up to ${pruned.seq} were given up as too old or too many` };
}
