import type { DatabaseSync } from 'node:sqlite';
import { objectOf, tryParseJson } from '../../core/json.ts';
import { type EventHistory, LEFT_OUT, type PastEvent } from '../../core/storage/event-history.ts';
import type { Migration } from '../checked-database.ts';
import type { SqliteFile } from '../sqlite-file.ts';

/** How long events are kept, a day longer than the month that a replay goes back. */
const KEPT_MS = 31 * 86_400_000;
/** Most events that are kept: a house has some hundred a day. */
const MAX_ROWS = 50_000;
/** Most events that wait for the next write, which is each minute. */
const MAX_WAITING = 500;
/** Longest data of an event, in characters of JSON. */
const MAX_LENGTH = 2_048;
const PAGE_ROWS = 1_000;
/** Type of the event that says since when events are kept. */
const BEGAN = 'history.began';

/** Adds the events to history.db. The time need not be unique, and an event may be noted later than it was. */
export const EVENT_MIGRATION: Migration = {
  script: `CREATE TABLE event (
    id INTEGER PRIMARY KEY, ts INTEGER NOT NULL, type TEXT NOT NULL, subject TEXT NOT NULL, data TEXT NOT NULL
  );
  CREATE INDEX event_ts ON event (ts)`,
  // A version that does not know the table keeps no events, so that those of before would seem to be all.
  undo: 'DROP TABLE event',
};

/** Keeps events in history.db. They are written together with the readings of a minute. */
export class EventTable implements EventHistory {
  readonly #file: Pick<SqliteFile, 'use'>;
  /** Writes what waits, so that a query sees it. */
  readonly #flush: () => void;
  #waiting: PastEvent[] = [];
  /** Says how many events were left out since the last write. */
  #leftOut: PastEvent | undefined;

  constructor(file: Pick<SqliteFile, 'use'>, flush: () => void) {
    this.#file = file;
    this.#flush = flush;
  }

  /** Events to write. They stay until `clear`, so that a failed write loses none. */
  get waiting(): readonly PastEvent[] {
    return this.#leftOut ? [...this.#waiting, this.#leftOut] : this.#waiting;
  }

  clear(): void {
    this.#waiting = [];
    this.#leftOut = undefined;
  }

  begin(atMs: number): void {
    if (this.sinceMs() === undefined) this.note({ atMs, type: BEGAN, subject: '', data: {} });
  }

  note(event: PastEvent): void {
    if (this.#waiting.length < MAX_WAITING && JSON.stringify(event.data).length <= MAX_LENGTH) this.#waiting.push(event);
    else this.#noteLeftOut(event.atMs);
  }

  #noteLeftOut(untilMs: number): void {
    const { atMs = untilMs, data } = this.#leftOut ?? {};
    this.#leftOut = { atMs, type: LEFT_OUT, subject: '', data: { count: Number(data?.count ?? 0) + 1, until_ms: untilMs } };
  }

  *between({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }): Generator<readonly PastEvent[]> {
    this.#flushWaiting();
    const sql = `SELECT * FROM event WHERE (ts, id) > (?, ?) AND ts < ? ORDER BY ts, id LIMIT ${PAGE_ROWS}`;
    let [afterMs, afterId] = [startMs - 1, Number.MAX_SAFE_INTEGER];
    for (let isMore = true; isMore; ) {
      const rows = this.#file.use((database) => database.prepare(sql).all(afterMs, afterId, endMs));
      yield rows.map(eventOf);
      const last = rows.at(-1);
      [afterMs, afterId] = [Number(last?.ts), Number(last?.id)];
      isMore = rows.length === PAGE_ROWS;
    }
  }

  firstOfEach(types: readonly string[], startMs: number): readonly PastEvent[] {
    const sql = `SELECT min(ts) AS ts, type, subject, data FROM event
      WHERE ts >= ? AND type IN (SELECT value FROM json_each(?)) GROUP BY type, subject`;
    return this.#all(sql, startMs, JSON.stringify(types));
  }

  lastOfEach(types: readonly string[]): readonly PastEvent[] {
    const sql = `SELECT max(ts) AS ts, type, subject, data FROM event
      WHERE type IN (SELECT value FROM json_each(?)) GROUP BY type, subject`;
    return this.#all(sql, JSON.stringify(types));
  }

  sinceMs(): number | undefined {
    return this.#time(`SELECT min(ts) AS ts FROM event WHERE type = '${BEGAN}'`);
  }

  newestMs(): number | undefined {
    const [event, reading] = [this.#time('SELECT max(ts) AS ts FROM event'), this.#time('SELECT max(ts) AS ts FROM reading')];
    return event === undefined ? reading : Math.max(event, reading ?? event);
  }

  /** A query alone writes nothing, so that the hub starts also when its disk is full. */
  #flushWaiting(): void {
    if (this.waiting.length > 0) this.#flush();
  }

  #all(sql: string, ...values: readonly (string | number)[]): readonly PastEvent[] {
    this.#flushWaiting();
    return this.#file.use((database) => database.prepare(sql).all(...values)).map(eventOf);
  }

  #time(sql: string): number | undefined {
    this.#flushWaiting();
    const ts = this.#file.use((database) => database.prepare(sql).get())?.ts;
    return typeof ts === 'number' ? ts : undefined;
  }
}

/** Inserts events. Must run inside a transaction. */
export function writeEvents(database: DatabaseSync, events: readonly PastEvent[]): void {
  const insert = database.prepare('INSERT INTO event (ts, type, subject, data) VALUES (?, ?, ?, ?)');
  for (const { atMs, type, subject, data } of events) insert.run(Math.trunc(atMs), type, subject, JSON.stringify(data));
}

/**
 * Deletes events that are too old or too many. The last change of each device stays: it says whether the device answered until now. Must run
 * inside a transaction.
 */
export function dropOldEvents(database: DatabaseSync, nowMs: number): void {
  const lasting = `SELECT max(id) FROM event WHERE type IN ('device.reachability', '${BEGAN}') GROUP BY subject`;
  database.prepare(`DELETE FROM event WHERE ts < ? AND id NOT IN (${lasting})`).run(nowMs - KEPT_MS);
  const oldest = database.prepare('SELECT id FROM event ORDER BY id DESC LIMIT 1 OFFSET ?').get(MAX_ROWS)?.id;
  if (typeof oldest !== 'number') return;
  database.prepare(`UPDATE event SET ts = (SELECT ts FROM event WHERE id = ?) WHERE type = '${BEGAN}'`).run(oldest);
  database.prepare(`DELETE FROM event WHERE id <= ? AND id NOT IN (${lasting})`).run(oldest);
}

function eventOf({ ts, type, subject, data }: Record<string, unknown>): PastEvent {
  return { atMs: Number(ts), type: String(type), subject: String(subject), data: objectOf(tryParseJson(String(data))) };
}
