import type { Json } from '../../../core/json.ts';
import type { ChartPoint } from '../../parts/chart-geometry.ts';
import { numberWords } from '../../parts/words.ts';

/** Ranges of time that a person can look at, with the width of one bucket in which each is asked for. */
export const RANGES = [
  { name: 'hour', title: 'Hour', lengthMs: 3_600_000, every: undefined },
  { name: 'day', title: 'Day', lengthMs: 86_400_000, every: '5m' },
  { name: 'week', title: 'Week', lengthMs: 604_800_000, every: '1h' },
  { name: 'month', title: 'Month', lengthMs: 2_592_000_000, every: '6h' },
] as const;
export type HistoryRange = (typeof RANGES)[number];

/** A point as `GET /api/v1/sensors/{id}/readings` tells it. */
export interface HistoryPoint {
  readonly at: string;
  readonly value: Json;
}

/** Where the history of a sensor is asked for; what is no number has no mean and comes as it was. */
export function historyPath(
  sensor: string,
  range: HistoryRange,
  { isNumber, nowMs }: { readonly isNumber: boolean; readonly nowMs: number },
): string {
  const since = new Date(nowMs - range.lengthMs).toISOString();
  const query = new URLSearchParams({ since, limit: '2000', ...(isNumber && range.every !== undefined && { every: range.every }) });
  return `/api/v1/sensors/${encodeURIComponent(sensor)}/readings?${query}`;
}

/** The points of a curve: numbers as they are, yes and no as 1 and 0, ending with the present value. */
export function curveOf(points: readonly HistoryPoint[], now: { readonly value: Json; readonly atMs: number }): readonly ChartPoint[] {
  const known = points.flatMap(({ at, value }) => pointOf(Date.parse(at), value));
  return [...known, ...pointOf(now.atMs, now.value)].toSorted((a, b) => a.atMs - b.atMs);
}

/** What a curve says, in words. */
export function curveWords(points: readonly ChartPoint[], unit: string): string {
  if (points.length === 0) return 'No values in this time.';
  const values = points.map(({ value }) => value);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const say = (value: number): string => `${numberWords(value)} ${unit}`.trim();
  return `Lowest ${say(Math.min(...values))}, highest ${say(Math.max(...values))}, mean ${say(mean)}.`;
}

function pointOf(atMs: number, value: Json): readonly ChartPoint[] {
  if (typeof value === 'number') return [{ atMs, value }];
  return typeof value === 'boolean' ? [{ atMs, value: Number(value) }] : [];
}
