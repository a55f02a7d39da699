import type { DatabaseSync } from 'node:sqlite';
import { type Clock, isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { AuditHead, AuditQuery, AuditRow } from '../../core/storage/audit-log.ts';
import type { FileAnchor } from '../../core/storage/key-value-store.ts';
import type { SqliteFile } from '../sqlite-file.ts';
import { AUDIT_LOG_NOTES, type AuditFields, type ChainLink, genesis, nextLink } from './audit-chain.ts';
import {
  AuditWriter,
  type ChainedRow,
  type ChainStart,
  lastLink,
  linkAt,
  oldestToPrune,
  openChain,
  pruneUntil,
  type Retention,
  readRows,
  sliceAfter,
} from './audit-database.ts';
import { type AuditFront, frontCheck, frontLine, rowsOfFront } from './audit-front.ts';
import { auditNote, type OpenedChain, OpenIntents } from './audit-recovery.ts';

/**
 * If the front file has at least this size in bytes, its rows are committed before the next row is appended. This keeps commits short: a
 * commit of some hundred rows blocks the event loop for two milliseconds.
 */
const FULL_FRONT_BYTES = 131_072;

interface AuditFilesOptions {
  readonly file: SqliteFile;
  readonly front: AuditFront;
  /** Anchor that stores the number of all rows, including those in the front file. The next start compares it with the rows that exist. */
  readonly anchor: FileAnchor;
  readonly clock: Clock;
  readonly hub: string;
  /** Called when a write fails. While `append` keeps failing, called only for the first row. */
  readonly onFailure: (error: unknown) => void;
}

/** Keeps the chain in two files: new rows are appended to the front file and later committed to the database. */
export class AuditFiles {
  readonly #parts: AuditFilesOptions;
  #ledger: ChainStart;
  #head: ChainLink;
  #headAtMs = 0;
  #writer: AuditWriter | undefined;
  /** Rows of the front file that have their chain link but are not committed yet. */
  #chained: ChainedRow[] = [];
  #waiting: AuditFields[] = [];
  /** The CRC-32 that the next line of the front file continues. */
  #check = 0;
  #openIntents = new OpenIntents();
  /** Rows that were created when the audit log started, such as its opening note, and that are not written yet. */
  #owed: readonly AuditFields[] = [];
  #missed = 0;

  constructor(parts: AuditFilesOptions) {
    this.#parts = parts;
    this.#head = genesis(parts.hub);
    this.#ledger = { hub: parts.hub, pruned: this.#head };
  }

  /** Opens the files and returns the result of `examine`, which is called before any new row is appended. */
  open<Finding>(examine: (chain: OpenedChain) => Finding): Finding {
    return this.#parts.file.use((database) => {
      this.#ledger = openChain(database, this.#parts.hub);
      this.#head = lastLink(database, this.#ledger);
      this.#missed = Number(this.#parts.anchor.least()?.digest ?? 0);
      this.#writer = new AuditWriter(database);
      const problem = this.#takeFront(database);
      return examine({ database, ledger: this.#ledger, head: this.#head, waiting: this.#chained, ...(problem && { problem }) });
    });
  }

  /** Closes the files. Rows that are not committed stay in the front file for the next start. */
  close(): void {
    this.#writer = undefined;
    this.#parts.front.close();
  }

  get head(): AuditHead {
    this.#chain();
    return { hub: this.#ledger.hub, ...this.#head, at: isoTime(this.#headAtMs) };
  }

  get ledger(): ChainStart {
    return this.#ledger;
  }

  /** Number of the first intent without an outcome; all intents before it have an outcome. */
  get openFromSeq(): number {
    this.#chain();
    return this.#openIntents.first() ?? this.#head.seq + 1;
  }

  /** Appends a row to the front file. Throws STORAGE_FAILED if the disk refuses it, SHUTTING_DOWN if the audit log is not open. */
  append(fields: AuditFields): void {
    this.#openWriter();
    try {
      if (this.#parts.front.lengthBytes >= FULL_FRONT_BYTES) this.commit();
      this.#catchUp();
      this.#write(fields);
    } catch (error) {
      if (this.#missed === 0) this.#parts.onFailure(error);
      this.#missed++;
      this.#anchorRows();
      throw error;
    }
  }

  /** Appends rows. If the disk refuses them, they are appended later, before the next row that the disk accepts. */
  owe(rows: readonly AuditFields[], openIntents: OpenIntents): void {
    this.#openIntents = openIntents;
    this.#owed = rows;
    this.#attempt(() => this.#catchUp());
    this.#anchorRows();
  }

  /** Commits the rows of the front file to the database. Throws STORAGE_FAILED if that fails; the rows then stay in the front file. */
  commit(): void {
    this.#commitRows();
    this.#clearFront();
  }

  read(query: AuditQuery): readonly AuditRow[] {
    this.commit();
    const chain = { hub: this.#ledger.hub, headSeq: this.#head.seq };
    return this.#parts.file.use((database) => readRows(database, chain, query));
  }

  slice(afterSeq: number, untilSeq: number): readonly ChainedRow[] {
    return this.#parts.file.use((database) => sliceAfter(database, afterSeq, untilSeq));
  }

  /**
   * Prunes at most SLICE_ROWS rows and adds a note to the chain. Returns false if no row is due. Throws STORAGE_FAILED if the disk refuses.
   */
  prune(retention: Retention): boolean {
    this.commit();
    const { file } = this.#parts;
    // It is asked each ten seconds while rows come, and to prepare its statements takes longer than to run them.
    const until = file.use(() => oldestToPrune((sql) => file.statement(sql), retention));
    if (!until) return false;
    const note = auditNote(AUDIT_LOG_NOTES.pruned, this.#parts.clock.now(), { until_seq: until.seq, until_hash: until.hash });
    const row = { link: nextLink(this.#head, this.#ledger.hub, note), fields: note };
    this.#insert([row], (database) => pruneUntil(database, until));
    this.#follow(row);
    this.#check = frontCheck(row.link);
    this.#ledger = { ...this.#ledger, pruned: until };
    for (const anchor of [this.#parts.anchor, file.anchor]) anchor.committed({ generation: this.#head.seq, digest: '' });
    return true;
  }

  /** Takes over the rows that a killed hub left in the front file. Returns the first fault, or undefined. */
  #takeFront(database: DatabaseSync): OpenedChain['problem'] {
    const { front, clock } = this.#parts;
    const { hub, pruned } = this.#ledger;
    const linkOf = (seq: number) => (seq === pruned.seq ? pruned : linkAt(database, seq));
    const { rows, lengthBytes, check, problem } = rowsOfFront(front.read(), { hub, head: this.#head, linkAt: linkOf });
    this.#chained = [...rows];
    this.#head = rows.at(-1)?.link ?? this.#head;
    this.#check = check;
    if (!problem) front.cut(lengthBytes);
    this.#attempt(() => this.#commitRows());
    if (!problem) {
      if (this.#chained.length === 0) this.#clearFront();
      return undefined;
    }
    const aside = `${front.path}.damaged-${isoTime(clock.now()).replaceAll(':', '')}`;
    front.setAside(aside);
    this.#check = frontCheck(this.#head);
    return { seq: problem.seq, reason: `${problem.reason}. The file was renamed to ${aside}` };
  }

  /** Runs `work`. A failure of the disk is only logged, because it must not prevent the start of a hub. */
  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#parts.onFailure(error);
    }
  }

  #commitRows(): void {
    this.#chain();
    if (this.#chained.length === 0) return;
    this.#insert(this.#chained);
    this.#chained = [];
    this.#parts.file.anchor.committed({ generation: this.#head.seq, digest: '' });
  }

  #clearFront(): void {
    this.#parts.front.cut(0);
    this.#check = frontCheck(this.#head);
  }

  #insert(rows: readonly ChainedRow[], before?: (database: DatabaseSync) => void): void {
    const writer = this.#openWriter();
    try {
      this.#parts.file.transaction((database) => {
        before?.(database);
        writer.insert(rows);
      });
    } catch (error) {
      writer.forget();
      throw error;
    }
  }

  #openWriter(): AuditWriter {
    if (!this.#writer) throw new AtmoError('SHUTTING_DOWN', 'The audit log is not open: the hub is starting or stopping');
    return this.#writer;
  }

  #write(fields: AuditFields): void {
    const { check, text } = frontLine(this.#check, this.#head.seq + this.#waiting.length + 1, fields);
    this.#parts.front.append(text);
    this.#check = check;
    this.#waiting.push(fields);
    this.#anchorRows();
  }

  /**
   * Stores two numbers in the anchor file: how many rows there are, and how many rows could not be written. The anchor file never grows, so
   * it can be written even on a full disk.
   */
  #anchorRows(): void {
    const digest = this.#missed === 0 ? '' : String(this.#missed);
    this.#parts.anchor.committed({ generation: this.#head.seq + this.#waiting.length, digest });
  }

  /** Computes the chain links of the rows that were appended since the last call. */
  #chain(): void {
    for (const fields of this.#waiting) {
      const row = { link: nextLink(this.#head, this.#ledger.hub, fields), fields };
      this.#chained.push(row);
      this.#follow(row);
    }
    this.#waiting = [];
  }

  #follow({ link, fields }: ChainedRow): void {
    this.#openIntents.track(link.seq, fields);
    this.#head = link;
    this.#headAtMs = fields.atMs;
  }

  #catchUp(): void {
    if (this.#missed > 0) {
      this.#write(auditNote(AUDIT_LOG_NOTES.resumed, this.#parts.clock.now(), { not_written: this.#missed }));
      this.#missed = 0;
      this.#anchorRows();
    }
    for (let row = this.#owed[0]; row; row = this.#owed[0]) {
      this.#write(row);
      this.#owed = this.#owed.slice(1);
    }
  }
}
