import type { DatabaseSync } from 'node:sqlite';
import type { Aggregation, HistoryPoint } from '../../core/devices/sensor-readings.ts';

/** Resolutions of stored readings: raw, or aggregated in slots of 5 minutes or 1 hour. */
export const RESOLUTIONS = ['raw', '5min', '1h'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** Width of a slot in milliseconds. */
export const SLOT_MS: Readonly<Record<Resolution, number>> = { raw: 1, '5min': 300_000, '1h': 3_600_000 };

/** A time range, end excluded, and the resolution from which it is read. */
interface Segment {
  readonly from: Resolution;
  readonly startMs: number;
  readonly endMs: number;
}

/** Stored time ranges. Each resolution begins at its `floorMs`, which is a whole hour. Aggregated slots end at `summedUntilMs`. */
export interface RetainedRanges {
  readonly floorMs: Readonly<Record<Resolution, number>>;
  readonly summedUntilMs: number;
}

interface Range {
  readonly startMs: number;
  readonly endMs: number;
}

/** Returns the last slot boundary at or before `atMs`. */
export function slotStart(atMs: number, slotMs: number): number {
  return Math.floor(atMs / slotMs) * slotMs;
}

/**
 * Splits a range, end excluded, into segments. Each segment is read from one stored resolution. A slot is used only if it lies completely
 * inside a bucket of `everyMs`, so that sums equal those of raw readings. If `everyMs` is absent, the range is one bucket. Exception: where
 * finer readings were deleted, coarser slots are used anyway. Each counts as if all its readings were at its start.
 */
export function planHistory(range: Range, everyMs: number | undefined, kept: RetainedRanges): readonly Segment[] {
  return cover(range, everyMs, kept, RESOLUTIONS.length - 1).flatMap((segment) => standIn(segment, kept));
}

function cover(range: Range, everyMs: number | undefined, kept: RetainedRanges, level: number): readonly Segment[] {
  const { startMs, endMs } = range;
  const from = RESOLUTIONS[level] ?? 'raw';
  if (startMs >= endMs) return [];
  if (from === 'raw') return [{ from, startMs, endMs }];
  const slotMs = SLOT_MS[from];
  const firstMs = slotStart(startMs + slotMs - 1, slotMs);
  const lastMs = slotStart(Math.min(endMs, kept.summedUntilMs), slotMs);
  const isUsable = firstMs < lastMs && (everyMs === undefined || everyMs % slotMs === 0);
  if (!isUsable) return cover(range, everyMs, kept, level - 1);
  return [
    ...cover({ startMs, endMs: firstMs }, everyMs, kept, level - 1),
    { from, startMs: firstMs, endMs: lastMs },
    ...cover({ startMs: lastMs, endMs }, everyMs, kept, level - 1),
  ];
}

function standIn(segment: Segment, kept: RetainedRanges): readonly Segment[] {
  const coarser = RESOLUTIONS[RESOLUTIONS.indexOf(segment.from) + 1];
  const floorMs = kept.floorMs[segment.from];
  if (coarser === undefined || segment.startMs >= floorMs) return [segment];
  const lost = { from: coarser, startMs: segment.startMs, endMs: Math.min(segment.endMs, floorMs) };
  const present = segment.endMs > floorMs ? [{ ...segment, startMs: floorMs }] : [];
  return [...standIn(lost, kept), ...present];
}

/** A time range of one sensor, end excluded. */
export interface SensorRange {
  readonly sensor: number;
  readonly startMs: number;
  readonly endMs: number;
  /** Maximum number of points. If there are more points, the newest are returned. */
  readonly limit: number;
}

interface Sums {
  readonly n: number;
  readonly min: number;
  readonly max: number;
  readonly sum: number;
}

const SUMS: Readonly<Record<Resolution, string>> = {
  raw: `SELECT ts - ts % :every AS bucket, count(*) AS n, min(value) AS min, max(value) AS max, sum(value) AS sum
    FROM reading WHERE ts >= :start AND ts < :end AND sensor = :sensor AND typeof(value) <> 'text' GROUP BY bucket`,
  '5min': rollupSums('rollup_5min'),
  '1h': rollupSums('rollup_1h'),
};

/** Returns raw readings, oldest first. */
export function readRaw(database: DatabaseSync, { sensor, startMs, endMs, limit }: SensorRange): readonly HistoryPoint[] {
  return database
    .prepare('SELECT ts, value FROM reading WHERE ts >= ? AND ts < ? AND sensor = ? ORDER BY ts DESC LIMIT ?')
    .all(startMs, endMs, sensor, limit)
    .map((row) => ({ atMs: Number(row.ts), value: typeof row.value === 'string' ? row.value : Number(row.value) }))
    .reverse();
}

/** Aggregates segments into buckets of `everyMs`. Returns a point for each bucket that has readings, oldest first. */
export function readBuckets(
  database: DatabaseSync,
  segments: readonly Segment[],
  { range, everyMs, aggregation }: { range: SensorRange; everyMs: number | undefined; aggregation: Exclude<Aggregation, 'none'> },
): readonly HistoryPoint[] {
  const buckets = new Map<number, Sums>();
  // Without `everyMs` one bucket covers the whole range.
  const every = everyMs ?? Number.MAX_SAFE_INTEGER;
  for (const { from, startMs, endMs } of segments) {
    const rows = database.prepare(SUMS[from]).all({ every, start: startMs, end: endMs, sensor: range.sensor });
    for (const row of rows) {
      const sums = { n: Number(row.n), min: Number(row.min), max: Number(row.max), sum: Number(row.sum) };
      const bucket = Number(row.bucket);
      buckets.set(bucket, merge(buckets.get(bucket), sums));
    }
  }
  return [...buckets]
    .sort(([a], [b]) => a - b)
    .slice(-range.limit)
    .map(([bucket, sums]) => ({ atMs: Math.max(bucket, range.startMs), value: pick(sums, aggregation) }));
}

function rollupSums(table: string): string {
  return `SELECT slot - slot % :every AS bucket, sum(n) AS n, min(min) AS min, max(max) AS max, sum(sum) AS sum
    FROM ${table} WHERE slot >= :start AND slot < :end AND sensor = :sensor GROUP BY bucket`;
}

function merge(a: Sums | undefined, b: Sums): Sums {
  if (!a) return b;
  return { n: a.n + b.n, min: Math.min(a.min, b.min), max: Math.max(a.max, b.max), sum: a.sum + b.sum };
}

function pick(sums: Sums, aggregation: Exclude<Aggregation, 'none'>): number {
  return aggregation === 'avg' ? sums.sum / sums.n : sums[aggregation];
}
