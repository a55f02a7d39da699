import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import type { Reachability } from '../../core/devices/device-model.ts';
import type { HistoryPoint, HistoryQuery, Reading, ReadingStore, ReadingValue, SensorInfo } from '../../core/devices/sensor-readings.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId, SensorId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
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

/** Where history lies and how much of it is kept. */
export interface HistoryStoreOptions {
  /** Folder that holds `history.db`. */
  readonly directory: string;
  readonly snapshotDirectory: string;
  /** How long each resolution is kept. */
  readonly retentionMs?: Readonly<Record<Resolution, number>>;
  readonly commitEveryMs?: number;
  /** An unchanged value is kept at most this often. */
  readonly unchangedEveryMs?: number;
  readonly snapshotEveryMs?: number;
  readonly maxFileBytes?: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** 7 days as they came, 30 days by 5 minutes, 1 year by the hour: about 60 MB at 50 sensors twice a minute. */
export const DEFAULT_RETENTION_MS: Readonly<Record<Resolution, number>> = { raw: 7 * DAY_MS, '5min': 30 * DAY_MS, '1h': 365 * DAY_MS };
/** How often history is copied where nothing else is said. */
export const DEFAULT_HISTORY_SNAPSHOT_MS = 7 * DAY_MS;
const DEFAULT_LIMIT = 10_000;
const PENDING_CAPACITY = 20_000;

/**
 * What sensors say, now (in memory) and over time (`history.db`). Readings are committed once a minute, when stopping
 * and before history is asked for; a crash loses at most the last minute.
 */
export class HistoryStore implements ReadingStore, Service {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #events: StorageServices['events'];
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
    this.#clock = collaborators.clock;
    this.#logger = collaborators.logger;
    this.#events = collaborators.events;
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
      this.#current.record(id, known, this.#lastSaid(id, known));
      return;
    }
    this.#current.record(id, known, atMs);
    if (known === null) {
      this.#pending.forget(id);
      return;
    }
    // Its slot is closed and its neighbours are gone: summing up again would lose them.
    if (atMs < this.#floors().raw) return;
    this.#pending.add({ id, value: typeof known === 'boolean' ? Number(known) : known, atMs: Math.trunc(atMs) });
  }

  /** When a value of which the time is not known any more was said last: the history may have it. 0 where it has not. */
  #lastSaid(id: SensorId, value: ReadingValue | null): number {
    const sensor = value === null ? undefined : this.#file.use((database) => this.#numbers.get(database, id));
    if (!sensor) return 0;
    const stretch = { sensor: sensor.number, startMs: 0, endMs: this.#clock.now() + 1, limit: 1 };
    const [point] = this.#file.use((database) => readRaw(database, stretch));
    const said = typeof value === 'boolean' ? Number(value) : value;
    return point?.value === said ? point.atMs : 0;
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

  /** Commits what waits. Throws STORAGE_FAILED; what waits is then tried again with the next commit. */
  flush(): void {
    const nowMs = this.#clock.now();
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
    const stretch = { sensor, startMs, endMs: query.endMs + 1, limit: query.limit ?? DEFAULT_LIMIT };
    if (aggregation === 'none') return this.#file.use((database) => readRaw(database, stretch));
    if (holdsText) {
      throw new AtmoError('VALIDATION_ERROR', `${query.sensor} says texts, which have no ${aggregation}; ask with aggregation none`);
    }
    return this.#file.use((database) => {
      const kept = { floorMs: this.#floors(), summedUntilMs: summedUntil(database) };
      return readBuckets(database, planHistory(stretch, everyMs, kept), { stretch, everyMs, aggregation });
    });
  }

  #scheduleCommit(): void {
    this.#cancelCommit = this.#clock.after(this.#commitEveryMs, () => {
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
    const data = {
      warning: 'history_not_written',
      waiting: this.#pending.count,
      reason: error instanceof Error ? error.message : String(error),
    };
    this.#logger.error('history_not_written', data);
    this.#events.emit('hub.warning', 'history.db', data);
  }

  #dropOld(): void {
    const floorMs = this.#floors();
    if (floorMs.raw <= this.#droppedUntilMs) return;
    this.#file.transaction((database) => dropOld(database, floorMs));
    this.#droppedUntilMs = floorMs.raw;
  }

  /** Whole hours, so that what stands in for dropped readings never overlaps with what is left of them. */
  #floors(): Readonly<Record<Resolution, number>> {
    const floor = (retentionMs: number) => Math.max(0, slotStart(this.#clock.now() - retentionMs, SLOT_MS['1h']));
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

interface Latest {
  readonly value: ReadingValue | null;
  readonly atMs: number;
}

/** What every sensor says now, in memory: a restart begins with nothing, and the devices tell it again. */
export class CurrentReadings {
  readonly #infos = new Map<SensorId, SensorInfo>();
  readonly #latest = new Map<SensorId, Latest>();
  readonly #reachability = new Map<DeviceId, Reachability>();

  describe(id: SensorId, info: SensorInfo | null): void {
    if (info) this.#infos.set(id, info);
    else {
      this.#infos.delete(id);
      this.#latest.delete(id);
    }
  }

  /** A value older than the one known changes nothing. */
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

  /** A sensor that never spoke has value null at time 0. */
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

/** Readings between two commits. What repeats within `unchangedEveryMs` is left out; at `capacity` the oldest go. */
class PendingReadings {
  readonly #unchangedEveryMs: number;
  readonly #capacity: number;
  readonly #lastKept = new Map<SensorId, PendingReading>();
  #waiting: PendingReading[] = [];

  constructor({ unchangedEveryMs, capacity }: { readonly unchangedEveryMs: number; readonly capacity: number }) {
    this.#unchangedEveryMs = unchangedEveryMs;
    this.#capacity = capacity;
  }

  get count(): number {
    return this.#waiting.length;
  }

  add(reading: PendingReading): void {
    if (this.#isRepetition(reading)) return;
    this.#lastKept.set(reading.id, reading);
    this.#waiting.push(reading);
    if (this.#waiting.length > this.#capacity) this.#waiting.shift();
  }

  /** The next value of this sensor is news whatever it is. */
  forget(id: SensorId): void {
    this.#lastKept.delete(id);
  }

  /** What waits; it keeps waiting until `clear`, so that a failed commit loses nothing. */
  peek(): readonly PendingReading[] {
    return this.#waiting;
  }

  clear(): void {
    this.#waiting = [];
  }

  #isRepetition({ id, value, atMs }: PendingReading): boolean {
    const last = this.#lastKept.get(id);
    return last !== undefined && last.value === value && Math.abs(atMs - last.atMs) < this.#unchangedEveryMs;
  }
}
