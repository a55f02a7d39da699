/** One point of a curve. */
export interface ChartPoint {
  readonly atMs: number;
  readonly value: number;
  /** Lowest and highest of the values whose mean is `value`; absent if `value` is a single value. */
  readonly low?: number;
  readonly high?: number;
}

/** The size of a chart in pixels, and its time range. */
export interface ChartFrame {
  readonly width: number;
  readonly height: number;
  readonly startMs: number;
  readonly endMs: number;
  /** True if each value is 0 or 1 and holds until the next point, as for a switch. */
  readonly isStepped: boolean;
  /** Local time minus UTC, in milliseconds. */
  readonly zoneOffsetMs: number;
}

/** A drawn curve: SVG paths and positions, in pixels. */
export interface ChartShape {
  /** SVG paths of the curve, the area below it, and the band from `low` to `high`. `band` is empty if `low` and `high` never differ. */
  readonly line: string;
  readonly area: string;
  readonly band: string;
  readonly spots: readonly { readonly x: number; readonly y: number; readonly point: ChartPoint }[];
  readonly valueTicks: readonly { readonly y: number; readonly value: number }[];
  readonly timeTicks: readonly { readonly x: number; readonly atMs: number; readonly isDay: boolean }[];
}

/** Space for the labels at each edge, in pixels. */
export const CHART_MARGIN = { top: 12, right: 14, bottom: 26, left: 58 } as const;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const TIME_STEPS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 10_080].map((minutes) => minutes * MINUTE_MS);
const PIXELS_PER_TIME_TICK = 90;
const VALUE_TICKS = 4;

/** Returns the drawn curve for points that are sorted by time. It begins with the value of the last point before the frame. */
export function chartOf(points: readonly ChartPoint[], frame: ChartFrame): ChartShape {
  const inside = clipped(points, frame);
  const [low, high] = frame.isStepped ? [0, 1] : bounds(inside);
  const ticks = frame.isStepped ? [0, 1] : niceTicks(low, high);
  const bottom = Math.min(low, ...ticks);
  const top = Math.max(high, ...ticks);
  const x = (atMs: number): number =>
    CHART_MARGIN.left + ((atMs - frame.startMs) / (frame.endMs - frame.startMs)) * (frame.width - CHART_MARGIN.left - CHART_MARGIN.right);
  const y = (value: number): number =>
    CHART_MARGIN.top + ((top - value) / (top - bottom || 1)) * (frame.height - CHART_MARGIN.top - CHART_MARGIN.bottom);
  const spots = inside.map((point) => ({ x: round(x(point.atMs)), y: round(y(point.value)), point }));
  const line = pathOf(spots, frame.isStepped);
  const [first, last] = [spots[0], spots.at(-1)];
  return {
    line,
    area: first && last ? `${line}L${last.x} ${round(y(bottom))}L${first.x} ${round(y(bottom))}Z` : '',
    band: bandOf(
      inside.map((point) => ({
        x: round(x(point.atMs)),
        top: round(y(point.high ?? point.value)),
        bottom: round(y(point.low ?? point.value)),
      })),
    ),
    spots,
    valueTicks: ticks.map((value) => ({ y: round(y(value)), value })),
    timeTicks: timeTicks(frame).map(({ atMs, isDay }) => ({ x: round(x(atMs)), atMs, isDay })),
  };
}

/** Returns round values for an axis, which cover the range from `low` to `high`. Their step is 1, 2 or 5 times a power of ten. */
export function niceTicks(low: number, high: number): readonly number[] {
  const size = Math.max(Math.abs(low), Math.abs(high));
  // A range below a millionth of the values counts as zero, because labels could not show it.
  const span = high - low > size * 1e-6 ? high - low : 0;
  const rough = (span || size || 1) / VALUE_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil(high / step));
  return Array.from({ length: last - first + 1 }, (_tick, index) => Number(((first + index) * step).toPrecision(12)));
}

function clipped(points: readonly ChartPoint[], { startMs, endMs }: ChartFrame): readonly ChartPoint[] {
  const before = points.findLast(({ atMs }) => atMs < startMs);
  const inside = points.filter(({ atMs }) => atMs >= startMs && atMs <= endMs);
  return before ? [{ atMs: startMs, value: before.value }, ...inside] : inside;
}

/** Returns the lowest and the highest value of the axis. If all values are equal, adds space above and below them. */
function bounds(points: readonly ChartPoint[]): readonly [number, number] {
  const values = points.flatMap(({ value, low = value, high = value }) => [low, high]);
  if (values.length === 0) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = low === high ? Math.abs(low) * 0.05 || 1 : 0;
  return [low - room, high + room];
}

function pathOf(spots: readonly { readonly x: number; readonly y: number }[], isStepped: boolean): string {
  return spots
    .map(({ x, y }, index) => {
      if (index === 0) return `M${x} ${y}`;
      return isStepped ? `H${x}V${y}` : `L${x} ${y}`;
    })
    .join('');
}

/** Returns a closed path along the upper edge and back along the lower edge. If the two edges are equal, returns an empty text. */
function bandOf(edges: readonly { readonly x: number; readonly top: number; readonly bottom: number }[]): string {
  if (edges.every(({ top, bottom }) => top === bottom)) return '';
  const there = edges.map(({ x, top }) => `${x} ${top}`);
  const back = edges.toReversed().map(({ x, bottom }) => `${x} ${bottom}`);
  return `M${[...there, ...back].join('L')}Z`;
}

function timeTicks({ startMs, endMs, width, zoneOffsetMs }: ChartFrame): readonly { readonly atMs: number; readonly isDay: boolean }[] {
  const wanted = Math.max(2, Math.floor((width - CHART_MARGIN.left) / PIXELS_PER_TIME_TICK));
  const stepMs = TIME_STEPS_MS.find((step) => (endMs - startMs) / step <= wanted) ?? 7 * DAY_MS;
  const first = Math.ceil((startMs + zoneOffsetMs) / stepMs) * stepMs - zoneOffsetMs;
  const count = Math.max(0, Math.floor((endMs - first) / stepMs) + 1);
  return Array.from({ length: count }, (_tick, index) => {
    const atMs = first + index * stepMs;
    return { atMs, isDay: (atMs + zoneOffsetMs) % DAY_MS === 0 };
  });
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
