import type { DatabaseSync } from 'node:sqlite';
import type { Aggregation, HistoryPoint } from '../../core/devices/reading-store.ts';
import type { Resolution, Segment } from './history-plan.ts';

/** One sensor's stretch of time, end excluded. */
export interface Stretch {
  readonly sensor: number;
  readonly startMs: number;
  readonly endMs: number;
  /** At most this many, newest kept. */
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

/** Readings as they came, oldest first. */
export function readRaw(database: DatabaseSync, { sensor, startMs, endMs, limit }: Stretch): readonly HistoryPoint[] {
  return database
    .prepare('SELECT ts, value FROM reading WHERE ts >= ? AND ts < ? AND sensor = ? ORDER BY ts DESC LIMIT ?')
    .all(startMs, endMs, sensor, limit)
    .map((row) => ({ atMs: Number(row.ts), value: typeof row.value === 'string' ? row.value : Number(row.value) }))
    .reverse();
}

/** One point for each bucket of `everyMs` that has readings, gathered over all segments, oldest first. */
export function readBuckets(
  database: DatabaseSync,
  segments: readonly Segment[],
  { stretch, everyMs, aggregation }: { stretch: Stretch; everyMs: number | undefined; aggregation: Exclude<Aggregation, 'none'> },
): readonly HistoryPoint[] {
  const buckets = new Map<number, Sums>();
  // A bucket wider than any time is the whole range.
  const every = everyMs ?? Number.MAX_SAFE_INTEGER;
  for (const { from, startMs, endMs } of segments) {
    const rows = database.prepare(SUMS[from]).all({ every, start: startMs, end: endMs, sensor: stretch.sensor });
    for (const row of rows) {
      const sums = { n: Number(row.n), min: Number(row.min), max: Number(row.max), sum: Number(row.sum) };
      const bucket = Number(row.bucket);
      buckets.set(bucket, merge(buckets.get(bucket), sums));
    }
  }
  return [...buckets]
    .sort(([a], [b]) => a - b)
    .slice(-stretch.limit)
    .map(([bucket, sums]) => ({ atMs: Math.max(bucket, stretch.startMs), value: pick(sums, aggregation) }));
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
