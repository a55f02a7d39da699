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
  const tools = query.tool === undefined ? undefined : toolsNamed(database, query.tool);
  const { conditions, values } = conditionsOf(query, tools);
  const select = database.prepare(
    `SELECT ${ROW_COLUMNS} FROM ${ROW_TABLES} WHERE e.seq BETWEEN ? AND ?${conditions} ORDER BY e.seq DESC LIMIT ?`,
  );
  const rows: AuditRow[] = [];
  const before = query.before ?? headSeq + 1;
  for (const { first, last } of stretchesFor(database, query, { headSeq, tools })) {
    const found = select.all(first, Math.min(last, before - 1), ...values, query.limit - rows.length).map((row) => parseRow(row));
    rows.push(...found.map(({ link, fields }) => rowOf(hub, link, fields)));
    if (rows.length >= query.limit) break;
  }
  return rows;
}

/**
 * What rows may have as the tool of this name: the id itself, and for a name without a version (`namespace:name`, or the name alone)
 * each id that ever had it, since a tool that is gone can still be asked for.
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

function conditionsOf(
  query: AuditQuery,
  tools: readonly string[] | undefined,
): {
  readonly conditions: string;
  readonly values: readonly (string | number | Uint8Array | null)[];
} {
  const parts = [
    ...(query.sinceMs === undefined ? [] : [{ sql: 'e.at >= ?', value: query.sinceMs }]),
    ...(query.untilMs === undefined ? [] : [{ sql: 'e.at <= ?', value: query.untilMs }]),
    ...(query.agent === undefined ? [] : [{ sql: 'a.text = ?', value: query.agent }]),
    ...(tools === undefined ? [] : [{ sql: 'coalesce(t.text, e.tool) IN (SELECT value FROM json_each(?))', value: JSON.stringify(tools) }]),
    ...(query.request === undefined ? [] : [{ sql: 'e.request = ?', value: packId(query.request) }]),
    ...(query.kind === undefined ? [] : [{ sql: 'e.kind = ?', value: AUDIT_KINDS.indexOf(query.kind) }]),
  ];
  return { conditions: parts.map(({ sql }) => ` AND ${sql}`).join(''), values: parts.map(({ value }) => value) };
}
