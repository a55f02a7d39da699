import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { SqliteStorageDriver } from '@matter/nodejs';
import type { FileAnchor, FileMark } from '../../core/storage/file-anchor.ts';

type Creator = NonNullable<NonNullable<ConstructorParameters<typeof SqliteStorageDriver>[0]>['databaseCreator']>;

/** As matter.js's driver (0.17.9) makes it. */
const TABLE = `CREATE TABLE IF NOT EXISTS kvstore (
  context TEXT NOT NULL,
  key TEXT NOT NULL,
  value_type TEXT CHECK(value_type IN ('json', 'blob')),
  value_json TEXT,
  value_blob BLOB,
  CONSTRAINT PKPair PRIMARY KEY (context, key)
) STRICT`;
const SUM = (row: 'NEW' | 'OLD') => `row_sum(${row}.context, ${row}.key, ${row}.value_type, ${row}.value_json, ${row}.value_blob)`;
/**
 * Counts changes and keeps the sum of the sums of all rows, in the transaction of each change. The triggers belong to the connection,
 * since they call a function that only this one has.
 */
const COUNTING = `CREATE TABLE IF NOT EXISTS hub_mark (generation INTEGER NOT NULL, sum INTEGER NOT NULL);
CREATE TEMP TRIGGER mark_insert AFTER INSERT ON main.kvstore BEGIN
  UPDATE hub_mark SET generation = generation + 1, sum = sum + ${SUM('NEW')};
END;
CREATE TEMP TRIGGER mark_update AFTER UPDATE ON main.kvstore BEGIN
  UPDATE hub_mark SET generation = generation + 1, sum = sum + ${SUM('NEW')} - ${SUM('OLD')};
END;
CREATE TEMP TRIGGER mark_delete AFTER DELETE ON main.kvstore BEGIN
  UPDATE hub_mark SET generation = generation + 1, sum = sum - ${SUM('OLD')};
END`;

/**
 * The database under matter.js's sqlite driver. Unlike its own (0.17.9) it syncs each commit, so that a power cut takes
 * no device that has just joined, it can write again after the disk was full, and it is anchored.
 */
export function openMatterDatabase(path: string, anchor?: FileAnchor): ReturnType<Creator> {
  const database = new DatabaseSync(path);
  // A row that another one replaces is deleted for the triggers too.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA recursive_triggers = ON');
  beginCounting(database);
  const mark = () => {
    if (anchor && !database.isTransaction) anchor.synced(markIn(database) ?? { generation: 0, digest: '' });
  };
  mark();
  const prepare = (sql: string) => {
    const statement = database.prepare(sql);
    const run = statement.run.bind(statement);
    return Object.assign(statement, {
      run: (...values: Parameters<typeof run>) => {
        const result = run(...values);
        mark();
        return result;
      },
    });
  };
  return {
    prepare: prepare as unknown as ReturnType<Creator>['prepare'],
    exec(sql) {
      // SQLite rolls back by itself when the disk is full. Refusing to do it again would leave matter.js in that transaction for ever.
      if (sql !== 'ROLLBACK' || database.isTransaction) database.exec(sql);
      if (sql === 'COMMIT') mark();
    },
    close: () => database.close(),
  };
}

/** What a storage file says of itself; undefined for one of a hub that did not count. */
export function markIn(database: DatabaseSync): FileMark | undefined {
  const isCounted = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'hub_mark'").get() !== undefined;
  const row = isCounted ? database.prepare('SELECT generation, sum FROM hub_mark').get() : undefined;
  return row && { generation: Number(row.generation), digest: String(row.sum) };
}

/** The sum of the sums of all rows, as they are. */
export function sumOfRows(database: DatabaseSync): string {
  let sum = 0;
  for (const { context, key, value_type: type, value_json: json, value_blob: blob } of database
    .prepare('SELECT * FROM kvstore')
    .iterate()) {
    sum += rowSum(context ?? null, key ?? null, type ?? null, json ?? null, blob ?? null);
  }
  return String(sum);
}

function beginCounting(database: DatabaseSync): void {
  database.function('row_sum', { deterministic: true, varargs: true }, rowSum);
  database.exec(TABLE);
  const before = markIn(database);
  database.exec(COUNTING);
  const sum = sumOfRows(database);
  if (!before) database.prepare('INSERT INTO hub_mark VALUES (1, ?)').run(Number(sum));
  // Rows that were kept although they are not as they were written.
  else if (before.digest !== sum) database.prepare('UPDATE hub_mark SET generation = generation + 1, sum = ?').run(Number(sum));
}

function rowSum(...values: readonly SQLInputValue[]): number {
  return crc32(JSON.stringify(values.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value))));
}
