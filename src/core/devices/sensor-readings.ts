import { isoTime } from '../clock.ts';
import type { DeviceId, SensorId } from '../ids.ts';
import type { Reachability } from './device-model.ts';

/** A sensor. Its values are in units for people, such as °C. */
export interface SensorInfo {
  readonly id: SensorId;
  readonly device: DeviceId;
  /** Name of the reading within its device, such as `temperature`. */
  readonly name: string;
  /** Measured quantity, such as `temperature` or `occupancy`. It is the `kind` in the capability file. */
  readonly kind: string;
  /** Unit for people, similar to UCUM: `°C`, `%`, `lx`, `W`. Empty for counts and for values that are on or off. */
  readonly unit: string;
  readonly area?: string;
  readonly title: string;
}

/** Value of a reading. The history stores booleans as 0 and 1, and texts (such as an air quality class) unchanged. */
export type ReadingValue = number | boolean | string;

/** The current value of a sensor, with its time. */
export interface Reading {
  readonly sensor: SensorInfo;
  /** Current value; null if the sensor has not reported yet, or reports that it has no value. */
  readonly value: ReadingValue | null;
  /** Time of the report, milliseconds since 1970; 0 if the time is unknown or there is no report. */
  readonly atMs: number;
  readonly reachability: Reachability;
}

/** Returns the time and the age of a report, for people. Both are null if `atMs` is 0, which means unknown. */
export function freshnessOf(atMs: number, nowMs: number): { readonly timestamp: string | null; readonly age_seconds: number | null } {
  if (atMs === 0) return { timestamp: null, age_seconds: null };
  return { timestamp: isoTime(atMs), age_seconds: Math.max(0, Math.round((nowMs - atMs) / 100) / 10) };
}

/** Ways to combine the readings of a bucket into one value. `none`: the readings are returned as they are. */
export const AGGREGATIONS = ['none', 'avg', 'min', 'max', 'sum'] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/** A query of a sensor's history: time range and aggregation. */
export interface HistoryQuery {
  readonly sensor: SensorId;
  /** Start of the range, milliseconds since 1970. The range includes its start and its end. */
  readonly startMs: number;
  readonly endMs: number;
  /** How to combine readings. `avg` is the mean of stored readings, not weighted by time. A steady value is stored every few minutes. */
  readonly aggregation: Aggregation;
  /** Width of a bucket; default: the whole range. Buckets begin at multiples of this width since 1970 (UTC). Ignored for `none`. */
  readonly everyMs?: number;
  /** Maximum number of points; default: 10,000. If there are more, the newest are returned. */
  readonly limit?: number;
}

/** One point of a history. */
export interface HistoryPoint {
  /** Time of the reading or start of the bucket, milliseconds since 1970. The first bucket never starts before the range. */
  readonly atMs: number;
  readonly value: number | string;
}

/** A reading of the past. */
export interface PastReading {
  readonly sensor: SensorId;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** The value; 0 and 1 for a value that is on or off. */
  readonly value: number | string;
  /** True if only a slot of five minutes is left: the value was the smallest or the greatest in it, and the order is not known. */
  readonly isSlot: boolean;
}

/** Port: past readings of several sensors in the order of time. */
export interface PastReadings {
  /**
   * Yields the readings from `startMs` to before `endMs` (milliseconds since 1970), page by page, each read in a few milliseconds. The first
   * page has the last value of each sensor before the range, where it is known. A sensor without a history has no readings. Throws
   * STORAGE_FAILED.
   */
  past(sensors: readonly SensorId[], range: { readonly startMs: number; readonly endMs: number }): Iterable<readonly PastReading[]>;
}

/** Port: current and past readings of sensors. */
export interface ReadingStore {
  /** Adds or changes a sensor. If `info` is null, removes the sensor but keeps its history. */
  describe(id: SensorId, info: SensorInfo | null): void;
  /**
   * Stores a reading with its time, milliseconds since 1970. It goes to the history, and becomes the current reading unless the current
   * reading has a later time. If `atMs` is 0 (unknown time), the reading does not go to the history. If the last value there is equal, the
   * reading takes that value's time. Null and non-finite numbers mean no value. Throws VALIDATION_ERROR if `atMs` is not finite.
   */
  record(id: SensorId, value: ReadingValue | null, atMs: number): void;
  setReachability(device: DeviceId, reachability: Reachability): void;
  /** Returns every sensor with its current value, sorted by id. */
  sensors(): readonly Reading[];
  /** Returns a sensor's current reading; undefined for an unknown or removed sensor. */
  current(id: SensorId): Reading | undefined;
  /** Returns the points, oldest first, without empty buckets. Throws SENSOR_NOT_FOUND, VALIDATION_ERROR (bad query) or STORAGE_FAILED. */
  history(query: HistoryQuery): readonly HistoryPoint[];
}
