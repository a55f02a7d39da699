import type { DatabaseSync } from 'node:sqlite';
import type { PastReading } from '../../core/devices/sensor-readings.ts';
import { AtmoError } from '../../core/errors.ts';
import type { SensorId } from '../../core/ids.ts';
import type { SqliteFile } from '../sqlite-file.ts';
import { type Resolution, SLOT_MS } from './history-query.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Range of one page, so that reading it takes a few milliseconds: the rows of all sensors in the range are looked at. */
const RAW_PAGE_MS = HOUR_MS;
const SLOT_PAGE_MS = 6 * HOUR_MS;
/** Most rows of one page of raw readings. */
const PAGE_ROWS = 5_000;
/** How long before the range the last value of a sensor is searched. */
const RAW_LOOK_BACK_MS = DAY_MS;
const SLOT_LOOK_BACK_MS = 31 * DAY_MS;

/** The sensors whose past is read, by their numbers in the database, and the range, end excluded. */
export interface PastRange {
  readonly sensors: ReadonlyMap<number, SensorId>;
  readonly startMs: number;
  readonly endMs: number;
  readonly floorMs: Readonly<Record<Resolution, number>>;
}

/**
 * Yields past readings in the order of time, page by page. The database is not in use between two pages, and readings that come meanwhile are
 * not in the range. Where only slots are left, each is at most two readings: its smallest and its greatest value.
 */
export function* pastReadings(file: Pick<SqliteFile, 'use'>, range: PastRange): Generator<readonly PastReading[]> {
  if (range.sensors.size === 0) return;
  const { startMs, endMs, floorMs } = range;
  const slots = new SlotReadings(range);
  const last = file.use((database) => lastBefore(database, range));
  for (const reading of last) slots.remember(reading);
  yield last;
  const rawFromMs = Math.min(endMs, Math.max(startMs, floorMs.raw));
  for (let fromMs = Math.max(startMs, floorMs['5min']); fromMs < rawFromMs; fromMs += SLOT_PAGE_MS) {
    yield file.use((database) => slots.read(database, fromMs, Math.min(rawFromMs, fromMs + SLOT_PAGE_MS)));
  }
  yield* rawReadings(file, range, rawFromMs);
}

function* rawReadings(file: Pick<SqliteFile, 'use'>, range: PastRange, fromMs: number): Generator<readonly PastReading[]> {
  const among = listOf(range);
  const sql = `SELECT ts, sensor, value FROM reading
    WHERE (ts, sensor) > (?, ?) AND ts < ? AND sensor IN (${among}) ORDER BY ts, sensor LIMIT ${PAGE_ROWS}`;
  for (let startMs = fromMs; startMs < range.endMs; startMs += RAW_PAGE_MS) {
    const untilMs = Math.min(range.endMs, startMs + RAW_PAGE_MS);
    let [afterMs, afterSensor] = [startMs - 1, Number.MAX_SAFE_INTEGER];
    for (let isMore = true; isMore; ) {
      const rows = file.use((database) => database.prepare(sql).all(afterMs, afterSensor, untilMs));
      yield rows.map(({ ts, sensor, value }) => readingOf(range, { sensor, value, atMs: Number(ts) }));
      const last = rows.at(-1);
      [afterMs, afterSensor] = [Number(last?.ts), Number(last?.sensor)];
      isMore = rows.length === PAGE_ROWS;
    }
  }
}

/** Returns the last known value of each sensor before the range. An hour with different values says nothing about which was the last. */
function lastBefore(database: DatabaseSync, range: PastRange): readonly PastReading[] {
  const { startMs } = range;
  const raw = `SELECT max(ts) AS at, sensor, value FROM reading WHERE ts >= ? AND ts < ? AND sensor IN (${listOf(range)}) GROUP BY sensor`;
  const known = database.prepare(raw).all(startMs - RAW_LOOK_BACK_MS, startMs);
  const hours = `SELECT max(slot) AS at, sensor, min AS value, max FROM rollup_1h
    WHERE slot >= ? AND slot <= ? AND sensor IN (${listOf(range)}) GROUP BY sensor`;
  const steady = database
    .prepare(hours)
    .all(startMs - SLOT_LOOK_BACK_MS, startMs - HOUR_MS)
    .filter(({ sensor, value, max }) => value === max && !known.some((one) => one.sensor === sensor));
  return [...known, ...steady].map(({ at, sensor, value }) => readingOf(range, { sensor, value, atMs: Number(at) }));
}

/** Reads slots as readings. Of a slot with two values, the one that is nearer to the value before comes first. */
class SlotReadings {
  readonly #range: PastRange;
  readonly #last = new Map<SensorId, number>();

  constructor(range: PastRange) {
    this.#range = range;
  }

  remember({ sensor, value }: PastReading): void {
    if (typeof value === 'number') this.#last.set(sensor, value);
  }

  read(database: DatabaseSync, startMs: number, endMs: number): readonly PastReading[] {
    const sql = `SELECT slot, sensor, min, max FROM rollup_5min
      WHERE slot >= ? AND slot < ? AND sensor IN (${listOf(this.#range)}) ORDER BY slot`;
    const rows = database.prepare(sql).all(startMs, endMs);
    const readings = rows.flatMap(({ slot, sensor, min, max }) =>
      this.#readingsOf(idOf(this.#range, sensor), Number(slot), [Number(min), Number(max)]),
    );
    return readings.sort((a, b) => a.atMs - b.atMs);
  }

  #readingsOf(sensor: SensorId, slot: number, [min, max]: readonly [number, number]): readonly PastReading[] {
    const last = this.#last.get(sensor) ?? min;
    const values = min === max ? [min] : Math.abs(last - min) <= Math.abs(last - max) ? [min, max] : [max, min];
    this.#last.set(sensor, values.at(-1) ?? min);
    return values.map((value, index) => ({ sensor, value, atMs: slot + (index * SLOT_MS['5min']) / 2, isSlot: true }));
  }
}

interface StoredReading {
  readonly sensor: unknown;
  readonly value: unknown;
  readonly atMs: number;
}

function readingOf(range: PastRange, { sensor, value, atMs }: StoredReading): PastReading {
  return { sensor: idOf(range, sensor), atMs, value: typeof value === 'string' ? value : Number(value), isSlot: false };
}

/** Returns the id of a sensor. The query returns only rows of the sensors in the range. */
function idOf({ sensors }: PastRange, number: unknown): SensorId {
  const id = sensors.get(Number(number));
  if (id === undefined) throw new AtmoError('INTERNAL_ERROR', `The history has a sensor ${number} that was not asked for`);
  return id;
}

/** Returns the numbers of the sensors for SQL. A joined table would make SQLite look at all rows of each sensor. */
function listOf({ sensors }: PastRange): string {
  return [...sensors.keys()].map(Number).join(',');
}
