import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { type Json, objectOf } from '../../core/json.ts';
import type { TraceBounds, TraceRow, TraceRows } from '../../core/storage/trace-rows.ts';
import type { Migration } from '../checked-database.ts';
import type { SqliteFile } from '../sqlite-file.ts';

/** Adds the traces of agents to history.db. `alive` has one row: when the hub was last known to run. */
export const TRACE_MIGRATION: Migration = {
  script: `CREATE TABLE trace (
    id INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    last INTEGER NOT NULL,
    n INTEGER NOT NULL,
    content TEXT NOT NULL
  );
  CREATE INDEX trace_agent ON trace (agent, last);
  CREATE TABLE alive (at INTEGER NOT NULL);
  INSERT INTO alive VALUES (0)`,
  undo: 'DROP TABLE trace; DROP TABLE alive',
};

const DROP_OF_AGENTS = `DELETE FROM trace WHERE id IN (
  SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY agent ORDER BY last DESC, id DESC) AS place FROM trace WHERE kind = ?)
  WHERE place > ?)`;

/** Runs work that writes in one counted transaction. */
type Commit = (work: (database: DatabaseSync) => void) => void;

/** Reads and writes the traces in history.db. */
export class TraceTable implements TraceRows {
  readonly #file: Pick<SqliteFile, 'use'>;
  readonly #commit: Commit;

  constructor(file: Pick<SqliteFile, 'use'>, commit: Commit) {
    this.#file = file;
    this.#commit = commit;
  }

  known(): ReturnType<TraceRows['known']> {
    return this.#file.use((database) => {
      const lastId = Number(database.prepare('SELECT max(id) AS id FROM trace').get()?.id ?? 0);
      const aliveMs = Number(database.prepare('SELECT at FROM alive').get()?.at ?? 0);
      return { lastId, aliveMs: aliveMs === 0 ? undefined : aliveMs };
    });
  }

  write(rows: readonly TraceRow[], aliveMs: number): void {
    this.#commit((database) => {
      const insert = database.prepare('INSERT OR REPLACE INTO trace VALUES (?, ?, ?, ?, ?, ?, ?)');
      for (const { id, agent, kind, atMs, lastMs, count, content } of rows) {
        insert.run(id, agent, kind, atMs, lastMs, count, JSON.stringify(content));
      }
      database.prepare('UPDATE alive SET at = ?').run(aliveMs);
    });
  }

  read({ agent, fromMs, toMs, limit }: Parameters<TraceRows['read']>[0]): readonly TraceRow[] {
    const sql = 'SELECT * FROM trace WHERE agent = ? AND last >= ? AND at <= ? ORDER BY last DESC, id DESC LIMIT ?';
    return this.#file.use((database) => database.prepare(sql).all(agent, fromMs, toMs, limit).map(rowOf));
  }

  drop({ sinceMs, perAgent, total }: TraceBounds): void {
    this.#commit((database) => {
      database.prepare('DELETE FROM trace WHERE last < ?').run(sinceMs);
      database.prepare('DELETE FROM trace WHERE id IN (SELECT id FROM trace ORDER BY last DESC, id DESC LIMIT -1 OFFSET ?)').run(total);
      for (const [kind, most] of Object.entries(perAgent)) database.prepare(DROP_OF_AGENTS).run(kind, most);
    });
  }
}

function rowOf({ id, agent, kind, at, last, n, content }: Record<string, SQLOutputValue>): TraceRow {
  return {
    id: Number(id),
    agent: String(agent),
    kind: kind === 'near' ? 'near' : 'fired',
    atMs: Number(at),
    lastMs: Number(last),
    count: Number(n),
    content: objectOf(JSON.parse(String(content)) as Json),
  };
}
