/** A hub on a board with little memory: a control group with the MemoryHigh of the profile, 20 Matter devices, a mesh, a page, an MCP client, and mixed work. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AtmoError } from '../../src/core/errors.ts';
import { MEMORY_PROFILES, type MemoryProfile, memoryProfile } from '../../src/hub/config/memory-profile.ts';
import type { BenchFigure } from './figure.ts';
import type { GroupUse } from './memory-group.ts';
import { cpuSeconds, rssMegabytes } from './process-figures.ts';
import { SmallHome } from './small-home.ts';
import { SmallLoad } from './small-load.ts';
import { median, quantile } from './statistics.ts';

const MINUTES = Number(process.env.SMALL_MINUTES || 60);
const PROFILE = profileNamed(process.env.SMALL_PROFILE || 'small');
const LIMIT_MB = Number(process.env.SMALL_LIMIT_MB || PROFILE.service.highMb);
const DEVICES = Number(process.env.SMALL_DEVICES || 20);
const MINUTE_MS = 60_000;
const BACKUP_EVERY_MS = Math.min(10 * MINUTE_MS, (MINUTES * MINUTE_MS) / 2.5);
/** The first tenth fills what a hub keeps in memory. */
const WARM_UP_SHARE = 0.1;
/** Without a control group, memory has to stay so far below the bound: a board has pages of files to hold as well. */
const MARGIN_MB = 10;
const GROWTH_BAR_MB = 20;

function profileNamed(wanted: string): MemoryProfile {
  const name = MEMORY_PROFILES.find((known) => known === wanted);
  if (name) return memoryProfile(name);
  throw new AtmoError('VALIDATION_ERROR', `SMALL_PROFILE is one of ${MEMORY_PROFILES.join(', ')}, not ${JSON.stringify(wanted)}`);
}

/** What was seen at the end of one minute. */
interface Minute extends Partial<GroupUse> {
  readonly minute: number;
  readonly rssMb: number;
  readonly cpuSeconds: number;
  readonly metrics: Readonly<Record<string, number>>;
}

export async function run(): Promise<BenchFigure[]> {
  await using world = await new SmallHome({ devices: DEVICES, limitMb: LIMIT_MB, profile: PROFILE.name }).start();
  const load = new SmallLoad(world);
  const { pid } = world.hub;
  process.stderr.write(`begins: ${JSON.stringify({ rssMb: rssMegabytes(pid), ...world.group?.use() })}\n`);
  await load.begin(BACKUP_EVERY_MS);
  const minutes: Minute[] = [];
  for (let minute = 1; minute <= MINUTES && world.hub.isRunning; minute++) {
    await sleep(MINUTE_MS);
    if (!world.hub.isRunning) break;
    minutes.push(await lookAt(world, minute));
    process.stderr.write(
      `${JSON.stringify({ ...minutes.at(-1), work: workOf(load), slow: load.slowReadersEnded, events: load.events })}\n`,
    );
  }
  const wasAlive = world.hub.isRunning && world.hub.pid === pid;
  if (!wasAlive) process.stderr.write(`${world.hub.log.slice(-40).join('\n')}\n${JSON.stringify(world.group?.use())}\n`);
  await load.end();
  return figures({ wasAlive, minutes, load, isBounded: world.group !== undefined });
}

async function lookAt({ hub, group }: SmallHome, minute: number): Promise<Minute> {
  const text = await hub.door.fetch('/metrics').then(
    ({ bytes }) => bytes.toString(),
    () => '',
  );
  const wanted = /^(atmo_jobs|atmo_sse_clients|atmo_mesh_dropped_total|nodejs_heap|process_)\S*/;
  const metrics = text.split('\n').flatMap((line) => {
    const [name = '', value] = line.split(' ');
    return wanted.test(name) && Number(value) > 0 ? [[name, Number(value)] as const] : [];
  });
  return {
    minute,
    rssMb: rssMegabytes(hub.pid),
    cpuSeconds: cpuSeconds(hub.pid),
    ...group?.use(),
    metrics: Object.fromEntries(metrics),
  };
}

const workOf = (load: SmallLoad) =>
  Object.fromEntries([...load.counts].map(([name, { done, failed }]) => [name, failed > 0 ? [done, failed] : done]));

interface Outcome {
  readonly wasAlive: boolean;
  readonly minutes: readonly Minute[];
  readonly load: SmallLoad;
  /** Whether the kernel held the bound. */
  readonly isBounded: boolean;
}

function figures({ wasAlive, minutes, load, isBounded }: Outcome): BenchFigure[] {
  const settled = minutes.slice(Math.floor(minutes.length * WARM_UP_SHARE));
  const third = Math.ceil(settled.length / 3);
  const rss = (part: readonly Minute[]) => median(part.map(({ rssMb }) => rssMb));
  const growth = rss(settled.slice(-third)) - rss(settled.slice(0, third));
  const peak = Math.max(...minutes.map(({ rssMb, anonymousMb }) => anonymousMb ?? rssMb));
  const bar = isBounded ? LIMIT_MB : LIMIT_MB - MARGIN_MB;
  const last = minutes.at(-1);
  const kills = last?.kills ?? 0;
  const counts = [...load.counts.values()];
  const done = counts.reduce((sum, count) => sum + count.done, 0);
  const failed = counts.reduce((sum, count) => sum + count.failed, 0);
  const toggles = load.counts.get('toggle')?.times ?? [];
  const common = { bar: null, ok: true, samples: minutes.length };
  return [
    {
      ...common,
      ...{ name: 'small.deaths', value: wasAlive ? kills : kills + 1, unit: 'processes', bar: 0, ok: wasAlive && kills === 0 },
      vs: isBounded ? `in a control group of ${LIMIT_MB} MB` : 'this machine has no memory controller that may be used',
    },
    {
      ...common,
      name: 'small.peak',
      value: peak,
      unit: 'MB',
      bar,
      ok: peak <= bar,
      vs: 'most that the kernel could not take back, each minute',
    },
    {
      ...common,
      name: 'small.growth',
      value: growth,
      unit: 'MB',
      bar: GROWTH_BAR_MB,
      ok: growth <= GROWTH_BAR_MB,
      vs: 'RSS of the last third less that of the first',
    },
    { ...common, name: 'small.rss', value: rss(settled), unit: 'MB', vs: 'RSS, median' },
    {
      ...common,
      name: 'small.used',
      value: median(settled.map(({ usedMb, rssMb }) => usedMb ?? rssMb)),
      unit: 'MB',
      vs: 'all that counts towards the bound, median',
    },
    {
      ...common,
      name: 'small.failed',
      value: failed,
      unit: 'of the work',
      bar: 0,
      ok: failed === 0,
      samples: done,
      vs: 'calls, lists, searches, pages and backups that failed',
    },
    {
      ...common,
      name: 'small.toggle_p50',
      value: median(toggles),
      unit: 'ms',
      samples: toggles.length,
      vs: 'a light switched over HTTP, among the other work',
    },
    {
      ...common,
      name: 'small.toggle_p99',
      value: quantile(toggles, 0.99),
      unit: 'ms',
      samples: toggles.length,
      vs: 'a light switched over HTTP',
    },
  ];
}
