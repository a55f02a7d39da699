import { isoTime } from '../clock.ts';
import type { DeviceId, SensorId } from '../ids.ts';
import type { Reachability } from './device-model.ts';

/** What a reading is about; values are in human units. */
export interface SensorInfo {
  readonly id: SensorId;
  readonly device: DeviceId;
  /** Name of the reading within its device, such as `temperature`. */
  readonly name: string;
  /** What is measured: `temperature`, `humidity`, `occupancy` …; the word of the capability file. */
  readonly kind: string;
  /** UCUM-like unit text for people: `°C`, `%`, `lx`, `W`; empty for on/off and counts. */
  readonly unit: string;
  readonly area?: string;
  readonly title: string;
}

/** Booleans are kept as 0 and 1, texts (such as an air quality class) as they are. */
export type ReadingValue = number | boolean | string;

/** A sensor's present value with its age. */
export interface Reading {
  readonly sensor: SensorInfo;
  /** Null where the sensor says that it knows none, or has said nothing yet. */
  readonly value: ReadingValue | null;
  /** When it was said, milliseconds since 1970; 0 when never, or when that is not known. */
  readonly atMs: number;
  readonly reachability: Reachability;
}

/** Time and age of what was said at `atMs`, for people: null where the time is not known. */
export function freshnessOf(atMs: number, nowMs: number): { readonly timestamp: string | null; readonly age_seconds: number | null } {
  if (atMs === 0) return { timestamp: null, age_seconds: null };
  return { timestamp: isoTime(atMs), age_seconds: Math.max(0, Math.round((nowMs - atMs) / 100) / 10) };
}

/** How the readings of a bucket become one value; `none` gives them as they came. */
export const AGGREGATIONS = ['none', 'avg', 'min', 'max', 'sum'] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/** A stretch of a sensor's history and how to sum it up. */
export interface HistoryQuery {
  readonly sensor: SensorId;
  /** Milliseconds since 1970; both ends belong to the range. */
  readonly startMs: number;
  readonly endMs: number;
  /** `avg` is the mean of the readings kept; a reading repeated unchanged within minutes is kept once. */
  readonly aggregation: Aggregation;
  /** Width of one bucket, counted from 1970-01-01T00:00Z; the whole range when absent. Ignored for `none`. */
  readonly everyMs?: number;
  /** At most this many points, newest kept; default 10,000. */
  readonly limit?: number;
}

/** One point of a history. */
export interface HistoryPoint {
  /** Time of the reading, or start of the bucket, milliseconds since 1970; the first bucket begins where the range does. */
  readonly atMs: number;
  readonly value: number | string;
}

/** Port: what sensors said and say. */
export interface ReadingStore {
  /** Announces a sensor or changes what is known of it; null removes it (its history stays). */
  describe(id: SensorId, info: SensorInfo | null): void;
  /**
   * Keeps what a sensor said at a time, milliseconds since 1970; at 0 the time is not known, and it is that of the same value in the
   * history if that ends with it. What is older than the present value goes to the history alone; null,
   * and a number that is not finite, is no value. VALIDATION_ERROR without a time.
   */
  record(id: SensorId, value: ReadingValue | null, atMs: number): void;
  /** Holds for all sensors of the device. */
  setReachability(device: DeviceId, reachability: Reachability): void;
  /** Every sensor with its present value, sorted by id. */
  sensors(): readonly Reading[];
  /** Undefined for a sensor that nobody described, or that was removed. */
  current(id: SensorId): Reading | undefined;
  /**
   * Oldest first; buckets without a reading are absent. Errors: SENSOR_NOT_FOUND, VALIDATION_ERROR (range, width, or
   * an aggregation of texts), STORAGE_FAILED.
   */
  history(query: HistoryQuery): readonly HistoryPoint[];
}
