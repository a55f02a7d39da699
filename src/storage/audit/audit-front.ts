import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, renameSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { type WriteBytes, writeAll } from '../../core/files/file-system.ts';
import { AUDIT_KINDS, type AuditVerification } from '../../core/storage/audit-log.ts';
import { guardStorage } from '../storage-error.ts';
import { type AuditFields, type ChainLink, nextLink } from './audit-chain.ts';
import type { ChainedRow } from './audit-database.ts';

/**
 * The file before audit.db: lines that were not committed yet, each given to the kernel by one write, which survives the end
 * of the process and costs a tenth of a commit. It is never synced: what has to survive a power cut is committed first.
 */
export class AuditFront {
  readonly path: string;
  readonly #write: WriteBytes | undefined;
  #descriptor: number | undefined;
  #lengthBytes = 0;
  /** A write was cut off in the middle, as on a full disk. */
  #isTorn = false;

  /** `write`: that of the file system when absent. */
  constructor(path: string, write?: WriteBytes) {
    this.path = path;
    this.#write = write;
  }

  get lengthBytes(): number {
    return this.#lengthBytes;
  }

  /** The whole lines, without their ends. A rest without an end is of a write that nobody was told of. Throws STORAGE_FAILED. */
  read(): readonly string[] {
    const bytes = guardStorage(this.path, () => (existsSync(this.path) ? readFileSync(this.path) : Buffer.alloc(0)));
    this.#lengthBytes = bytes.length;
    return bytes.toString('utf8').split('\n').slice(0, -1);
  }

  /** Adds a line, which brings its own end, or throws STORAGE_FAILED and has added nothing that `read` would find. */
  append(line: string): void {
    if (this.#isTorn) this.cut(this.#lengthBytes);
    guardStorage(this.path, () => {
      const bytes = Buffer.from(line, 'utf8');
      const descriptor = this.#opened();
      this.#isTorn = true;
      writeAll({ path: this.path, descriptor, bytes, ...(this.#write && { write: this.#write }) });
      this.#isTorn = false;
      this.#lengthBytes += bytes.length;
    });
  }

  /** Leaves the first so many bytes. Throws STORAGE_FAILED. */
  cut(lengthBytes: number): void {
    if (lengthBytes === this.#lengthBytes && !this.#isTorn) return;
    guardStorage(this.path, () => ftruncateSync(this.#opened(), lengthBytes));
    this.#lengthBytes = lengthBytes;
    this.#isTorn = false;
  }

  /** Puts the file away under another name, for people to look at; the next line begins a new one. Throws STORAGE_FAILED. */
  setAside(path: string): void {
    this.close();
    guardStorage(this.path, () => renameSync(this.path, path));
    this.#lengthBytes = 0;
    this.#isTorn = false;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Not at start, so that a full disk keeps no hub from starting. */
  #opened(): number {
    this.#descriptor ??= openSync(this.path, 'a', 0o600);
    return this.#descriptor;
  }
}

/** What audit.db holds already. */
interface FrontContext {
  readonly hub: string;
  readonly head: ChainLink;
  /** A row that is in audit.db, or the one that its chain begins after. */
  readonly linkAt: (seq: number) => ChainLink | undefined;
}

/** What of the lines continues the chain. */
interface FrontRows {
  readonly rows: readonly ChainedRow[];
  /** Bytes of the lines up to the last that fits, and its check. */
  readonly lengthBytes: number;
  readonly check: number;
  /** First line that does not fit; nothing after it is taken. */
  readonly problem?: NonNullable<AuditVerification['problem']>;
}

interface ParsedLine {
  readonly check: number;
  readonly body: string;
  readonly seq: number;
  readonly fields: AuditFields;
}

/** What the check of the first line continues: a front belongs behind one row and no other. */
export function frontCheck({ hash }: ChainLink): number {
  return crc32(hash);
}

/**
 * A row as a line of the front: a CRC-32 that goes on over all lines, and what `rowsOfFront` makes the row of. The chain with its
 * SHA-256 is made when rows are committed, many at once, because every call waits for its line.
 */
export function frontLine(check: number, seq: number, fields: AuditFields): { readonly check: number; readonly text: string } {
  const { kind, atMs, agent, tokens, tool, request, trace, content } = fields;
  // In JSON there is no tab: those inside texts are escaped.
  const body = `${JSON.stringify([seq, kind, atMs, agent, tokens, tool, request, trace])}\t${content}`;
  const next = crc32(body, check);
  return { check: next, text: `${next}\t${body}\n` };
}

/**
 * The rows that follow on what audit.db holds. Lines of rows that are in audit.db as well are passed over when they are the same:
 * the hub was killed between the commit and the cut of the front.
 */
export function rowsOfFront(lines: readonly string[], { hub, head, linkAt }: FrontContext): FrontRows {
  const rows: ChainedRow[] = [];
  let last = linkAt((parseLine(lines[0] ?? '')?.seq ?? 0) - 1) ?? head;
  let [check, lengthBytes] = [frontCheck(last), 0];
  for (const text of lines) {
    const line = parseLine(text);
    if (!line || line.seq !== last.seq + 1 || line.check !== crc32(line.body, check)) {
      return { rows, lengthBytes, check, problem: problemAfter(rows.at(-1)?.link ?? head) };
    }
    last = nextLink(last, hub, line.fields);
    if (last.seq > head.seq) rows.push({ link: last, fields: line.fields });
    else if (linkAt(last.seq)?.hash !== last.hash) return { rows, lengthBytes, check, problem: problemAfter(head) };
    check = line.check;
    lengthBytes += Buffer.byteLength(text) + 1;
  }
  return { rows, lengthBytes, check };
}

function problemAfter({ seq }: ChainLink): NonNullable<FrontRows['problem']> {
  return { seq: seq + 1, reason: `what audit.front holds does not follow on row ${seq}: it was changed, or rows before it are gone` };
}

/** Without believing anything: what does not come out as it was written does not fit its check. */
function parseLine(line: string): ParsedLine | undefined {
  const [check = '', head = '', content = ''] = line.split('\t');
  const [seq, kind, atMs, agent, tokens, tool, request, trace] = parsedList(head);
  const kindName = AUDIT_KINDS.find((known) => known === kind);
  if (typeof seq !== 'number' || typeof atMs !== 'number' || !kindName || parsedList(`[${content}]`).length !== 1) return undefined;
  const fields: AuditFields = {
    kind: kindName,
    atMs,
    ...(typeof agent === 'string' && { agent }),
    ...(Array.isArray(tokens) && { tokens: tokens.map(String) }),
    ...(typeof tool === 'string' && { tool }),
    ...(typeof request === 'string' && { request }),
    ...(typeof trace === 'string' && { trace }),
    content,
  };
  return { check: Number(check), body: `${head}\t${content}`, seq, fields };
}

function parsedList(text: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}
