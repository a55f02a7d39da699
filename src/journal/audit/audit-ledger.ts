import type { DatabaseSync } from 'node:sqlite';
import type { FileMark } from '../../core/storage/file-anchor.ts';
import type { AuditFields, ChainLink } from './audit-chain.ts';
import { genesis } from './audit-chain.ts';
import { hexOf, parseRow, ROW_COLUMNS, ROW_TABLES } from './audit-columns.ts';

/** A row with its place. */
export interface ChainedRow {
  readonly link: ChainLink;
  readonly fields: AuditFields;
}

/** Where the chain in a file begins. */
export interface LedgerStart {
  /** The hub that began it. */
  readonly hub: string;
  /** The last row that was pruned, or the genesis. */
  readonly pruned: ChainLink;
}

/** When rows are given up. */
export interface Retention {
  readonly maxBytes: number;
  readonly olderThanMs: number;
}

/** Rows that one transaction gives up, and that one turn of the event loop looks at. */
export const SLICE_ROWS = 1_000;

/** The start of the chain in the file, which begins one for `hub` when there is none. */
export function openLedger(database: DatabaseSync, hub: string): LedgerStart {
  const row = database.prepare('SELECT hub, pruned_seq, pruned_hash FROM chain').get();
  if (row) return { hub: String(row.hub), pruned: { seq: Number(row.pruned_seq), hash: hexOf(row.pruned_hash) } };
  const pruned = genesis(hub);
  database.prepare('INSERT INTO chain VALUES (?, ?, ?)').run(hub, pruned.seq, Buffer.from(pruned.hash, 'hex'));
  return { hub, pruned };
}

/** How far the chain in a file is. */
export function measureAudit(database: DatabaseSync): FileMark {
  const row = database.prepare('SELECT (SELECT max(seq) FROM entry) AS last, (SELECT pruned_seq FROM chain) AS pruned').get();
  return { generation: Math.max(Number(row?.last ?? 0), Number(row?.pruned ?? 0)), digest: '' };
}

/** The last row; what the chain begins after when there is none. */
export function lastLink(database: DatabaseSync, { pruned }: LedgerStart): ChainLink {
  const row = database.prepare('SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1').get();
  return row ? { seq: Number(row.seq), hash: hexOf(row.hash) } : pruned;
}

/** The row of this number. */
export function linkAt(database: DatabaseSync, seq: number): ChainLink | undefined {
  const row = database.prepare('SELECT hash FROM entry WHERE seq = ?').get(seq);
  return row && { seq, hash: hexOf(row.hash) };
}

/** Rows in the order in which they were written, after one and up to another, at most a slice. */
export function sliceAfter(database: DatabaseSync, afterSeq: number, untilSeq: number): readonly ChainedRow[] {
  return database
    .prepare(`SELECT ${ROW_COLUMNS} FROM ${ROW_TABLES} WHERE e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ${SLICE_ROWS}`)
    .all(afterSeq, untilSeq)
    .map(parseRow);
}

/** The last of the oldest rows that are to go now, at most a slice; the newest slice always stays. */
export function oldestToPrune(database: DatabaseSync, { maxBytes, olderThanMs }: Retention): ChainLink | undefined {
  const edges = database.prepare('SELECT min(seq) AS first, max(seq) AS last FROM entry').get();
  const first = Number(edges?.first);
  const until = Math.min(first + SLICE_ROWS, Number(edges?.last) - SLICE_ROWS);
  if (!(until > first)) return undefined;
  if (usedBytes(database) > maxBytes) return linkAt(database, until - 1);
  const young = database.prepare('SELECT min(seq) AS seq FROM entry WHERE seq >= ? AND seq < ? AND at >= ?').get(first, until, olderThanMs);
  const end = young?.seq === null ? until : Number(young?.seq);
  return end > first ? linkAt(database, end - 1) : undefined;
}

/** Gives up all rows up to this one; what the chain begins after is kept. To be run inside a transaction. */
export function pruneUntil(database: DatabaseSync, { seq, hash }: ChainLink): void {
  database.prepare('DELETE FROM entry WHERE seq <= ?').run(seq);
  database.prepare('DELETE FROM block WHERE last <= ?').run(seq);
  database.prepare('UPDATE chain SET pruned_seq = ?, pruned_hash = ?').run(seq, Buffer.from(hash, 'hex'));
}

function usedBytes(database: DatabaseSync): number {
  const number = (pragma: string) => Number(database.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
  return (number('page_count') - number('freelist_count')) * number('page_size');
}
