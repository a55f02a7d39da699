import type { DatabaseSync } from 'node:sqlite';
import type { SensorId } from '../../core/ids.ts';
import type { FileMark } from '../../core/storage/key-value-store.ts';
import { RESOLUTIONS, type Resolution, SLOT_MS, slotStart } from './history-query.ts';

/** A reading as it is stored; booleans are 0 and 1. */
export interface Row {
  readonly atMs: number;
  /** Number of the sensor in the table `sensor`. */
  readonly sensor: number;
  readonly value: number | string;
}

const TABLES: Readonly<Record<Resolution, { readonly table: string; readonly time: string }>> = {
  raw: { table: 'reading', time: 'ts' },
  '5min': { table: 'rollup_5min', time: 'slot' },
  '1h': { table: 'rollup_1h', time: 'slot' },
};

const SUM_UP = {
  '5min': `INSERT OR REPLACE INTO rollup_5min
    SELECT ts - ts % 300000, sensor, count(*), min(value), max(value), sum(value)
    FROM reading WHERE ts >= ? AND ts < ? AND typeof(value) <> 'text' GROUP BY 1, 2`,
  '1h': `INSERT OR REPLACE INTO rollup_1h
    SELECT slot - slot % 3600000, sensor, sum(n), min(min), max(max), sum(sum)
    FROM rollup_5min WHERE slot >= ? AND slot < ? GROUP BY 1, 2`,
};

/** Inserts readings and aggregates the slots that have ended, and again the slots of late readings. Must run inside a transaction. */
export function writeReadings(database: DatabaseSync, rows: readonly Row[], nowMs: number): void {
  const insert = database.prepare('INSERT OR REPLACE INTO reading VALUES (?, ?, ?)');
  for (const { atMs, sensor, value } of rows) insert.run(atMs, sensor, compact(value));
  const untilMs = summedUntil(database);
  const late = rows.map(({ atMs }) => atMs).filter((atMs) => atMs < untilMs);
  for (const step of ['5min', '1h'] as const) {
    for (const slot of new Set(late.map((atMs) => slotStart(atMs, SLOT_MS[step])))) sumUp(database, step, slot, slot + SLOT_MS[step]);
    const [fromMs, toMs] = [slotStart(untilMs, SLOT_MS[step]), slotStart(nowMs, SLOT_MS[step])];
    if (fromMs < toMs) sumUp(database, step, fromMs, toMs);
  }
  // The end of the aggregated slots never moves back, even if the clock does.
  const closedMs = slotStart(nowMs, SLOT_MS['5min']);
  if (closedMs > untilMs) database.prepare('UPDATE summed SET until = ?').run(closedMs);
}

/** Returns the end of the aggregated 5-minute slots, in ms since 1970. */
export function summedUntil(database: DatabaseSync): number {
  return Number(database.prepare('SELECT until FROM summed').get()?.until);
}

/**
 * Counts a commit and returns its number. Must run inside the transaction of the commit. The number is in the file header, whose page is
 * written anyway when the file grows; a table would cost one more page each minute.
 */
export function nextGeneration(database: DatabaseSync): number {
  const generation = measureHistory(database).generation + 1;
  database.exec(`PRAGMA application_id = ${generation}`);
  return generation;
}

/** Returns the number of commits of a file; 0 for a file of a hub version that did not count commits. */
export function measureHistory(database: DatabaseSync): FileMark {
  const counted = Number(database.prepare('PRAGMA application_id').get()?.application_id);
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  // Older versions of the file format have the number of commits in a table.
  const row = version < HISTORY_MIGRATIONS.length ? undefined : database.prepare('SELECT generation FROM summed').get();
  return { generation: Math.max(counted, Number(row?.generation ?? 0)), digest: '' };
}

/** Deletes rows older than the oldest kept time of their resolution. Must run inside a transaction. */
export function dropOld(database: DatabaseSync, floorMs: Readonly<Record<Resolution, number>>): void {
  for (const resolution of RESOLUTIONS) {
    const { table, time } = TABLES[resolution];
    database.prepare(`DELETE FROM ${table} WHERE ${time} < ?`).run(floorMs[resolution]);
  }
}

function sumUp(database: DatabaseSync, step: '5min' | '1h', startMs: number, endMs: number): void {
  database.prepare(SUM_UP[step]).run(startMs, endMs);
}

/** Returns an integer as a bigint, which takes 1 to 6 bytes in the database. node:sqlite stores a number as an 8-byte float. */
function compact(value: number | string): number | bigint | string {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}

const ROLLUP_COLUMNS = `(
  slot INTEGER NOT NULL,
  sensor INTEGER NOT NULL,
  n INTEGER NOT NULL,
  min NOT NULL,
  max NOT NULL,
  sum NOT NULL,
  PRIMARY KEY (slot, sensor)
) WITHOUT ROWID`;

/**
 * Schema of history.db. Rows are ordered by time first: one minute's readings of all sensors lie side by side, so that a commit writes a
 * page or two at the end instead of one page for each sensor (13 times fewer bytes for 50 sensors). `application_id` counts commits.
 * `value` has no type on purpose: integers take few bytes and texts stay texts.
 */
export const HISTORY_MIGRATIONS = [
  `CREATE TABLE sensor (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, holds_text INTEGER NOT NULL);
  CREATE TABLE reading (ts INTEGER NOT NULL, sensor INTEGER NOT NULL, value NOT NULL, PRIMARY KEY (ts, sensor)) WITHOUT ROWID;
  CREATE TABLE rollup_5min ${ROLLUP_COLUMNS};
  CREATE TABLE rollup_1h ${ROLLUP_COLUMNS};
  CREATE TABLE summed (until INTEGER NOT NULL);
  INSERT INTO summed VALUES (0)`,
  'ALTER TABLE summed ADD COLUMN generation INTEGER NOT NULL DEFAULT 0',
];

/** A sensor in history.db. */
export interface KnownSensor {
  /** Number that identifies the sensor in each row, in one or two bytes instead of its name. */
  readonly number: number;
  /** True if the sensor has ever reported texts, which have no average. */
  readonly holdsText: boolean;
}

/** The numbers that identify sensors in history.db; they never change. */
export class SensorNumbers {
  readonly #known = new Map<SensorId, KnownSensor>();

  get(database: DatabaseSync, id: SensorId): KnownSensor | undefined {
    const known = this.#known.get(id);
    if (known) return known;
    const row = database.prepare('SELECT id, holds_text FROM sensor WHERE name = ?').get(id);
    if (!row) return undefined;
    return this.#remember(id, { number: Number(row.id), holdsText: row.holds_text === 1 });
  }

  /** Returns the number of a sensor and assigns one if needed. Must not run in a transaction: a rollback would undo the assignment. */
  numberFor(database: DatabaseSync, id: SensorId, kind: 'number' | 'text'): number {
    const known = this.get(database, id);
    if (known && (known.holdsText || kind === 'number')) return known.number;
    const row = database
      .prepare('INSERT INTO sensor (name, holds_text) VALUES (?, ?) ON CONFLICT DO UPDATE SET holds_text = 1 RETURNING id')
      .get(id, kind === 'text' ? 1 : 0);
    return this.#remember(id, { number: Number(row?.id), holdsText: kind === 'text' }).number;
  }

  #remember(id: SensorId, sensor: KnownSensor): KnownSensor {
    this.#known.set(id, sensor);
    return sensor;
  }
}
