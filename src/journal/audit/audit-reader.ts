import type { DatabaseSync } from 'node:sqlite';
import { AUDIT_KINDS, type AuditQuery, type AuditRow } from '../../core/storage/audit-log.ts';
import { stretchesFor } from './audit-blocks.ts';
import { rowOf } from './audit-chain.ts';
import { packId, parseRow, ROW_COLUMNS, ROW_TABLES } from './audit-columns.ts';

/** The rows that fit, newest first, at most `query.limit`. */
export function readRows(
  database: DatabaseSync,
  { hub, headSeq }: { hub: string; headSeq: number },
  query: AuditQuery,
): readonly AuditRow[] {
  const { conditions, values } = conditionsOf(query);
  const select = database.prepare(
    `SELECT ${ROW_COLUMNS} FROM ${ROW_TABLES} WHERE e.seq BETWEEN ? AND ?${conditions} ORDER BY e.seq DESC LIMIT ?`,
  );
  const rows: AuditRow[] = [];
  const before = query.before ?? headSeq + 1;
  for (const { first, last } of stretchesFor(database, query, headSeq)) {
    const found = select.all(first, Math.min(last, before - 1), ...values, query.limit - rows.length).map((row) => parseRow(row));
    rows.push(...found.map(({ link, fields }) => rowOf(hub, link, fields)));
    if (rows.length >= query.limit) break;
  }
  return rows;
}

function conditionsOf(query: AuditQuery): {
  readonly conditions: string;
  readonly values: readonly (string | number | Uint8Array | null)[];
} {
  const parts = [
    ...(query.sinceMs === undefined ? [] : [{ sql: 'e.at >= ?', value: query.sinceMs }]),
    ...(query.untilMs === undefined ? [] : [{ sql: 'e.at <= ?', value: query.untilMs }]),
    ...(query.agent === undefined ? [] : [{ sql: 'a.text = ?', value: query.agent }]),
    ...(query.tool === undefined ? [] : [{ sql: 'coalesce(t.text, e.tool) = ?', value: query.tool }]),
    ...(query.request === undefined ? [] : [{ sql: 'e.request = ?', value: packId(query.request) }]),
    ...(query.kind === undefined ? [] : [{ sql: 'e.kind = ?', value: AUDIT_KINDS.indexOf(query.kind) }]),
  ];
  return { conditions: parts.map(({ sql }) => ` AND ${sql}`).join(''), values: parts.map(({ value }) => value) };
}
