import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { FileMark } from '../core/storage/file-anchor.ts';
import { damagedError } from './storage-error.ts';

/**
 * state.db. `generation` is the number of the write that made the row, `sum` a CRC-32 over the whole row: quick_check looks at
 * pages, and not at what is written in them. `deleted` has the number of the last write that took rows away.
 */
export const ENTRY_MIGRATIONS = [
  `CREATE TABLE entry (
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    expires_ms INTEGER,
    PRIMARY KEY (space, key)
  ) WITHOUT ROWID;
  CREATE INDEX entry_expiry ON entry (expires_ms) WHERE expires_ms IS NOT NULL`,
  `ALTER TABLE entry ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE entry ADD COLUMN sum INTEGER;
  CREATE TABLE deleted (generation INTEGER NOT NULL);
  INSERT INTO deleted VALUES (0)`,
];

/** An entry as it is stored. */
export interface EntryRow {
  readonly space: string;
  readonly key: string;
  /** JSON. */
  readonly value: string;
  readonly expiresMs: number | null;
  readonly generation: number;
}

export const SELECT_ROWS = 'SELECT space, key, value, expires_ms, generation, sum FROM entry';

export function rowOf({ space, key, value, expires_ms: expiresMs, generation }: Record<string, SQLOutputValue>): EntryRow {
  return {
    space: String(space),
    key: String(key),
    value: String(value),
    expiresMs: expiresMs === null ? null : Number(expiresMs),
    generation: Number(generation),
  };
}

export function sumOf({ space, key, value, expiresMs, generation }: EntryRow): number {
  return crc32(JSON.stringify([space, key, value, expiresMs, generation]));
}

/**
 * The generation of a store and the sum of the sums of its rows. Throws STORAGE_FAILED with cause `damaged` for a row that is not as
 * it was written. Rows of a hub before sums were kept have none.
 */
export function measureEntries(database: DatabaseSync): FileMark {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (version < ENTRY_MIGRATIONS.length) return { generation: 0, digest: '' };
  let generation = Number(database.prepare('SELECT generation FROM deleted').get()?.generation);
  let digest = 0;
  for (const found of database.prepare(SELECT_ROWS).iterate()) {
    const row = rowOf(found);
    const isUnsigned = found.sum === null && row.generation === 0;
    if (!isUnsigned && found.sum !== sumOf(row))
      throw damagedError('state.db', `the entry ${row.space}/${row.key} is not as it was written`);
    generation = Math.max(generation, row.generation);
    digest += Number(found.sum);
  }
  return { generation, digest: String(digest) };
}
