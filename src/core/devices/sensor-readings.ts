import { isoTime } from '../clock.ts';
import type { DeviceId, SensorId } from '../ids.ts';
import type { Reachability } from './device-model.ts';

/** A sensor; values are in human units. */
export interface SensorInfo {
  readonly id: SensorId;
  readonly device: DeviceId;
  /** Name of the reading within its device, such as `temperature`. */
  readonly name: string;
  /** Measured quantity, such as `temperature` or `occupancy`: the `kind` in the capability file. */
  readonly kind: string;
  /** Unit for people, UCUM-like: `°C`, `%`, `lx`, `W`; empty for on/off and counts. */
  readonly unit: string;
  readonly area?: string;
  readonly title: string;
}

/** Value of a reading. The history stores booleans as 0 and 1, and texts (such as an air quality class) unchanged. */
export type ReadingValue = number | boolean | string;

/** The current value of a sensor, with its time. */
export interface Reading {
  readonly sensor: SensorInfo;
  /** Current value; null if the sensor reports none or has not reported yet. */
  readonly value: ReadingValue | null;
  /** Time of the report, milliseconds since 1970; 0 if there is no report or its time is unknown. */
  readonly atMs: number;
  readonly reachability: Reachability;
}

/** Returns time and age of a report at `atMs`, for people; null if the time is unknown. */
export function freshnessOf(atMs: number, nowMs: number): { readonly timestamp: string | null; readonly age_seconds: number | null } {
  if (atMs === 0) return { timestamp: null, age_seconds: null };
  return { timestamp: isoTime(atMs), age_seconds: Math.max(0, Math.round((nowMs - atMs) / 100) / 10) };
}

/** Ways to combine the readings of a bucket into one value. `none` returns the readings uncombined. */
export const AGGREGATIONS = ['none', 'avg', 'min', 'max', 'sum'] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/** A query of a sensor's history: time range and aggregation. */
export interface HistoryQuery {
  readonly sensor: SensorId;
  /** Start of the range, milliseconds since 1970; both ends are included. */
  readonly startMs: number;
  readonly endMs: number;
  /** How readings are combined. `avg` is the mean of the stored readings; an unchanged value is stored again only after some minutes. */
  readonly aggregation: Aggregation;
  /** Width of a bucket; default: the whole range. Buckets are aligned to 1970-01-01T00:00Z. Ignored for `none`. */
  readonly everyMs?: number;
  /** Largest number of points; the newest points are returned. Default 10,000. */
  readonly limit?: number;
}

/** One point of a history. */
export interface HistoryPoint {
  /** Time of the reading, or start of the bucket, milliseconds since 1970; the first bucket begins at the start of the range. */
  readonly atMs: number;
  readonly value: number | string;
}

/** Port: current and past readings of sensors. */
export interface ReadingStore {
  /** Adds or changes a sensor; null removes it, but not its history. */
  describe(id: SensorId, info: SensorInfo | null): void;
  /**
   * Stores a reading; `atMs` is its time in milliseconds since 1970, or 0 if unknown. A reading without a time only becomes the current
   * reading, with the time of the last stored value if that is equal. A reading older than the current one only goes to the history. Null
   * and non-finite numbers mean no value. Throws VALIDATION_ERROR if `atMs` is not a finite number.
   */
  record(id: SensorId, value: ReadingValue | null, atMs: number): void;
  setReachability(device: DeviceId, reachability: Reachability): void;
  /** Returns every sensor with its present value, sorted by id. */
  sensors(): readonly Reading[];
  /** Returns a sensor's present reading; undefined for an unknown or removed sensor. */
  current(id: SensorId): Reading | undefined;
  /** Returns the history, oldest first, without empty buckets. Throws SENSOR_NOT_FOUND, VALIDATION_ERROR or STORAGE_FAILED. */
  history(query: HistoryQuery): readonly HistoryPoint[];
}
