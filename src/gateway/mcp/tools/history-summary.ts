import type { HistoryPoint } from '../../../core/devices/reading-store.ts';
import type { JsonObject } from '../../../core/json.ts';
import { isoTime } from '../../../core/time/iso-time.ts';

/** How many points a summary has at most. */
const MAX_POINTS = 48;

/** A stretch of a sensor's history. */
export interface History {
  readonly startMs: number;
  readonly endMs: number;
  /** Readings, or means of equal times, oldest first. */
  readonly points: readonly HistoryPoint[];
  /** The lowest and highest of the same times, where the points are means. */
  readonly lows?: readonly HistoryPoint[];
  readonly highs?: readonly HistoryPoint[];
}

interface NumberPoint {
  readonly atMs: number;
  readonly value: number;
}

/** What a stretch of history comes to: lowest and highest with their times, the mean over time, and its course in few points. */
export function historySummary(history: History): JsonObject {
  const { points, lows = points, highs = points, endMs } = history;
  const numbers = numbersOf(points);
  const [first] = numbers;
  if (!first) return { readings: points.length, changes: changesOf(points) };
  const last = numbers.at(-1) ?? first;
  return {
    [history.lows ? 'hours' : 'readings']: numbers.length,
    min: timed(numbersOf(lows).reduce((low, point) => (point.value < low.value ? point : low), first)),
    max: timed(numbersOf(highs).reduce((high, point) => (point.value > high.value ? point : high), first)),
    mean: rounded(meanOver(numbers, endMs)),
    first: timed(first),
    last: timed(last),
    points: courseOf(numbers, history),
  };
}

function numbersOf(points: readonly HistoryPoint[]): readonly NumberPoint[] {
  return points.filter((point): point is NumberPoint => typeof point.value === 'number');
}

/** Each value holds until the next one came. */
function meanOver(points: readonly NumberPoint[], endMs: number): number {
  let sum = 0;
  let duration = 0;
  for (const [index, { atMs, value }] of points.entries()) {
    const lengthMs = Math.max(0, (points[index + 1]?.atMs ?? endMs) - atMs);
    sum += value * lengthMs;
    duration += lengthMs;
  }
  return duration > 0 ? sum / duration : (points.at(-1)?.value ?? 0);
}

/** The course begins with the first reading: of a sensor that is new today, a week has nothing before that. */
function courseOf(points: readonly NumberPoint[], history: History): readonly JsonObject[] {
  if (points.length <= MAX_POINTS) return points.map(timed);
  const { endMs } = history;
  const startMs = Math.max(history.startMs, points[0]?.atMs ?? 0);
  const widthMs = Math.max(1, (endMs - startMs) / MAX_POINTS);
  const buckets = Map.groupBy(points, ({ atMs }) => Math.min(MAX_POINTS - 1, Math.floor((atMs - startMs) / widthMs)));
  return [...buckets].map(([bucket, members]) => {
    const bucketEndMs = startMs + (bucket + 1) * widthMs;
    return timed({ atMs: Math.round(startMs + bucket * widthMs), value: meanOver(members, bucketEndMs) });
  });
}

/** Texts have no mean: the newest changes are told. */
function changesOf(points: readonly HistoryPoint[]): readonly JsonObject[] {
  const changes = points.filter(({ value }, index) => index === 0 || points[index - 1]?.value !== value);
  return changes.slice(-MAX_POINTS).map(({ atMs, value }) => ({ at: isoTime(atMs), value }));
}

function timed({ atMs, value }: NumberPoint): { readonly at: string; readonly value: number } {
  return { at: isoTime(atMs), value: rounded(value) };
}

/** To hundredths: more digits than a sensor has would only pretend. */
function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
