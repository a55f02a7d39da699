import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { repeat } from '../../core/clock.ts';
import type { Reachability } from '../../core/devices/device-model.ts';
import type {
  HistoryPoint,
  HistoryQuery,
  PastReading,
  PastReadings,
  Reading,
  ReadingStore,
  ReadingValue,
  SensorInfo,
} from '../../core/devices/sensor-readings.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId, SensorId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Snapshot } from '../snapshot-folder.ts';
import { SqliteFile, type StorageServices } from '../sqlite-file.ts';
import { reasonOf } from '../storage-error.ts';
import { dropOldEvents, EventTable, writeEvents } from './event-table.ts';
import { pastReadings } from './history-past.ts';
import { planHistory, type Resolution, readBuckets, readRaw, SLOT_MS, slotStart } from './history-query.ts';
import {
  dropOld,
  HISTORY_MIGRATIONS,
  type KnownSensor,
  measureHistory,
  nextGeneration,
  SensorNumbers,
  summedUntil,
  writeReadings,
} from './history-writer.ts';
import { TraceTable } from './trace-table.ts';

/** Folders and limits of the history. */
export interface HistoryStoreOptions {
  /** Folder with `history.db`. */
  readonly directory: string;
  readonly snapshotDirectory: string;
  /** Size of the database's page cache in KiB. */
  readonly cacheKib?: number;
  /** Retention of each resolution in milliseconds. */
  readonly retentionMs?: Readonly<Record<Resolution, number>>;
  readonly commitEveryMs?: number;
  /** An unchanged value is stored again only after this number of milliseconds. */
  readonly unchangedEveryMs?: number;
  readonly snapshotEveryMs?: number;
  readonly maxFileBytes?: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** How long readings are kept: raw 7 days, 5-minute slots 30 days, 1-hour slots 1 year. 50 sensors with 2 reports a minute need 60 MB. */
export const DEFAULT_RETENTION_MS: Readonly<Record<Resolution, number>> = { raw: 7 * DAY_MS, '5min': 30 * DAY_MS, '1h': 365 * DAY_MS };
/** Default interval between copies of history.db. */
export const DEFAULT_HISTORY_SNAPSHOT_MS = 7 * DAY_MS;
const DEFAULT_LIMIT = 10_000;
const PENDING_CAPACITY = 20_000;

/**
 * Keeps the current readings of sensors in memory and past readings in `history.db`. Readings are committed once a minute, before each
 * query and when the hub stops, so a crash loses at most the last minute.
 */
export class HistoryStore implements ReadingStore, PastReadings, Service {
  readonly #collaborators: StorageServices;
  readonly #options: HistoryStoreOptions;
  readonly #file: SqliteFile;
  readonly #current = new CurrentReadings();
  readonly #numbers = new SensorNumbers();
  /** The traces of agents, which are in the same file. */
  readonly traces: TraceTable;
  readonly #pending: PendingReadings;
  /** What happened in the house besides readings. */
  readonly events: EventTable;
  #cancelCommit: () => void = () => {};
  #droppedUntilMs = 0;
  #isFailing = false;

  constructor(services: StorageServices, options: HistoryStoreOptions) {
    this.#collaborators = services;
    this.#options = options;
    this.#pending = new PendingReadings(options.unchangedEveryMs ?? 5 * MINUTE_MS);
    this.#file = new SqliteFile(services, {
      path: join(options.directory, 'history.db'),
      anchor: 'history.db',
      measure: measureHistory,
      synchronous: 'NORMAL',
      // Pages of 1024 bytes instead of 4096 halve the written bytes (measured). Rare checkpoints write a page once for several changes.
      pageSizeBytes: 1024,
      cacheKib: options.cacheKib,
      checkpointPages: 4000,
      maxBytes: options.maxFileBytes ?? 1024 * 1_048_576,
      migrations: HISTORY_MIGRATIONS,
      snapshots: { directory: options.snapshotDirectory, everyMs: options.snapshotEveryMs ?? DEFAULT_HISTORY_SNAPSHOT_MS, kept: 1 },
      whenLost: 'start-anew',
    });
    this.traces = new TraceTable(this.#file, (work) => this.#commit(work));
    this.events = new EventTable(this.#file, () => this.flush());
  }

  async start(): Promise<void> {
    await this.#file.start();
    this.#cancelCommit = repeat(this.#collaborators.clock, this.#options.commitEveryMs ?? MINUTE_MS, () => this.#flushOrWarn());
  }

  describe(id: SensorId, info: SensorInfo | null): void {
    this.#current.describe(id, info);
    if (!info) this.#pending.forget(id);
  }

  record(id: SensorId, value: ReadingValue | null, atMs: number): void {
    if (!Number.isFinite(atMs)) throw new AtmoError('VALIDATION_ERROR', `The reading of ${id} has no time: ${atMs}`);
    const known = typeof value === 'number' && !Number.isFinite(value) ? null : value;
    this.#current.record(id, known, atMs === 0 ? this.#lastReportMs(id, known) : atMs);
    if (atMs === 0) return;
    if (known === null) this.#pending.forget(id);
    // A reading older than the retention is not stored. Its slot's other readings are already gone, so the slot's new sum would be wrong.
    else if (atMs >= this.#floors().raw) this.#pending.add({ id, value: storedValue(known), atMs: Math.trunc(atMs) });
  }

  /** Returns the time of the last stored reading if that reading has this value, otherwise 0. Used for a value without a time. */
  #lastReportMs(id: SensorId, value: ReadingValue | null): number {
    if (value === null) return 0;
    const sensor = this.#file.use((database) => this.#numbers.get(database, id));
    if (!sensor) return 0;
    const range = { sensor: sensor.number, startMs: 0, endMs: this.#collaborators.clock.now() + 1, limit: 1 };
    const [point] = this.#file.use((database) => readRaw(database, range));
    return point?.value === storedValue(value) ? point.atMs : 0;
  }

  setReachability(device: DeviceId, reachability: Reachability): void {
    this.#current.setReachability(device, reachability);
    // What it reports when it is back counts as changed, so that the history shows when it was known again.
    if (reachability !== 'reachable') this.#pending.forgetDevice(device);
  }

  sensors(): readonly Reading[] {
    return this.#current.list();
  }

  current(id: SensorId): Reading | undefined {
    return this.#current.get(id);
  }

  history(query: HistoryQuery): readonly HistoryPoint[] {
    checkQuery(query);
    this.flush();
    const sensor = this.#file.use((database) => this.#numbers.get(database, query.sensor));
    if (sensor) return this.#read(query, sensor);
    if (this.#current.get(query.sensor)) return [];
    throw new AtmoError('SENSOR_NOT_FOUND', `There is no sensor ${query.sensor}; \`atmo sensors\` lists them`, { sensor: query.sensor });
  }

  past(ids: readonly SensorId[], range: { readonly startMs: number; readonly endMs: number }): Iterable<readonly PastReading[]> {
    this.flush();
    const numbered = this.#file.use((database) =>
      ids.flatMap((id): [number, SensorId][] => {
        const known = this.#numbers.get(database, id);
        return known ? [[known.number, id]] : [];
      }),
    );
    const { startMs, endMs } = range;
    return pastReadings(this.#file, { sensors: new Map(numbered), startMs, endMs, floorMs: this.#floors() });
  }

  /** Commits the pending readings and events. If the disk refuses, throws STORAGE_FAILED, and the next commit includes the same readings. */
  flush(): void {
    const nowMs = this.#collaborators.clock.now();
    const rows = this.#file.use((database) =>
      this.#pending.waiting.map(({ id, value, atMs }) => ({
        sensor: this.#numbers.numberFor(database, id, typeof value === 'string' ? 'text' : 'number'),
        value,
        atMs,
      })),
    );
    const isSlotClosed = this.#file.use(summedUntil) < slotStart(nowMs, SLOT_MS['5min']);
    const events = this.events.waiting;
    if (rows.length > 0 || events.length > 0 || isSlotClosed) {
      this.#commit((database) => {
        writeReadings(database, rows, nowMs);
        writeEvents(database, events);
      });
    }
    this.#pending.clear();
    this.events.clear();
    this.#dropOld();
  }

  /** Copies the database now, in addition to the scheduled copies. */
  async snapshot(): Promise<Snapshot> {
    this.flush();
    return await this.#file.snapshot();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelCommit();
    if (this.#file.isOpen) this.#flushOrWarn();
    await this.#file[Symbol.asyncDispose]();
  }

  #commit(work: (database: DatabaseSync) => void): void {
    const generation = this.#file.transaction((database) => {
      work(database);
      return nextGeneration(database);
    });
    this.#file.anchor.committed({ generation, digest: '' });
  }

  #read(query: HistoryQuery, { number: sensor, holdsText }: KnownSensor): readonly HistoryPoint[] {
    const { startMs, aggregation, everyMs } = query;
    const range = { sensor, startMs, endMs: query.endMs + 1, limit: query.limit ?? DEFAULT_LIMIT };
    if (aggregation === 'none') return this.#file.use((database) => readRaw(database, range));
    if (holdsText) {
      throw new AtmoError('VALIDATION_ERROR', `${query.sensor} reports texts, which have no ${aggregation}; use aggregation none`);
    }
    return this.#file.use((database) => {
      const retained = { floorMs: this.#floors(), summedUntilMs: summedUntil(database) };
      return readBuckets(database, planHistory(range, everyMs, retained), { range, everyMs, aggregation });
    });
  }

  #flushOrWarn(): void {
    try {
      this.flush();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#warn(error);
      this.#isFailing = true;
    }
  }

  #warn(error: unknown): void {
    const data = { warning: 'history.readings_not_written', waiting: this.#pending.waiting.length, reason: reasonOf(error) };
    this.#collaborators.logger.error('history.readings_not_written', data);
    this.#collaborators.events.emit('hub.warning', 'history.db', data);
  }

  #dropOld(): void {
    const floorMs = this.#floors();
    if (floorMs.raw <= this.#droppedUntilMs) return;
    this.#file.transaction((database) => {
      dropOld(database, floorMs);
      dropOldEvents(database, this.#collaborators.clock.now());
    });
    this.#droppedUntilMs = floorMs.raw;
  }

  /** Returns the oldest time that is kept at each resolution. It is a whole hour, so a slot keeps either all or none of its readings. */
  #floors(): Readonly<Record<Resolution, number>> {
    const floor = (retentionMs: number) => Math.max(0, slotStart(this.#collaborators.clock.now() - retentionMs, SLOT_MS['1h']));
    const kept = this.#options.retentionMs ?? DEFAULT_RETENTION_MS;
    return { raw: floor(kept.raw), '5min': floor(kept['5min']), '1h': floor(kept['1h']) };
  }
}

/** Returns a value as it is stored: booleans become 0 and 1. */
function storedValue(value: ReadingValue): number | string {
  return typeof value === 'boolean' ? Number(value) : value;
}

function checkQuery({ startMs, endMs, everyMs = 1, limit = 1 }: HistoryQuery): void {
  const isCount = (value: number) => Number.isSafeInteger(value) && value > 0;
  const mistakes = [
    ...(Number.isFinite(startMs) && Number.isFinite(endMs) && startMs <= endMs ? [] : ['its start must not be after its end']),
    ...(isCount(everyMs) ? [] : ['a bucket is a whole, positive number of ms wide']),
    ...(isCount(limit) ? [] : ['the limit is a whole, positive number']),
  ];
  if (mistakes.length > 0) throw new AtmoError('VALIDATION_ERROR', `The history query cannot be answered: ${mistakes[0]}`);
}

/** Keeps the current reading of every sensor in memory only. After a restart, the devices report again. */
export class CurrentReadings {
  readonly #infos = new Map<SensorId, SensorInfo>();
  readonly #latest = new Map<SensorId, Pick<Reading, 'value' | 'atMs'>>();
  readonly #reachability = new Map<DeviceId, Reachability>();

  describe(id: SensorId, info: SensorInfo | null): void {
    if (info) this.#infos.set(id, info);
    else {
      this.#infos.delete(id);
      this.#latest.delete(id);
    }
  }

  /** Sets the current value of a sensor. Ignores a value that is older than the current one. */
  record(id: SensorId, value: ReadingValue | null, atMs: number): void {
    const known = this.#latest.get(id);
    if (known && known.atMs > atMs) return;
    this.#latest.set(id, { value, atMs });
  }

  setReachability(device: DeviceId, reachability: Reachability): void {
    this.#reachability.set(device, reachability);
  }

  /** Returns the current readings of all sensors, sorted by sensor id. */
  list(): readonly Reading[] {
    return [...this.#infos.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map((info) => this.#reading(info));
  }

  get(id: SensorId): Reading | undefined {
    const info = this.#infos.get(id);
    return info && this.#reading(info);
  }

  /** Returns the reading of a sensor. If the sensor has not reported yet, the value is null and the time is 0. */
  #reading(info: SensorInfo): Reading {
    const latest = this.#latest.get(info.id) ?? { value: null, atMs: 0 };
    return { sensor: info, ...latest, reachability: this.#reachability.get(info.device) ?? 'unknown' };
  }
}

/** A reading that waits for the next commit. */
interface PendingReading {
  readonly id: SensorId;
  readonly value: number | string;
  readonly atMs: number;
}

/** Keeps readings until the next commit. Ignores a value that repeats within `unchangedEveryMs`. When full, drops the oldest reading. */
class PendingReadings {
  readonly #unchangedEveryMs: number;
  readonly #lastAdded = new Map<SensorId, PendingReading>();
  #waiting: PendingReading[] = [];

  constructor(unchangedEveryMs: number) {
    this.#unchangedEveryMs = unchangedEveryMs;
  }

  /** Readings to commit. They stay until `clear`, so that a failed commit loses no reading. */
  get waiting(): readonly PendingReading[] {
    return this.#waiting;
  }

  add(reading: PendingReading): void {
    const last = this.#lastAdded.get(reading.id);
    if (last?.value === reading.value && Math.abs(reading.atMs - last.atMs) < this.#unchangedEveryMs) return;
    this.#lastAdded.set(reading.id, reading);
    this.#waiting.push(reading);
    if (this.#waiting.length > PENDING_CAPACITY) this.#waiting.shift();
  }

  /** Forgets the last value of a sensor, so that its next value counts as changed. */
  forget(id: SensorId): void {
    this.#lastAdded.delete(id);
  }

  forgetDevice(device: DeviceId): void {
    for (const id of this.#lastAdded.keys()) if (id.startsWith(`${device}/`)) this.#lastAdded.delete(id);
  }

  clear(): void {
    this.#waiting = [];
  }
}
