import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { KEPT_BY_HUB } from '../../core/devices/device-model.ts';
import { present } from '../../core/json.ts';
import { AUDIT_KINDS, type AuditQuery, type AuditRow } from '../../core/storage/audit-log.ts';
import type { FileMark } from '../../core/storage/key-value-store.ts';
import { type AuditFields, type ChainLink, genesis, rowOf } from './audit-chain.ts';

/**
 * Schema of audit.db. `kind` is an index into AUDIT_KINDS. Names that repeat (agents, tools, token chains) are stored once in the table
 * `word`, and rows contain their ids. The tool names of refused calls are stored as text in the row, because callers can invent them. The
 * columns of `entry` have no index: request ids are random, so each new row would change another index page, which costs more than the row.
 * Instead, each row of `block` contains hashes of the names in a range of rows. It is written once, when the range is full.
 */
export const AUDIT_MIGRATIONS = [
  `CREATE TABLE chain (hub TEXT NOT NULL, pruned_seq INTEGER NOT NULL, pruned_hash BLOB NOT NULL);
  CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
  CREATE TABLE entry (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    agent INTEGER,
    tokens INTEGER,
    tool,
    request,
    trace,
    content TEXT NOT NULL,
    hash BLOB NOT NULL
  );
  CREATE TABLE block (
    last INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,
    min_at INTEGER NOT NULL,
    max_at INTEGER NOT NULL,
    keys BLOB NOT NULL
  )`,
];

/** Selects rows of `entry` with agent, tool and tokens as text instead of ids of the table `word`. */
const SELECT_ROWS = `SELECT e.seq, e.at, e.kind, a.text AS agent, k.text AS tokens, coalesce(t.text, e.tool) AS tool, e.request, e.trace, e.content, e.hash
  FROM entry e LEFT JOIN word a ON a.id = e.agent LEFT JOIN word k ON k.id = e.tokens
  LEFT JOIN word t ON t.id = e.tool AND typeof(e.tool) = 'integer'`;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TRACE = /^[0-9a-f]{32}$/;

const MAX_TIME_MS = 8_640_000_000_000_000;

/** Packs an id: a UUID becomes 16 bytes, and a W3C trace id becomes a zero byte and 16 bytes. Any other id stays text. */
function packId(id: string | undefined): Uint8Array | string | null {
  if (id === undefined) return null;
  if (id.length === 36 && UUID.test(id)) return Buffer.from(id.replaceAll('-', ''), 'hex');
  return id.length === 32 && TRACE.test(id) ? Buffer.from(`00${id}`, 'hex') : id;
}

/**
 * Parses an untrusted row and never throws. A row that no hub wrote fails later, when its hash is compared. One whose values only stand in
 * another form than a hub writes gets no hash: it would read the same, and queries would not find it.
 */
function parseRow(row: Readonly<Record<string, unknown>>): ChainedRow {
  const [agent, tool, tokens] = [optional(row.agent), optional(row.tool), optional(row.tokens)?.split(' ')];
  const named = present({ agent, tokens, tool, request: unpackId(row.request), trace: unpackId(row.trace) });
  return {
    link: { seq: Number(row.seq), hash: isAsWritten(row) ? hexOf(row.hash) : '' },
    fields: { kind: AUDIT_KINDS[Number(row.kind)] ?? 'note', atMs: timeOf(row.at), ...named, content: String(row.content) },
  };
}

function isAsWritten({ at, kind, request, trace }: Readonly<Record<string, unknown>>): boolean {
  return timeOf(at) === at && typeof kind === 'number' && kind in AUDIT_KINDS && isPacked(request) && isPacked(trace);
}

function isPacked(id: unknown): boolean {
  if (id instanceof Uint8Array) return id.byteLength === 16 || (id.byteLength === 17 && id[0] === 0);
  return typeof id !== 'string' || typeof packId(id) === 'string';
}

/** Returns a time of the row; 0 if it is none that a date can have (ECMA-262 §21.4.1.1). */
function timeOf(value: unknown): number {
  const atMs = Number(value);
  return Math.abs(atMs) <= MAX_TIME_MS ? atMs : 0;
}

function hexOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex') : '';
}

function unpackId(value: unknown): string | undefined {
  if (!(value instanceof Uint8Array)) return optional(value);
  const hex = hexOf(value);
  if (value.byteLength !== 16) return hex.slice(2);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function optional(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}

/** A row with its link in the chain. */
export interface ChainedRow {
  readonly link: ChainLink;
  readonly fields: AuditFields;
}

/** The hub that began the chain of a file, and the link that the first stored row follows. */
export interface ChainStart {
  readonly hub: string;
  /** Link of the last pruned row, or the `genesis` link if no row was pruned. */
  readonly pruned: ChainLink;
}

/** Returns the statement of a text, which may be prepared already. */
type Statements = (sql: string) => StatementSync;

/** Limits of the rows. The oldest are pruned if audit.db uses more than `maxBytes`, or if they are older than the time `olderThanMs`. */
export interface Retention {
  readonly maxBytes: number;
  readonly olderThanMs: number;
}

/** Maximum number of rows that are pruned in one transaction or checked in one turn of the event loop. */
export const SLICE_ROWS = 1_000;

/** Returns the beginning of the chain in the file; begins a chain for `hub` if there is none. */
export function openChain(database: DatabaseSync, hub: string): ChainStart {
  const row = database.prepare('SELECT hub, pruned_seq, pruned_hash FROM chain').get();
  if (row) return { hub: String(row.hub), pruned: { seq: Number(row.pruned_seq), hash: hexOf(row.pruned_hash) } };
  const pruned = genesis(hub);
  database.prepare('INSERT INTO chain VALUES (?, ?, ?)').run(hub, pruned.seq, Buffer.from(pruned.hash, 'hex'));
  return { hub, pruned };
}

/** Returns the mark of a file. Its generation is the number of the last row, and its digest is empty. */
export function measureAudit(database: DatabaseSync): FileMark {
  const row = database.prepare('SELECT (SELECT max(seq) FROM entry) AS last, (SELECT pruned_seq FROM chain) AS pruned').get();
  return { generation: Math.max(Number(row?.last ?? 0), Number(row?.pruned ?? 0)), digest: '' };
}

/** Returns the link of the last stored row. If no row is stored, returns the link of the last pruned row. */
export function lastLink(database: DatabaseSync, { pruned }: ChainStart): ChainLink {
  const row = database.prepare('SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1').get();
  return row ? { seq: Number(row.seq), hash: hexOf(row.hash) } : pruned;
}

/** Returns the link of the row with number `seq`, or undefined if there is no such row. */
export function linkAt(database: DatabaseSync, seq: number): ChainLink | undefined {
  return linkIn((sql) => database.prepare(sql), seq);
}

function linkIn(statement: Statements, seq: number): ChainLink | undefined {
  const row = statement('SELECT hash FROM entry WHERE seq = ?').get(seq);
  return row && { seq, hash: hexOf(row.hash) };
}

/** Returns at most SLICE_ROWS rows in order: those with numbers above `afterSeq` and up to `untilSeq`. */
export function sliceAfter(database: DatabaseSync, afterSeq: number, untilSeq: number): readonly ChainedRow[] {
  return database
    .prepare(`${SELECT_ROWS} WHERE e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ${SLICE_ROWS}`)
    .all(afterSeq, untilSeq)
    .map(parseRow);
}

/**
 * Selects the oldest rows to prune now: at most SLICE_ROWS, and none of the newest SLICE_ROWS. Returns the link of the last selected row,
 * or undefined if no row is due.
 */
export function oldestToPrune(statement: Statements, { maxBytes, olderThanMs }: Retention): ChainLink | undefined {
  // Asked for together, the two would make SQLite read the whole table.
  const edges = statement('SELECT (SELECT min(seq) FROM entry) AS first, (SELECT max(seq) FROM entry) AS last').get();
  const first = Number(edges?.first);
  const until = Math.min(first + SLICE_ROWS, Number(edges?.last) - SLICE_ROWS);
  if (!(until > first)) return undefined;
  if (usedBytes(statement) > maxBytes) return linkIn(statement, until - 1);
  const young = statement('SELECT min(seq) AS seq FROM entry WHERE seq >= ? AND seq < ? AND at >= ?').get(first, until, olderThanMs);
  const end = young?.seq === null ? until : Number(young?.seq);
  return end > first ? linkIn(statement, end - 1) : undefined;
}

/** Deletes the row of the link and all rows before it. Stores the link as that of the last pruned row. Must run inside a transaction. */
export function pruneUntil(database: DatabaseSync, { seq, hash }: ChainLink): void {
  database.prepare('DELETE FROM entry WHERE seq <= ?').run(seq);
  database.prepare('DELETE FROM block WHERE last <= ?').run(seq);
  database.prepare('UPDATE chain SET pruned_seq = ?, pruned_hash = ?').run(seq, Buffer.from(hash, 'hex'));
}

function usedBytes(statement: Statements): number {
  const number = (pragma: string) => Number(statement(`PRAGMA ${pragma}`).get()?.[pragma]);
  return (number('page_count') - number('freelist_count')) * number('page_size');
}

const MAX_KNOWN_WORDS = 5_000;

/** Inserts chained rows into audit.db. */
export class AuditWriter {
  readonly #statements: Readonly<Record<'insert' | 'findWord' | 'addWord', StatementSync>>;
  readonly #words = new Map<string, bigint>();
  readonly #block: OpenBlock;

  constructor(database: DatabaseSync) {
    this.#statements = {
      insert: database.prepare('INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
      findWord: database.prepare('SELECT id FROM word WHERE text = ?'),
      addWord: database.prepare('INSERT INTO word (text) VALUES (?) RETURNING id'),
    };
    this.#block = new OpenBlock(database);
  }

  /** Inserts rows. Must run inside a transaction; call `forget` if the transaction is rolled back. */
  insert(rows: readonly ChainedRow[]): void {
    for (const row of rows) {
      this.#insert(row);
      this.#block.add(row.link.seq, row.fields);
    }
  }

  /** Drops all cached words and reads the open block from the file again. */
  forget(): void {
    this.#words.clear();
    this.#block.reload();
  }

  #insert({ link, fields }: ChainedRow): void {
    const { atMs, kind, agent, tokens, tool, request, trace, content } = fields;
    this.#statements.insert.run(
      link.seq,
      atMs,
      AUDIT_KINDS.indexOf(kind),
      this.#word(agent),
      this.#word(tokens?.join(' ')),
      // Words are never deleted, and callers can invent tool names. A refused call therefore has its tool name as text in its row.
      kind === 'refusal' ? (tool ?? null) : this.#word(tool),
      packId(request),
      packId(trace),
      content,
      Buffer.from(link.hash, 'hex'),
    );
  }

  #word(text: string | undefined): bigint | null {
    if (text === undefined) return null;
    const known = this.#words.get(text);
    if (known !== undefined) return known;
    const { findWord, addWord } = this.#statements;
    // SQLite would store a JavaScript number as a float in a column without a type.
    const id = BigInt(Number((findWord.get(text) ?? addWord.get(text))?.id));
    if (this.#words.size >= MAX_KNOWN_WORDS) this.#words.clear();
    this.#words.set(text, id);
    return id;
  }
}

/** Returns the rows that match a query, newest first, at most `query.limit`. */
export function readRows(database: DatabaseSync, { hub, headSeq }: { hub: string; headSeq: number }, query: AuditQuery) {
  const tools = query.tool === undefined ? undefined : toolsNamed(database, query.tool);
  const { conditions, values } = conditionsOf(query, tools);
  const select = database.prepare(`${SELECT_ROWS} WHERE e.seq BETWEEN ? AND ?${conditions} ORDER BY e.seq DESC LIMIT ?`);
  const rows: AuditRow[] = [];
  const before = query.before ?? headSeq + 1;
  for (const { first, last } of rowRangesFor(database, query, { headSeq, tools })) {
    const found = select
      .all(Math.max(first, (query.after ?? 0) + 1), Math.min(last, before - 1), ...values, query.limit - rows.length)
      .map((row) => parseRow(row));
    rows.push(...found.map(({ link, fields }) => rowOf(hub, link, fields)));
    if (rows.length >= query.limit) break;
  }
  return rows;
}

/**
 * Returns the tool ids that match a queried name: the name itself and, if it has no version (`namespace:name` or `name`), all logged ids of
 * the tool with this name. The query then also finds the calls of a removed tool.
 */
function toolsNamed(database: DatabaseSync, name: string): readonly string[] {
  if (name.includes('@')) return [name];
  const ids = database
    .prepare(
      "SELECT text FROM word WHERE ?1 IN (substr(text, 1, instr(text, '@') - 1), substr(text, instr(text, ':') + 1, instr(text, '@') - instr(text, ':') - 1))",
    )
    .all(name);
  return [name, ...ids.map(({ text }) => String(text))];
}

/** CASE keeps SQLite from parsing the content of a row that somebody damaged. */
const TOUCHES_DEVICE = `e.kind = ${AUDIT_KINDS.indexOf('intent')} AND CASE WHEN json_valid(e.content) THEN json_type(e.content, '$.omitted') = 'array'
  OR EXISTS (SELECT 1 FROM json_each(e.content, '$.before') b WHERE b.key IN (SELECT value FROM json_each(?))) END`;

function conditionsOf(query: AuditQuery, tools: readonly string[] | undefined) {
  const parts = [
    ...(query.sinceMs === undefined ? [] : [{ sql: 'e.at >= ?', value: query.sinceMs }]),
    ...(query.untilMs === undefined ? [] : [{ sql: 'e.at <= ?', value: query.untilMs }]),
    ...(query.agent === undefined ? [] : [{ sql: 'a.text = ?', value: query.agent }]),
    ...(tools === undefined ? [] : [{ sql: 'coalesce(t.text, e.tool) IN (SELECT value FROM json_each(?))', value: JSON.stringify(tools) }]),
    ...(query.request === undefined ? [] : [{ sql: 'e.request = ?', value: packId(query.request) }]),
    ...(query.trace === undefined ? [] : [{ sql: 'e.trace = ?', value: packId(query.trace) }]),
    ...(query.devices === undefined ? [] : [{ sql: TOUCHES_DEVICE, value: JSON.stringify(query.devices) }]),
    ...(query.kind === undefined ? [] : [{ sql: 'e.kind = ?', value: AUDIT_KINDS.indexOf(query.kind) }]),
  ];
  return { conditions: parts.map(({ sql }) => ` AND ${sql}`).join(''), values: parts.map(({ value }) => value) };
}

const BLOCK_ROWS = 256;

/** Returns the number of the last row that a block covers; later rows are searched one by one. */
function sealedUntil(database: DatabaseSync): number {
  return Number(database.prepare('SELECT coalesce(max(last), 0) AS last FROM block').get()?.last);
}

/** Collects the names in the rows after the last block. After BLOCK_ROWS rows, writes them as a new block. */
class OpenBlock {
  readonly #database: DatabaseSync;
  #first = 0;
  #minAtMs = 0;
  #maxAtMs = 0;
  #keys = new Set<number>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.reload();
  }

  /** Adds an inserted row and writes the block if it is full. Must run inside a transaction. */
  add(seq: number, fields: AuditFields): void {
    this.#minAtMs = Math.min(this.#minAtMs, fields.atMs);
    this.#maxAtMs = Math.max(this.#maxAtMs, fields.atMs);
    for (const key of [...keysOf(fields), ...keysOfDevices(devicesIn(fields))]) this.#keys.add(key);
    if (seq - this.#first + 1 >= BLOCK_ROWS) this.#seal(seq);
  }

  /** Reads the rows after the last block from the file, at the beginning and after a rollback. */
  reload(): void {
    const sealed = sealedUntil(this.#database);
    this.#begin(sealed + 1);
    const rows = this.#database.prepare(`${SELECT_ROWS} WHERE e.seq > ?`).all(sealed);
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
    this.#keys = new Set([IS_COMPLETE]);
  }
}

/** Yields the ranges of rows that may contain a match, newest first. If `tools` is given, only rows with one of these tool ids match. */
function* rowRangesFor(
  database: DatabaseSync,
  { tool: _, ...query }: AuditQuery,
  { headSeq, tools }: { readonly headSeq: number; readonly tools: readonly string[] | undefined },
): Generator<{ readonly first: number; readonly last: number }> {
  const before = query.before ?? headSeq + 1;
  const sealed = sealedUntil(database);
  if (sealed < headSeq) yield { first: sealed + 1, last: headSeq };
  const blocks = database
    .prepare('SELECT first, last, keys FROM block WHERE first < ? AND last > ? AND min_at <= ? AND max_at >= ? ORDER BY last DESC')
    .iterate(before, query.after ?? 0, query.untilMs ?? Number.MAX_SAFE_INTEGER, query.sinceMs ?? 0);
  const mayMatch = blockFilter(query, tools);
  for (const { first, last, keys } of blocks) {
    if (mayMatch(keyList(keys))) yield { first: Number(first), last: Number(last) };
  }
}

/** Returns the test whether a block with these keys may contain a match. */
function blockFilter({ trace, devices, ...named }: Omit<AuditQuery, 'tool'>, tools: readonly string[] | undefined) {
  const wanted = keysOf(named);
  const traced = keysOf({ ...(trace !== undefined && { trace }) });
  const anyTool = tools?.flatMap((tool) => keysOf({ tool }));
  const anyDevice = devices && new Set(keysOfDevices([...devices, CUT]));
  return (keys: Uint32Array): boolean => {
    if (!wanted.every((key) => keys.includes(key)) || anyTool?.some((key) => keys.includes(key)) === false) return false;
    if (!keys.includes(IS_COMPLETE)) return true;
    return traced.every((key) => keys.includes(key)) && (anyDevice === undefined || keys.some((key) => anyDevice.has(key)));
  };
}

/** Returns hashes of the names in a row or a query. If two names have the same hash, blocks without a match may be searched too. */
function keysOf({ agent, tool, request, trace }: Pick<AuditQuery, 'agent' | 'tool' | 'request' | 'trace'>): number[] {
  return [agent, tool, request, trace].flatMap((name, index) => (name === undefined ? [] : [crc32(name, index + 1)]));
}

/** The key of a block that has keys of traces and devices. Blocks of earlier versions have none, so all their rows are searched. */
const IS_COMPLETE = crc32('', 4);
/** Stands for the devices of an intent whose content was too long. */
const CUT = '';

function keysOfDevices(devices: readonly string[]): number[] {
  return devices.map((device) => crc32(device, 5));
}

/** Returns the devices that an intent names. They are found without parsing, because this happens at each row that is written. */
function devicesIn({ kind, content }: AuditFields): readonly string[] {
  if (kind !== 'intent') return [];
  const devices = Array.from(content.matchAll(/"device":"([^"\\]+)"/g), ([, device = CUT]) => device);
  if (content.includes(`"${KEPT_BY_HUB}":{`)) devices.push(KEPT_BY_HUB);
  return content.includes('"omitted":[') ? [...devices, CUT] : devices;
}

function keyList(value: unknown): Uint32Array {
  if (!(value instanceof Uint8Array)) return new Uint32Array();
  // `slice` copies the bytes, because Uint32Array needs them aligned to four bytes and a BLOB may have any alignment.
  const bytes = value.slice(0, value.byteLength - (value.byteLength % 4));
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}
