import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, pause, repeat } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { AuditHead, AuditLog, AuditQuery, AuditRow, AuditVerification } from '../../core/storage/audit-log.ts';
import type { AuditSink } from '../../core/storage/audit-sink.ts';
import type { FileAnchor, KeyValueStore } from '../../core/storage/key-value-store.ts';
import { takeRestoreNote } from '../pending-restore.ts';
import type { Snapshot } from '../snapshot-folder.ts';
import { SqliteFile, type StorageServices } from '../sqlite-file.ts';
import { reasonOf, storageProblem, toStorageError } from '../storage-error.ts';
import { AUDIT_LOG_NOTES, AuditCheck, type AuditEntry, type AuditFields, type ChainLink, fieldsOf } from './audit-chain.ts';
import { AUDIT_MIGRATIONS, measureAudit, SLICE_ROWS } from './audit-database.ts';
import { AuditFiles } from './audit-files.ts';
import { AuditFront } from './audit-front.ts';
import { AuditAnchor, auditNote, examineChain, type Loss, unknownOutcome } from './audit-recovery.ts';

/** Folders, hub and limits of the audit log. */
export interface AuditStoreOptions {
  /** Folder with `audit.db` and `audit.front`. */
  readonly directory: string;
  readonly snapshotDirectory: string;
  /** Size of the database's page cache in KiB. */
  readonly cacheKib?: number;
  readonly hubId: string;
  /** If audit.db uses more bytes than this, the oldest rows are pruned. Default 256 MB. */
  readonly maxBytes?: number;
  /** Rows that are older than this number of days are pruned. Default 365. */
  readonly keepDays?: number;
}

interface AuditServices extends StorageServices {
  /** Stores the head of the chain in a file other than audit.db. */
  readonly anchors: KeyValueStore;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const UPKEEP_MS = 10_000;
/** The head is stored at this interval in milliseconds, so that rewritten rows are detected. Each time, an SD card page is written. */
const HEAD_EVERY_MS = 600_000;
const NOT_WRITTEN = 'audit rows';
const MAX_READ_ROWS = 1_000;
/**
 * The check of older rows begins this many milliseconds after the start. It checks a hundred rows at a time, with a pause of 50 ms in
 * between. A hundred rows take some milliseconds on a small board.
 */
const OLDER_ROWS_AFTER_MS = 60_000;
const OLDER_ROWS_AT_ONCE = 100;
const OLDER_ROWS_REST_MS = 50;

/**
 * Keeps the audit log of calls in `audit.db`: a chain of rows, each with a hash over itself and the previous row. When `record` resolves,
 * the row is in `audit.front` and survives a crash of the process. The row is in `audit.db` and on the disk within 250 ms. For the intent
 * of a dangerous call, `record` resolves only when the row is on the disk.
 */
export class AuditStore implements AuditSink, AuditLog, Service {
  readonly #collaborators: AuditServices;
  readonly #options: AuditStoreOptions;
  readonly #maxBytes: number;
  readonly #file: SqliteFile;
  readonly #files: AuditFiles;
  readonly #anchor: AuditAnchor;
  readonly #sync: WalSync;
  readonly #frontAnchor: FileAnchor;
  #checksRunning = 0;
  #headKeptMs = Number.NEGATIVE_INFINITY;
  /** The last row, and the time by the monotonic clock, of the last check for rows to prune. */
  #pruned = { seq: -1, atMs: 0 };
  #syncedSeq = -1;
  #closing = new AbortController();
  /** Resolves when the rows that the start skipped have been checked. */
  #olderRows: Promise<void> = Promise.resolve();
  #cancelUpkeep: () => void = () => {};

  constructor(services: AuditServices, options: AuditStoreOptions) {
    const { clock } = services;
    this.#collaborators = services;
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? 256 * 1_048_576;
    const path = join(options.directory, 'audit.db');
    this.#file = new SqliteFile(services, {
      path,
      anchor: 'audit.db',
      measure: measureAudit,
      synchronous: 'NORMAL',
      pageSizeBytes: 4096,
      cacheKib: options.cacheKib,
      // A checkpoint syncs twice and blocks the event loop, so checkpoints are rare. Each writes a page once, however often it changed.
      checkpointPages: 4000,
      // The additional space is for new rows while older rows are pruned.
      maxBytes: this.#maxBytes + 16 * 1_048_576,
      migrations: AUDIT_MIGRATIONS,
      snapshots: { directory: options.snapshotDirectory, everyMs: DAY_MS, kept: 1 },
      whenLost: 'start-anew',
    });
    const front = new AuditFront(join(options.directory, 'audit.front'));
    this.#frontAnchor = services.fileAnchors.of('audit.front');
    const onFailure = this.#warner('audit.rows_not_written');
    this.#files = new AuditFiles({ file: this.#file, front, anchor: this.#frontAnchor, clock, hub: options.hubId, onFailure });
    this.#anchor = new AuditAnchor(services.anchors);
    this.#sync = new WalSync({ clock, path, commit: () => this.#files.commit(), onFailure: this.#warner('audit.rows_not_synced') });
  }

  async start(): Promise<void> {
    if (this.#file.isOpen) return;
    await this.#file.start();
    const hub = this.#options.hubId;
    const rowsGiven = this.#frontAnchor.least()?.generation ?? 0;
    const { losses, openIntents } = this.#files.open((chain) => examineChain(chain, { hub, anchor: this.#anchor, rowsGiven }));
    const nowMs = this.#collaborators.clock.now();
    const unknown = openIntents.list().map((intent) => unknownOutcome(intent, nowMs));
    const restored = takeRestoreNote(this.#collaborators.anchors);
    const restoreNotes = restored ? [auditNote(AUDIT_LOG_NOTES.restored, nowMs, restored)] : [];
    const lossNotes = losses.map((loss) => this.#reportLoss(loss, nowMs));
    this.#files.owe([...restoreNotes, this.#openingNote(nowMs), ...lossNotes, ...unknown], openIntents);
    // The chain now contains a note about the loss, so the anchor may be replaced by the new head.
    if (losses.length > 0) await this.#keepHead();
    else this.#sync.soon();
    this.#cancelUpkeep = repeat(this.#collaborators.clock, UPKEEP_MS, () => void this.#upkeep());
    this.#closing = new AbortController();
    this.#olderRows = this.#checkOlderRows(this.#closing.signal);
  }

  async record(entry: AuditEntry): Promise<void> {
    this.#append(fieldsOf(entry));
    this.#sync.soon();
    if (entry.kind === 'intent' && entry.mustSync) await this.#sync.now();
  }

  read(query: AuditQuery): readonly AuditRow[] {
    return this.#files.read({ ...query, limit: Math.min(query.limit, MAX_READ_ROWS) });
  }

  head(): AuditHead {
    return this.#files.head;
  }

  async verify(expected?: Pick<AuditHead, 'seq' | 'hash'>): Promise<AuditVerification> {
    this.#files.commit();
    const { head, ledger } = this.#files;
    const check = await this.#checkAll(expected, SLICE_ROWS, () => nextTurn());
    if (!check) throw new AtmoError('SHUTTING_DOWN', 'The hub is stopping and has not checked the whole audit log; try again when it runs');
    const problem = check.finish(head.seq) ?? beyondReach(expected, ledger.pruned);
    return { intact: problem === undefined, rows: check.rows, head, ...(problem && { problem }) };
  }

  /** Commits all rows and copies the database now. Throws STORAGE_FAILED if the disk refuses. */
  async snapshot(): Promise<Snapshot> {
    this.#files.commit();
    return await this.#file.snapshot();
  }

  /** Prunes the oldest rows in slices until the rest is within `maxBytes` and `keepDays`. Throws STORAGE_FAILED if the disk refuses. */
  async prune(): Promise<void> {
    const olderThanMs = this.#collaborators.clock.now() - (this.#options.keepDays ?? 365) * DAY_MS;
    // Rows are not pruned while a check must still read them.
    while (this.#file.isOpen && this.#checksRunning === 0 && this.#files.prune({ maxBytes: this.#maxBytes, olderThanMs })) {
      this.#sync.soon();
      await nextTurn();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelUpkeep();
    this.#closing.abort();
    await this.#olderRows;
    if (this.#file.isOpen) await this.#keepHead();
    this.#files.close();
    await this.#sync[Symbol.asyncDispose]();
    await this.#file[Symbol.asyncDispose]();
  }

  /** Appends a row. While the disk refuses rows, the hub reports a problem. */
  #append(fields: AuditFields): void {
    const { problems } = this.#collaborators;
    try {
      this.#files.append(fields);
    } catch (error) {
      const problem = storageProblem(error);
      if (problem !== undefined) problems.raise(NOT_WRITTEN, `Calls are not written to the audit log: ${problem}`);
      throw error;
    }
    problems.clear(NOT_WRITTEN);
  }

  /** Checks the rows that the start skipped. There may be a million of them, so the check leaves time for other work. */
  async #checkOlderRows(signal: AbortSignal): Promise<void> {
    const { clock } = this.#collaborators;
    await pause(clock, OLDER_ROWS_AFTER_MS, signal);
    if (signal.aborted) return;
    try {
      this.#files.commit();
      const { seq } = this.#files.head;
      const check = await this.#checkAll(undefined, OLDER_ROWS_AT_ONCE, () => pause(clock, OLDER_ROWS_REST_MS, signal));
      const problem = check?.finishRows(seq);
      if (problem) this.#reportProblem({ warning: 'audit.log_damaged', ...problem });
    } catch (error) {
      this.#warner('audit.chain_not_checked')(error);
    }
  }

  /** Checks every stored row and awaits `rest` after each slice. Returns undefined if the audit log is closed during the check. */
  async #checkAll(expected: ChainLink | undefined, rowsAtOnce: number, rest: () => Promise<void>): Promise<AuditCheck | undefined> {
    const { head, ledger } = this.#files;
    const kept = this.#anchor.read()?.head;
    const witnesses = [kept, expected].flatMap((link) => (link && link.seq >= ledger.pruned.seq ? [link] : []));
    const check = new AuditCheck({ hub: ledger.hub, after: ledger.pruned, witnesses, isWhole: true });
    this.#checksRunning++;
    try {
      for (let seq = ledger.pruned.seq; seq < head.seq; seq += rowsAtOnce) {
        for (const { link, fields } of this.#files.slice(seq, Math.min(seq + rowsAtOnce, head.seq))) check.take(link, fields);
        await rest();
        if (!this.#file.isOpen || this.#closing.signal.aborted) return undefined;
      }
      return check;
    } finally {
      this.#checksRunning--;
    }
  }

  #openingNote(nowMs: number): AuditFields {
    const { recovery } = this.#file;
    const isFirst = this.#files.head.seq === 0;
    const data = { hub: this.#options.hubId, ...(recovery && { recovery }) };
    return auditNote(isFirst ? AUDIT_LOG_NOTES.began : AUDIT_LOG_NOTES.opened, nowMs, data);
  }

  #reportProblem({ warning, seq, reason }: Loss): void {
    this.#warn(warning, { seq, reason });
    this.#collaborators.problems.raise('audit chain', `The audit log is not intact: ${reason}. See "atmo audit verify"`);
  }

  #reportLoss(loss: Loss, nowMs: number): AuditFields {
    this.#reportProblem(loss);
    const { warning, seq, reason } = loss;
    return auditNote(AUDIT_LOG_NOTES.lost, nowMs, { warning, seq, reason });
  }

  async #upkeep(): Promise<void> {
    const nowMs = this.#collaborators.clock.monotonic();
    if (nowMs - this.#headKeptMs >= HEAD_EVERY_MS) await this.#keepHead();
    else await this.#syncRows().catch(this.#warner('audit.rows_not_synced'));
    await this.#pruneIfDue().catch(this.#warner('audit.rows_not_pruned'));
  }

  /** Prunes if rows were added, or if an hour has passed, since rows become too old by the day. */
  async #pruneIfDue(): Promise<void> {
    const nowMs = this.#collaborators.clock.monotonic();
    const { seq } = this.#files.head;
    if (seq === this.#pruned.seq && nowMs - this.#pruned.atMs < HOUR_MS) return;
    await this.prune();
    if (this.#checksRunning === 0) this.#pruned = { seq, atMs: nowMs };
  }

  /** Stores the head outside of audit.db. Syncs the rows first, because the head must never be newer than the rows on the disk. */
  async #keepHead(): Promise<void> {
    try {
      const { head, openFromSeq } = await this.#syncRows();
      this.#anchor.write({ head: { seq: head.seq, hash: head.hash }, openFromSeq });
      this.#headKeptMs = this.#collaborators.clock.monotonic();
    } catch (error) {
      this.#warner('audit.head_not_kept')(error);
    }
  }

  /** Syncs the rows. Returns the last row and the number of the first open intent, both as they were before the sync. */
  async #syncRows(): Promise<Pick<AuditFiles, 'head' | 'openFromSeq'>> {
    const { head, openFromSeq } = this.#files;
    if (head.seq === this.#syncedSeq) return { head, openFromSeq };
    await this.#sync.now();
    this.#syncedSeq = head.seq;
    const mark = { generation: head.seq, digest: '' };
    this.#file.anchor.synced(mark);
    this.#frontAnchor.synced(mark);
    return { head, openFromSeq };
  }

  #warner(warning: string): (error: unknown) => void {
    return (error) => this.#warn(warning, { reason: reasonOf(error) });
  }

  #warn(warning: string, data: JsonObject): void {
    this.#collaborators.logger.error(warning, data);
    this.#collaborators.events.emit('hub.warning', 'audit.db', { warning, ...data });
  }
}

function beyondReach(expected: ChainLink | undefined, pruned: ChainLink): AuditVerification['problem'] {
  if (!expected || expected.seq >= pruned.seq) return undefined;
  const { seq } = expected;
  return { seq, reason: `row ${seq} can no longer be compared: the rows up to ${pruned.seq} were pruned as too old or too many` };
}

interface WalSyncOptions {
  readonly clock: Clock;
  readonly path: string;
  /** Commits the rows that are to be synced. Throws STORAGE_FAILED if the disk refuses. */
  readonly commit: () => void;
  /** Called when a sync in the background fails. While syncs keep failing, called only for the first failure. */
  readonly onFailure: (error: unknown) => void;
}

/** Milliseconds from a call of `soon` to the sync. Including the time of the sync, a row is on the disk within 250 ms. */
const SOON_MS = 200;

/**
 * Syncs the write-ahead log of an open database in the background. With synchronous FULL, SQLite would block the event loop at each commit.
 * While the database is open, the log stays the same file, so one handle is enough for all syncs.
 */
export class WalSync implements AsyncDisposable {
  readonly #options: WalSyncOptions;
  #handle: Promise<FileHandle> | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #isFailing = false;

  constructor(options: WalSyncOptions) {
    this.#options = options;
  }

  /** Syncs all rows that are recorded so far, within 250 ms. */
  soon(): void {
    this.#cancelTimer ??= this.#options.clock.after(SOON_MS, () => {
      this.#cancelTimer = undefined;
      this.now().catch((error: unknown) => {
        if (!this.#isFailing) this.#options.onFailure(error);
        this.#isFailing = true;
      });
    });
  }

  /** Resolves when all rows that were recorded before this call are on the disk. Rejects with STORAGE_FAILED if the disk refuses. */
  now(): Promise<void> {
    // The running sync may have begun before the last commit, so a second sync follows it.
    if (!this.#running) return this.#begin();
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  /** Waits for running syncs and closes the handle of the log. Rows that are not synced yet are synced when the database is closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    await this.#next?.catch(() => {});
    await this.#running?.catch(() => {});
    const handle = await this.#handle?.catch(() => undefined);
    this.#handle = undefined;
    await handle?.close();
  }

  #begin(): Promise<void> {
    const running = this.#sync().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  async #sync(): Promise<void> {
    this.#options.commit();
    const path = `${this.#options.path}-wal`;
    try {
      this.#handle ??= open(path, 'r');
      await (await this.#handle).datasync();
      this.#isFailing = false;
    } catch (error) {
      this.#handle = undefined;
      throw toStorageError(error, path);
    }
  }
}
