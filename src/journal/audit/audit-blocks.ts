import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { AuditQuery } from '../../core/storage/audit-log.ts';
import type { AuditFields } from './audit-chain.ts';
import { parseRow, ROW_COLUMNS, ROW_TABLES } from './audit-columns.ts';

/** Rows in a block. */
const BLOCK_ROWS = 256;

/** Numbers of the first and last row of a stretch. */
interface Stretch {
  readonly first: number;
  readonly last: number;
}

/** Last row that a block covers; rows after it are few and looked through one by one. */
function sealedUntil(database: DatabaseSync): number {
  return Number(database.prepare('SELECT coalesce(max(last), 0) AS last FROM block').get()?.last);
}

/** What occurs in the rows since the last block that was written. */
export class OpenBlock {
  readonly #database: DatabaseSync;
  #first = 0;
  #minAtMs = 0;
  #maxAtMs = 0;
  #keys = new Set<number>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.reload();
  }

  /** To be told of each row once it is inserted; writes the block when it is full. To be run inside a transaction. */
  add(seq: number, fields: AuditFields): void {
    this.#minAtMs = Math.min(this.#minAtMs, fields.atMs);
    this.#maxAtMs = Math.max(this.#maxAtMs, fields.atMs);
    for (const key of keysOf(fields)) this.#keys.add(key);
    if (seq - this.#first + 1 >= BLOCK_ROWS) this.#seal(seq);
  }

  /** Reads from the file what there is to remember, also after a transaction was undone. */
  reload(): void {
    const sealed = sealedUntil(this.#database);
    this.#begin(sealed + 1);
    const rows = this.#database.prepare(`SELECT ${ROW_COLUMNS} FROM ${ROW_TABLES} WHERE e.seq > ?`).all(sealed);
    for (const { link, fields } of rows.map(parseRow)) this.add(link.seq, fields);
  }

  #seal(last: number): void {
    const keys = Buffer.from(Uint32Array.from(this.#keys).buffer);
    this.#database.prepare('INSERT INTO block VALUES (?, ?, ?, ?, ?)').run(last, this.#first, this.#minAtMs, this.#maxAtMs, keys);
    this.#begin(last + 1);
  }

  #begin(first: number): void {
    this.#first = first;
    this.#minAtMs = Number.MAX_SAFE_INTEGER;
    this.#maxAtMs = 0;
    this.#keys = new Set();
  }
}

/** Stretches that may hold a row of one of `tools` (any tool where absent) that fits, newest first; others certainly do not. */
export function* stretchesFor(
  database: DatabaseSync,
  { tool: _, ...query }: AuditQuery,
  { headSeq, tools }: { readonly headSeq: number; readonly tools: readonly string[] | undefined },
): Generator<Stretch> {
  const before = query.before ?? headSeq + 1;
  const sealed = sealedUntil(database);
  if (sealed < headSeq) yield { first: sealed + 1, last: headSeq };
  const blocks = database
    .prepare('SELECT first, last, keys FROM block WHERE first < ? AND min_at <= ? AND max_at >= ? ORDER BY last DESC')
    .iterate(before, query.untilMs ?? Number.MAX_SAFE_INTEGER, query.sinceMs ?? 0);
  const wanted = keysOf(query);
  const anyOf = tools?.flatMap((tool) => keysOf({ tool }));
  for (const { first, last, keys } of blocks) {
    const present = keyList(keys);
    const hasTool = anyOf?.some((key) => present.includes(key)) ?? true;
    if (hasTool && wanted.every((key) => present.includes(key))) yield { first: Number(first), last: Number(last) };
  }
}

/** Short stand-ins; two names that share one only cost a look into a block for nothing. */
function keysOf({ agent, tool, request }: { readonly agent?: string; readonly tool?: string; readonly request?: string }): number[] {
  const keys = [];
  if (agent !== undefined) keys.push(crc32(agent, 1));
  if (tool !== undefined) keys.push(crc32(tool, 2));
  if (request !== undefined) keys.push(crc32(request, 3));
  return keys;
}

function keyList(value: unknown): Uint32Array {
  if (!(value instanceof Uint8Array)) return new Uint32Array();
  // A copy, because what SQLite answers need not begin at a multiple of four.
  const bytes = value.slice(0, value.byteLength - (value.byteLength % 4));
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}
