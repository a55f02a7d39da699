/** How fine kept readings are: as they came, or summed up in slots of 5 minutes or 1 hour. */
export const RESOLUTIONS = ['raw', '5min', '1h'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** Width of one slot of a resolution. */
export const SLOT_MS: Readonly<Record<Resolution, number>> = { raw: 1, '5min': 300_000, '1h': 3_600_000 };

/** A stretch of time, end excluded, and where its readings are to be taken from. */
export interface Segment {
  readonly from: Resolution;
  readonly startMs: number;
  readonly endMs: number;
}

/** What is kept: each resolution from `floorMs` on, the summed ones up to `summedUntilMs`. Floors are whole hours. */
export interface Kept {
  readonly floorMs: Readonly<Record<Resolution, number>>;
  readonly summedUntilMs: number;
}

interface Range {
  readonly startMs: number;
  readonly endMs: number;
}

/** The last slot border at or before `atMs`. */
export function slotStart(atMs: number, slotMs: number): number {
  return Math.floor(atMs / slotMs) * slotMs;
}

/**
 * Splits a range, end excluded, into segments so that sums over buckets of `everyMs` (one bucket when absent) are
 * those over the raw readings: slots are used only where they lie whole inside one bucket. Where finer readings have
 * been dropped, the next coarser slots stand in, counted where they start.
 */
export function planHistory(range: Range, everyMs: number | undefined, kept: Kept): readonly Segment[] {
  return cover(range, everyMs, kept, RESOLUTIONS.length - 1).flatMap((segment) => standIn(segment, kept));
}

function cover(range: Range, everyMs: number | undefined, kept: Kept, level: number): readonly Segment[] {
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

function standIn(segment: Segment, kept: Kept): readonly Segment[] {
  const coarser = RESOLUTIONS[RESOLUTIONS.indexOf(segment.from) + 1];
  const floorMs = kept.floorMs[segment.from];
  if (coarser === undefined || segment.startMs >= floorMs) return [segment];
  const lost = { from: coarser, startMs: segment.startMs, endMs: Math.min(segment.endMs, floorMs) };
  const present = segment.endMs > floorMs ? [{ ...segment, startMs: floorMs }] : [];
  return [...standIn(lost, kept), ...present];
}
