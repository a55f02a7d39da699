import type { Json } from '../../core/json.ts';
import type { ChartPoint } from '../components/chart-geometry.ts';
import { numberWords, withUnit } from '../components/formatting.ts';
import { text } from '../texts/text.ts';

/** The time ranges that a person can choose. `every` is the length of the time buckets into which the hub groups the values. */
export const RANGES = [
  { name: 'hour', lengthMs: 3_600_000, every: undefined },
  { name: 'day', lengthMs: 86_400_000, every: '5m' },
  { name: 'week', lengthMs: 604_800_000, every: '1h' },
  { name: 'month', lengthMs: 2_592_000_000, every: '6h' },
] as const;
export type HistoryRange = (typeof RANGES)[number];

/** A point in the result of `GET /api/v1/sensors/{id}/readings`. */
export interface HistoryPoint {
  readonly at: string;
  readonly value: Json;
}

/** If the values cover less than this share of the range, only the covered part is drawn. */
const LITTLE = 0.5;
const SHORTEST_MS = 60_000;

/** A history. With time buckets, `points` has the mean of each bucket. Otherwise it has all readings, and `lows` and `highs` are empty. */
export interface HistoryAnswer {
  readonly points: readonly HistoryPoint[];
  readonly lows: readonly HistoryPoint[];
  readonly highs: readonly HistoryPoint[];
}

/** Returns the URL path for the history of a sensor. With `agg`, asks for time buckets if the range has them; else for every reading. */
export function historyPath(
  sensor: string,
  range: HistoryRange,
  { agg, nowMs }: { readonly agg?: 'avg' | 'min' | 'max' | undefined; readonly nowMs: number },
): string {
  const since = new Date(nowMs - range.lengthMs).toISOString();
  const buckets = agg !== undefined && range.every !== undefined && { every: range.every, agg };
  const query = new URLSearchParams({ since, limit: '2000', ...buckets });
  return `/api/v1/sensors/${encodeURIComponent(sensor)}/readings?${query}`;
}

/**
 * Loads a history. Numbers over more than an hour are loaded in time buckets, with the mean, minimum and maximum of each bucket. All other
 * histories are loaded with every reading.
 */
export async function fetchHistory(
  get: (path: string) => Promise<{ readonly points: readonly HistoryPoint[] }>,
  wanted: { readonly sensor: string; readonly range: HistoryRange; readonly isNumber: boolean; readonly nowMs: number },
): Promise<HistoryAnswer> {
  const { sensor, range, isNumber, nowMs } = wanted;
  const ask = async (agg?: 'avg' | 'min' | 'max') => (await get(historyPath(sensor, range, { agg, nowMs }))).points;
  if (!isNumber || range.every === undefined) return { points: await ask(), lows: [], highs: [] };
  const [points, lows, highs] = await Promise.all([ask('avg'), ask('min'), ask('max')]);
  return { points, lows, highs };
}

/** Returns the points of a curve. The last point is the current value. Numbers are unchanged; true and false become 1 and 0. */
export function curveOf(
  { points, lows, highs }: HistoryAnswer,
  now: { readonly value: Json; readonly atMs: number },
): readonly ChartPoint[] {
  const [low, high] = [lows, highs].map((all) => new Map(all.map(({ at, value }) => [at, value])));
  const known = points.flatMap(({ at, value }) => pointOf(Date.parse(at), { value, low: low?.get(at), high: high?.get(at) }));
  return [...known, ...pointOf(now.atMs, { value: now.value })].toSorted((a, b) => a.atMs - b.atMs);
}

/** Returns when a chart starts. This is the start of the range, or the time of the first value if the values cover less than half of it. */
export function startOf(curve: readonly ChartPoint[], range: HistoryRange, endMs: number): number {
  const wholeMs = endMs - range.lengthMs;
  const firstMs = curve[0]?.atMs ?? wholeMs;
  return endMs - firstMs < LITTLE * range.lengthMs ? Math.min(firstMs, endMs - SHORTEST_MS) : wholeMs;
}

/** Returns a curve in words: its lowest value, its highest value, and its mean over time. */
export function curveWords(points: readonly ChartPoint[], unit: string): string {
  const last = points.at(-1);
  if (!last) return text('devices.no_values');
  const say = (value: number): string => withUnit(numberWords(value), unit);
  const lowest = Math.min(...points.map(({ value, low = value }) => low));
  const highest = Math.max(...points.map(({ value, high = value }) => high));
  return text('devices.curve_words', { lowest: say(lowest), highest: say(highest), mean: say(meanOf(points)) });
}

/** Returns the mean of the values. Each value is weighted by the time for which it held. */
function meanOf(points: readonly ChartPoint[]): number {
  const held = points.map(({ value, atMs }, index) => ({ value, ms: (points[index + 1]?.atMs ?? atMs) - atMs }));
  const wholeMs = held.reduce((sum, { ms }) => sum + ms, 0);
  if (wholeMs === 0) return points.at(-1)?.value ?? 0;
  return held.reduce((sum, { value, ms }) => sum + value * ms, 0) / wholeMs;
}

interface PointValues {
  readonly value: Json;
  readonly low?: Json | undefined;
  readonly high?: Json | undefined;
}

function pointOf(atMs: number, { value, low, high }: PointValues): readonly ChartPoint[] {
  if (typeof value === 'boolean') return [{ atMs, value: Number(value) }];
  if (typeof value !== 'number') return [];
  return [{ atMs, value, ...(typeof low === 'number' && { low }), ...(typeof high === 'number' && { high }) }];
}
