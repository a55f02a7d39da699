import { join } from 'node:path';
import type { Reachability } from '../../core/devices/device-model.ts';
import type { HistoryPoint, HistoryQuery, Reading, ReadingStore, ReadingValue, SensorInfo } from '../../core/devices/sensor-readings.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId, SensorId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Snapshot } from '../snapshot-folder.ts';
import { SqliteFile, type StorageServices } from '../sqlite-file.ts';
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

/** Files and bounds of the history. */
export interface HistoryStoreOptions {
  /** Folder that holds `history.db`. */
  readonly directory: string;
  readonly snapshotDirectory: string;
  /** Retention of each resolution. */
  readonly retentionMs?: Readonly<Record<Resolution, number>>;
  readonly commitEveryMs?: number;
  /** An unchanged value is stored at most this often. */
  readonly unchangedEveryMs?: number;
  readonly snapshotEveryMs?: number;
  readonly maxFileBytes?: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Raw readings for 7 days, sums of 5 minutes for 30 days, of an hour for 1 year: about 60 MB at 50 sensors twice a minute. */
export const DEFAULT_RETENTION_MS: Readonly<Record<Resolution, number>> = { raw: 7 * DAY_MS, '5min': 30 * DAY_MS, '1h': 365 * DAY_MS };
/** Default interval of the copies of history.db. */
export const DEFAULT_HISTORY_SNAPSHOT_MS = 7 * DAY_MS;
const DEFAULT_LIMIT = 10_000;
const PENDING_CAPACITY = 20_000;

/**
 * Readings of sensors: the present ones in memory, the past ones in `history.db`. Readings are committed once a minute, at the stop and
 * before a query; a crash loses at most the last minute.
 */
export class HistoryStore implements ReadingStore, Service {
  readonly #ports: StorageServices;
  readonly #file: SqliteFile;
  readonly #retentionMs: Readonly<Record<Resolution, number>>;
  readonly #commitEveryMs: number;
  readonly #current = new CurrentReadings();
  readonly #numbers = new SensorNumbers();
  readonly #pending: PendingReadings;
  #cancelCommit: () => void = () => {};
  #droppedUntilMs = 0;
  #isFailing = false;

  constructor(collaborators: StorageServices, options: HistoryStoreOptions) {
    this.#ports = collaborators;
    this.#retentionMs = options.retentionMs ?? DEFAULT_RETENTION_MS;
    this.#commitEveryMs = options.commitEveryMs ?? MINUTE_MS;
    this.#pending = new PendingReadings({ unchangedEveryMs: options.unchangedEveryMs ?? 5 * MINUTE_MS, capacity: PENDING_CAPACITY });
    this.#file = new SqliteFile(collaborators, {
      path: join(options.directory, 'history.db'),
      anchor: 'history.db',
      measure: measureHistory,
      synchronous: 'NORMAL',
      // Measured: 1024 writes half of what 4096 does; the longer log merges rewrites of the same page.
      pageSizeBytes: 1024,
      checkpointPages: 4000,
      maxBytes: options.maxFileBytes ?? 1024 * 1_048_576,
      migrations: HISTORY_MIGRATIONS,
      snapshots: { directory: options.snapshotDirectory, everyMs: options.snapshotEveryMs ?? DEFAULT_HISTORY_SNAPSHOT_MS, kept: 1 },
      whenLost: 'start-anew',
    });
  }

  async start(): Promise<void> {
    await this.#file.start();
    this.#scheduleCommit();
  }

  describe(id: SensorId, info: SensorInfo | null): void {
    this.#current.describe(id, info);
    if (!info) this.#pending.forget(id);
  }

  record(id: SensorId, value: ReadingValue | null, atMs: number): void {
    if (!Number.isFinite(atMs)) throw new AtmoError('VALIDATION_ERROR', `The reading of ${id} has no time: ${atMs}`);
    const known = typeof value === 'number' && !Number.isFinite(value) ? null : value;
    if (atMs === 0) {
      this.#current.record(id, known, this.#lastReportMs(id, known));
      return;
    }
    this.#current.record(id, known, atMs);
    if (known === null) {
      this.#pending.forget(id);
      return;
    }
    // The readings of its slot are dropped: another sum would lose them.
    if (atMs < this.#floors().raw) return;
    this.#pending.add({ id, value: typeof known === 'boolean' ? Number(known) : known, atMs: Math.trunc(atMs) });
  }

  /** Time of the last report of a value whose time is not known any more, from the history; 0 when the history does not have it. */
  #lastReportMs(id: SensorId, value: ReadingValue | null): number {
    const sensor = value === null ? undefined : this.#file.use((database) => this.#numbers.get(database, id));
    if (!sensor) return 0;
    const range = { sensor: sensor.number, startMs: 0, endMs: this.#ports.clock.now() + 1, limit: 1 };
    const [point] = this.#file.use((database) => readRaw(database, range));
    return point?.value === (typeof value === 'boolean' ? Number(value) : value) ? point.atMs : 0;
  }

  setReachability(device: DeviceId, reachability: Reachability): void {
    this.#current.setReachability(device, reachability);
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

  /** Commits the pending readings. Throws STORAGE_FAILED, and then the next commit tries them again. */
  flush(): void {
    const nowMs = this.#ports.clock.now();
    const rows = this.#file.use((database) =>
      this.#pending.peek().map(({ id, value, atMs }) => ({
        sensor: this.#numbers.numberFor(database, id, typeof value === 'string' ? 'text' : 'number'),
        value,
        atMs,
      })),
    );
    const isSlotClosed = this.#file.use(summedUntil) < slotStart(nowMs, SLOT_MS['5min']);
    if (rows.length > 0 || isSlotClosed) {
      const generation = this.#file.transaction((database) => {
        writeReadings(database, rows, nowMs);
        return nextGeneration(database);
      });
      this.#file.anchor.committed({ generation, digest: '' });
    }
    this.#pending.clear();
    this.#dropOld();
  }

  /** Copies the database now, beside the scheduled copies. */
  async snapshot(): Promise<Snapshot> {
    this.flush();
    return await this.#file.snapshot();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelCommit();
    if (this.#file.isOpen) this.#flushOrWarn();
    await this.#file[Symbol.asyncDispose]();
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

  #scheduleCommit(): void {
    this.#cancelCommit = this.#ports.clock.after(this.#commitEveryMs, () => {
      this.#scheduleCommit();
      this.#flushOrWarn();
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
    const reason = error instanceof Error ? error.message : String(error);
    const data = { warning: 'history_not_written', waiting: this.#pending.count, reason };
    this.#ports.logger.error('history_not_written', data);
    this.#ports.events.emit('hub.warning', 'history.db', data);
  }

  #dropOld(): void {
    const floorMs = this.#floors();
    if (floorMs.raw <= this.#droppedUntilMs) return;
    this.#file.transaction((database) => dropOld(database, floorMs));
    this.#droppedUntilMs = floorMs.raw;
  }

  /** Beginning of each resolution: whole hours, so that sums of dropped readings never overlap with the remaining readings. */
  #floors(): Readonly<Record<Resolution, number>> {
    const floor = (retentionMs: number) => Math.max(0, slotStart(this.#ports.clock.now() - retentionMs, SLOT_MS['1h']));
    return { raw: floor(this.#retentionMs.raw), '5min': floor(this.#retentionMs['5min']), '1h': floor(this.#retentionMs['1h']) };
  }
}

function checkQuery({ startMs, endMs, everyMs, limit }: HistoryQuery): void {
  const problem =
    (!Number.isFinite(startMs) || !Number.isFinite(endMs) || startMs > endMs ? 'its start must not be after its end' : undefined) ??
    (everyMs !== undefined && !(Number.isSafeInteger(everyMs) && everyMs > 0)
      ? 'a bucket is a whole, positive number of ms wide'
      : undefined) ??
    (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0) ? 'the limit is a whole, positive number' : undefined);
  if (problem) throw new AtmoError('VALIDATION_ERROR', `The history query cannot be answered: ${problem}`);
}

/** The present reading of every sensor, in memory: after a restart the devices report again. */
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

  /** Sets the present value; an older value changes nothing. */
  record(id: SensorId, value: ReadingValue | null, atMs: number): void {
    const known = this.#latest.get(id);
    if (known && known.atMs > atMs) return;
    this.#latest.set(id, { value, atMs });
  }

  setReachability(device: DeviceId, reachability: Reachability): void {
    this.#reachability.set(device, reachability);
  }

  /** Sorted by sensor id. */
  list(): readonly Reading[] {
    return [...this.#infos.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map((info) => this.#reading(info));
  }

  get(id: SensorId): Reading | undefined {
    const info = this.#infos.get(id);
    return info && this.#reading(info);
  }

  /** A sensor without a report has value null at time 0. */
  #reading(info: SensorInfo): Reading {
    const latest = this.#latest.get(info.id) ?? { value: null, atMs: 0 };
    return { sensor: info, ...latest, reachability: this.#reachability.get(info.device) ?? 'unknown' };
  }
}

/** A reading that waits for the next commit. */
export interface PendingReading {
  readonly id: SensorId;
  readonly value: number | string;
  readonly atMs: number;
}

/** Readings between two commits. Repetitions within `unchangedEveryMs` are left out; beyond `capacity` the oldest are dropped. */
class PendingReadings {
  readonly #options: { readonly unchangedEveryMs: number; readonly capacity: number };
  readonly #lastKept = new Map<SensorId, PendingReading>();
  #waiting: PendingReading[] = [];

  constructor(options: { readonly unchangedEveryMs: number; readonly capacity: number }) {
    this.#options = options;
  }

  get count(): number {
    return this.#waiting.length;
  }

  add(reading: PendingReading): void {
    if (this.#isRepetition(reading)) return;
    this.#lastKept.set(reading.id, reading);
    this.#waiting.push(reading);
    if (this.#waiting.length > this.#options.capacity) this.#waiting.shift();
  }

  /** The next value of this sensor counts as changed. */
  forget(id: SensorId): void {
    this.#lastKept.delete(id);
  }

  /** The pending readings, which stay until `clear`, so that a failed commit loses nothing. */
  peek(): readonly PendingReading[] {
    return this.#waiting;
  }

  clear(): void {
    this.#waiting = [];
  }

  #isRepetition({ id, value, atMs }: PendingReading): boolean {
    const last = this.#lastKept.get(id);
    return last !== undefined && last.value === value && Math.abs(atMs - last.atMs) < this.#options.unchangedEveryMs;
  }
}
