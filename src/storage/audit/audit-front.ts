import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, renameSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { type WriteBytes, writeAll } from '../../core/files/file-system.ts';
import { present, tryParseJson } from '../../core/json.ts';
import { AUDIT_KINDS, type AuditVerification } from '../../core/storage/audit-log.ts';
import { guardStorage } from '../storage-error.ts';
import { type AuditFields, type ChainLink, nextLink } from './audit-chain.ts';
import type { ChainedRow } from './audit-database.ts';

/**
 * Keeps rows that are not in audit.db yet in `audit.front`, one per line. One system call writes a line, so the line survives a crash of
 * the process, and takes a tenth of the time of a commit. The file is never synced: rows that must survive a power cut go to audit.db.
 */
export class AuditFront {
  readonly path: string;
  readonly #write: WriteBytes | undefined;
  #descriptor: number | undefined;
  #lengthBytes = 0;
  /** True after a partial write, as on a full disk. */
  #isTorn = false;

  /** `write` replaces the write function of the file system, for tests. */
  constructor(path: string, write?: WriteBytes) {
    this.path = path;
    this.#write = write;
  }

  get lengthBytes(): number {
    return this.#lengthBytes;
  }

  /** Returns the complete lines. Omits a partial last line, which a failed write left. Throws STORAGE_FAILED if the file cannot be read. */
  read(): readonly string[] {
    const bytes = guardStorage(this.path, () => (existsSync(this.path) ? readFileSync(this.path) : Buffer.alloc(0)));
    this.#lengthBytes = bytes.length;
    return bytes.toString('utf8').split('\n').slice(0, -1);
  }

  /** Appends a line with its line feed. If the disk refuses, throws STORAGE_FAILED, and `read` does not return the line. */
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

  /** Truncates the file to `lengthBytes`. Throws STORAGE_FAILED if the disk refuses. */
  cut(lengthBytes: number): void {
    if (lengthBytes === this.#lengthBytes && !this.#isTorn) return;
    guardStorage(this.path, () => ftruncateSync(this.#opened(), lengthBytes));
    this.#lengthBytes = lengthBytes;
    this.#isTorn = false;
  }

  /** Renames the file so that people can examine it; the next line begins a new file. Throws STORAGE_FAILED if the disk refuses. */
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

  /** Opens the file when it is first written, so that a full disk does not prevent the start of a hub. */
  #opened(): number {
    this.#descriptor ??= openSync(this.path, 'a', 0o600);
    return this.#descriptor;
  }
}

interface FrontContext {
  readonly hub: string;
  readonly head: ChainLink;
  /** Returns the link of row `seq` if the row is in audit.db or is the last pruned row; otherwise undefined. */
  readonly linkAt: (seq: number) => ChainLink | undefined;
}

/** Rows of the front file that follow the last row of audit.db. */
interface FrontRows {
  readonly rows: readonly ChainedRow[];
  /** Length in bytes of the valid lines. A valid line's number and CRC-32 follow the line before. `check` is the last valid CRC-32. */
  readonly lengthBytes: number;
  readonly check: number;
  /** The first invalid line; this line and all later lines are ignored. */
  readonly problem?: NonNullable<AuditVerification['problem']>;
}

interface ParsedLine {
  readonly check: number;
  readonly body: string;
  readonly seq: number;
  readonly fields: AuditFields;
}

/** Returns the start value for the CRC-32 of the first line. It depends on the row before, so the lines match only after that row. */
export function frontCheck({ hash }: ChainLink): number {
  return crc32(hash);
}

/**
 * Returns a row as a line of the front file: a CRC-32, then the fields. The CRC-32 covers the fields of this line and of all lines before
 * it. Calls wait for their line, so the slower SHA-256 chain is computed later, for many rows at once.
 */
export function frontLine(check: number, seq: number, fields: AuditFields): { readonly check: number; readonly text: string } {
  const { kind, atMs, agent, tokens, tool, request, trace, content } = fields;
  // JSON escapes tabs in strings, so a tab can separate the parts.
  const body = `${JSON.stringify([seq, kind, atMs, agent, tokens, tool, request, trace])}\t${content}`;
  const next = crc32(body, check);
  return { check: next, text: `${next}\t${body}\n` };
}

/**
 * Returns the rows of the front file that are not in audit.db yet. Skips lines whose rows are already in audit.db. Such lines remain if the
 * hub was killed between the commit and the truncation of the front file.
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

/** Parses an untrusted line; returns undefined for a line that no hub wrote. */
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
