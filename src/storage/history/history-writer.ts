import type { DatabaseSync } from 'node:sqlite';
import type { SensorId } from '../../core/ids.ts';
import type { FileMark } from '../../core/storage/key-value-store.ts';
import { EVENT_MIGRATION } from './event-table.ts';
import { RESOLUTIONS, type Resolution, SLOT_MS, slotStart } from './history-query.ts';
import { TRACE_MIGRATION } from './trace-table.ts';

/** A reading as it is stored, with 0 and 1 for booleans. */
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

/** Inserts readings. Aggregates newly ended slots, and repeats this for older slots with late readings. Must run in a transaction. */
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

/** Returns the time until which 5-minute slots are aggregated, in milliseconds since 1970. */
export function summedUntil(database: DatabaseSync): number {
  return Number(database.prepare('SELECT until FROM summed').get()?.until);
}

/**
 * Increments the number of commits and returns it. Must run inside the transaction of the commit. The number is in the file header, whose
 * page is written anyway when the file grows. In a table, it would cost one more page each minute.
 */
export function nextGeneration(database: DatabaseSync): number {
  const generation = measureHistory(database).generation + 1;
  database.exec(`PRAGMA application_id = ${generation}`);
  return generation;
}

/** The first format with the column `generation`. */
const COUNTED_FORMAT = 2;

/** Returns the number of commits of a file; 0 if the file is from a hub version that did not count commits. */
export function measureHistory(database: DatabaseSync): FileMark {
  const counted = Number(database.prepare('PRAGMA application_id').get()?.application_id);
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  // Some older hub versions counted commits in the column `generation`. The first format lacks this column.
  const row = version < COUNTED_FORMAT ? undefined : database.prepare('SELECT generation FROM summed').get();
  return { generation: Math.max(counted, Number(row?.generation ?? 0)), digest: '' };
}

/** Deletes the rows of each resolution that are older than its time in `floorMs`. Must run inside a transaction. */
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
 * Schema of history.db. Rows are ordered by time first, so one minute's readings of all sensors lie side by side. A commit therefore writes
 * one or two pages at the end instead of one page for each sensor (13 times fewer bytes for 50 sensors). `application_id` counts commits.
 * `value` has no type on purpose: integers take few bytes, and texts stay texts.
 */
export const HISTORY_MIGRATIONS = [
  `CREATE TABLE sensor (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, holds_text INTEGER NOT NULL);
  CREATE TABLE reading (ts INTEGER NOT NULL, sensor INTEGER NOT NULL, value NOT NULL, PRIMARY KEY (ts, sensor)) WITHOUT ROWID;
  CREATE TABLE rollup_5min ${ROLLUP_COLUMNS};
  CREATE TABLE rollup_1h ${ROLLUP_COLUMNS};
  CREATE TABLE summed (until INTEGER NOT NULL);
  INSERT INTO summed VALUES (0)`,
  'ALTER TABLE summed ADD COLUMN generation INTEGER NOT NULL DEFAULT 0',
  TRACE_MIGRATION,
  EVENT_MIGRATION,
];

/** A sensor in history.db. */
export interface KnownSensor {
  /** Number that each row contains instead of the sensor's name. It takes one or two bytes. */
  readonly number: number;
  /** True if the sensor has ever reported texts, which have no average. */
  readonly holdsText: boolean;
}

/** Assigns to each sensor a number that identifies it in history.db. A number never changes. */
export class SensorNumbers {
  readonly #known = new Map<SensorId, KnownSensor>();

  get(database: DatabaseSync, id: SensorId): KnownSensor | undefined {
    const known = this.#known.get(id);
    if (known) return known;
    const row = database.prepare('SELECT id, holds_text FROM sensor WHERE name = ?').get(id);
    if (!row) return undefined;
    return this.#remember(id, { number: Number(row.id), holdsText: row.holds_text === 1 });
  }

  /** Returns the number of a sensor; assigns one if needed. Must run outside of a transaction: a rollback would undo the assignment. */
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
