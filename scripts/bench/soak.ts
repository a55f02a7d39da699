/** What a month, or `SOAK_DAYS`, leaves behind in a hub: memory, open files, disk, and whether its timers still keep step. */
import type { BenchFigure } from './figure.ts';
import { SoakHub, type SoakSample } from './soak-hub.ts';
import { median } from './statistics.ts';
import { Workspace } from './workspace.ts';

/** A month; fewer for a look. */
const DAYS = Number(process.env.SOAK_DAYS || 30);
/** The first days fill what a hub keeps in memory. */
const WARM_UP_DAYS = 3;
/** When the month has passed sooner, the hub is called without pause until the time is over. */
const LEAST_MINUTES = Number(process.env.SOAK_MINUTES || 20);
/** A leak of this much fills half a gigabyte in over two years. */
const HEAP_BAR_MB = 0.5;
/** Sensors are read each minute, give or take a step. */
const READING_BAR_SECONDS = 180;

export async function run(): Promise<BenchFigure[]> {
  using workspace = new Workspace();
  const startMs = performance.now();
  await using hub = await new SoakHub(workspace.dir).start();
  const samples: SoakSample[] = [];
  for (let day = 0; day < DAYS; day++) {
    await hub.live(1);
    samples.push(hub.sample());
    process.stderr.write(`day ${day + 1}: ${JSON.stringify(samples.at(-1))}\n`);
  }
  while (performance.now() - startMs < LEAST_MINUTES * 60_000) await hub.round();
  const after = hub.sample();
  const { runs, minutes } = await hub.drift();
  const settled = samples.slice(WARM_UP_DAYS);
  const first = settled[0] ?? after;
  const heap = slope(settled, ({ heapMegabytes }) => heapMegabytes);
  const missed = Math.abs(minutes - runs);
  const kept = (take: (sample: SoakSample) => number) => take(after) - take(first);
  const readingSeconds = hub.oldestReadingSeconds;
  const [descriptors, handles] = [kept((sample) => sample.descriptors), kept((sample) => sample.handles)];
  const common = { bar: null, ok: true, samples: settled.length };
  return [
    {
      ...common,
      name: 'soak.heap',
      value: heap,
      unit: 'MB/day',
      bar: HEAP_BAR_MB,
      ok: heap <= HEAP_BAR_MB,
      vs: 'slope after a collection',
    },
    {
      ...common,
      name: 'soak.rss',
      value: slope(settled, ({ rssMegabytes }) => rssMegabytes),
      unit: 'MB/day',
      vs: 'slope of what the kernel counts',
    },
    {
      ...common,
      name: 'soak.descriptors',
      value: descriptors,
      unit: 'files',
      bar: 4,
      ok: descriptors <= 4,
      vs: 'more than on the fourth day',
    },
    { ...common, name: 'soak.handles', value: handles, unit: 'handles', bar: 4, ok: handles <= 4, vs: 'more than on the fourth day' },
    {
      ...common,
      name: 'soak.disk',
      value: slope(settled, ({ diskMegabytes }) => diskMegabytes),
      unit: 'MB/day',
      vs: 'slope; the journal keeps a year within its bound',
    },
    { ...common, name: 'soak.drift', value: missed, unit: 'runs', bar: 1, ok: missed <= 1, samples: minutes, vs: 'of a timer of a minute' },
    {
      ...common,
      name: 'soak.reading_age',
      value: readingSeconds,
      unit: 's',
      bar: READING_BAR_SECONDS,
      ok: readingSeconds <= READING_BAR_SECONDS,
      vs: 'the oldest that a call found, of ten zones',
    },
    {
      ...common,
      name: 'soak.calls',
      value: hub.calls,
      unit: 'calls',
      vs: `in ${DAYS} days, over HTTP, in ${Math.round((performance.now() - startMs) / 60_000)} min`,
    },
  ];
}

/** Per day, as the median of the slopes between all pairs (Theil and Sen): one odd sample moves it little. */
function slope(samples: readonly SoakSample[], take: (sample: SoakSample) => number): number {
  const slopes = samples.flatMap((later, index) =>
    samples.slice(0, index).map((earlier) => (take(later) - take(earlier)) / (later.day - earlier.day)),
  );
  return slopes.length > 0 ? median(slopes) : 0;
}
