import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, renameSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { type WriteBytes, writeAll } from '../../core/files/file-system.ts';
import { present, tryParseJson } from '../../core/json.ts';
import { AUDIT_KINDS, type AuditVerification } from '../../core/storage/audit-log.ts';
import { guardStorage } from '../storage-error.ts';
import { type AuditFields, type ChainLink, nextLink } from './audit-chain.ts';
import type { ChainedRow } from './audit-database.ts';

/**
 * The file `audit.front` before audit.db: lines that are not committed yet, each passed to the kernel by one write, which survives the
 * end of the process and costs a tenth of a commit. It is never synced: rows that must survive a power cut are committed first.
 */
export class AuditFront {
  readonly path: string;
  readonly #write: WriteBytes | undefined;
  #descriptor: number | undefined;
  #lengthBytes = 0;
  /** True after a partial write, as on a full disk. */
  #isTorn = false;

  /** `write`: the function of the file system when absent. */
  constructor(path: string, write?: WriteBytes) {
    this.path = path;
    this.#write = write;
  }

  get lengthBytes(): number {
    return this.#lengthBytes;
  }

  /** The complete lines, without line feeds. A partial last line is of a write that failed. Throws STORAGE_FAILED. */
  read(): readonly string[] {
    const bytes = guardStorage(this.path, () => (existsSync(this.path) ? readFileSync(this.path) : Buffer.alloc(0)));
    this.#lengthBytes = bytes.length;
    return bytes.toString('utf8').split('\n').slice(0, -1);
  }

  /** Appends a line with its line feed, or throws STORAGE_FAILED and has added nothing that `read` would return. */
  append(line: string): void {
    if (this.#isTorn) this.cut(this.#lengthBytes);
    guardStorage(this.path, () => {
      const bytes = Buffer.from(line, 'utf8');
      const descriptor = this.#opened();
      this.#isTorn = true;
      writeAll({ path: this.path, descriptor, bytes, write: this.#write });
      this.#isTorn = false;
      this.#lengthBytes += bytes.length;
    });
  }

  /** Truncates the file to `lengthBytes`. Throws STORAGE_FAILED. */
  cut(lengthBytes: number): void {
    if (lengthBytes === this.#lengthBytes && !this.#isTorn) return;
    guardStorage(this.path, () => ftruncateSync(this.#opened(), lengthBytes));
    this.#lengthBytes = lengthBytes;
    this.#isTorn = false;
  }

  /** Renames the file, for people to examine; the next line begins a new one. Throws STORAGE_FAILED. */
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

  /** Opens the file at the first write, so that a full disk does not keep a hub from starting. */
  #opened(): number {
    this.#descriptor ??= openSync(this.path, 'a', 0o600);
    return this.#descriptor;
  }
}

/** The state of audit.db. */
interface FrontContext {
  readonly hub: string;
  readonly head: ChainLink;
  /** A row that is in audit.db, or the one that its chain begins after. */
  readonly linkAt: (seq: number) => ChainLink | undefined;
}

/** The lines that continue the chain. */
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

/** The seed of the first line's check: a front file fits after one row of audit.db and no other. */
export function frontCheck({ hash }: ChainLink): number {
  return crc32(hash);
}

/**
 * A row as a line of the front file: a CRC-32 that continues over all lines, and the fields. The SHA-256 chain is computed when rows
 * are committed, many at once, because every call waits for its line.
 */
export function frontLine(check: number, seq: number, fields: AuditFields): { readonly check: number; readonly text: string } {
  const { kind, atMs, agent, tokens, tool, request, trace, content } = fields;
  // In JSON there is no tab: those inside texts are escaped.
  const body = `${JSON.stringify([seq, kind, atMs, agent, tokens, tool, request, trace])}\t${content}`;
  const next = crc32(body, check);
  return { check: next, text: `${next}\t${body}\n` };
}

/**
 * The rows after the last one in audit.db. Lines of rows that are in audit.db as well are skipped when they are the same: the hub was
 * killed between the commit and the truncation of the front file.
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
  return { seq: seq + 1, reason: `the content of audit.front does not follow row ${seq}: it was changed, or rows before it are gone` };
}

/** Parses an untrusted line; undefined for a line that no hub writes. */
function parseLine(line: string): ParsedLine | undefined {
  const [check = '', head = '', content = ''] = line.split('\t');
  const [seq, kind, atMs, agent, tokens, tool, request, trace] = parsedList(head);
  const kindName = AUDIT_KINDS.find((known) => known === kind);
  if (typeof seq !== 'number' || typeof atMs !== 'number' || !kindName || parsedList(`[${content}]`).length !== 1) return undefined;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const tokenIds = Array.isArray(tokens) ? tokens.map(String) : undefined;
  const named = present({ agent: text(agent), tokens: tokenIds, tool: text(tool), request: text(request), trace: text(trace) });
  return { check: Number(check), body: `${head}\t${content}`, seq, fields: { kind: kindName, atMs, ...named, content } };
}

function parsedList(text: string): readonly unknown[] {
  const parsed = tryParseJson(text);
  return Array.isArray(parsed) ? parsed : [];
}
