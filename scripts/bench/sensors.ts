/** A board with 100 lines and 50 probes: what reading them costs, and how soon an edge is with who listens to events. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { sseMessages } from '../../src/cli/hub/answer-body.ts';
import { systemClock } from '../../src/core/clock.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { EventBus } from '../../src/core/events.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { BoardSensors, kernelSources } from '../../src/sensors/board-sensors.ts';
import { openGpio } from '../../src/sensors/gpio/gpio-board.ts';
import type { GpioInputConfig } from '../../src/sensors/gpio/gpio-config.ts';
import { SimulatedChip } from '../../src/sensors/gpio/simulated-chip.ts';
import { BoardDevices } from '../../src/sensors/sensor-registry.ts';
import { HistoryStore } from '../../src/storage/history/history-store.ts';
import { StateStore } from '../../src/storage/state-store.ts';
import { StoredHomeNames } from '../../src/tools/names/home-names.ts';
import { journalParts } from '../../test/storage/storage-services.ts';
import { benchDoor } from './bench-door.ts';
import type { BenchFigure } from './figure.ts';
import { quantile } from './statistics.ts';
import { Workspace } from './workspace.ts';

const LINES = 100;
const PROBES = 50;
const POLL_SECONDS = 1;
/** What a hub does where nothing else is set. */
const USUAL_POLL_SECONDS = 30;
const MEASURED_SECONDS = 20;
const EDGES = 500;
const EDGE_PAUSE_MS = 10;
const LATENCY_BAR_MS = 10;
const CPU_BAR = 0.01;
const MASTER = 'devices/w1_bus_master1';
const BYTES = '6e 01 4b 46 7f ff 02 10 71';

interface Board extends AsyncDisposable {
  readonly chip: SimulatedChip;
  readonly url: string;
  readonly told: () => number;
}

/** Processor time of a round of all sensors, and milliseconds from an edge to the event stream. */
export async function run(): Promise<BenchFigure[]> {
  using workspace = new Workspace();
  await using board = await startBoard(workspace.dir);
  await wait(2000);
  const cpu = await measureCpu(board);
  const latencies = await measureEdges(board);
  return [...cpu, latencyFigure('p50', latencies, LATENCY_BAR_MS), latencyFigure('p99', latencies, null)];
}

async function startBoard(dir: string): Promise<Board> {
  const sysfs = join(dir, 'sys');
  writeProbes(sysfs);
  const stack = new AsyncDisposableStack();
  const events = new EventBus('urn:bench', systemClock);
  let toldCount = 0;
  events.listen(({ type }) => {
    if (type === 'sensor.reading') toldCount += 1;
  });
  const ground = { clock: systemClock, logger: silentLogger, events, ...journalParts(dir) };
  const places = { directory: dir, snapshotDirectory: join(dir, 'snapshots') };
  const store = stack.use(new StateStore(ground, places));
  const readings = stack.use(new HistoryStore(ground, places));
  // The names of the home are read from it at once.
  await store.start();
  const chip = new SimulatedChip(systemClock, { names: Array.from({ length: LINES }, (_, line) => `line${line}`) });
  const gpio = openGpio({ ...ground, store, openChip: async () => chip }, { backend: 'sim', inputs: inputs(), outputs: {} });
  const sources = [...kernelSources(systemClock, sysfs), gpio.source];
  const settings = { discover: true, pollSeconds: POLL_SECONDS, sysfs, devices: {}, serial: {} };
  const sensors = new BoardSensors(
    { ...ground, readings, sources, devices: new BoardDevices(ground), areas: new StoredHomeNames(store) },
    settings,
  );
  const { door } = benchDoor({ events, readings, store });
  for (const service of [readings, gpio.service, sensors, door]) await service.start();
  for (const service of [gpio.service, sensors, door]) stack.use(service);
  return { chip, url: door.url, told: () => toldCount, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function inputs(): Record<string, GpioInputConfig> {
  const input = { activeLow: false, bias: 'as-is', debounceMs: 0, kind: 'contact', unit: '' } as const;
  return Object.fromEntries(Array.from({ length: LINES }, (_, line) => [`input_${line}`, { ...input, line }]));
}

function writeProbes(sysfs: string): void {
  mkdirSync(join(sysfs, 'bus/w1/devices'), { recursive: true });
  for (let probe = 0; probe < PROBES; probe++) {
    const name = `28-${String(probe).padStart(12, '0')}`;
    mkdirSync(join(sysfs, MASTER, name), { recursive: true });
    writeFileSync(join(sysfs, MASTER, name, 'w1_slave'), `${BYTES} : crc=71 YES\n${BYTES} t=${20_000 + probe * 62}\n`);
    symlinkSync(join(sysfs, MASTER, name), join(sysfs, 'bus/w1/devices', name));
  }
  writeFileSync(join(sysfs, MASTER, 'therm_bulk_read'), '0\n');
}

async function measureCpu(board: Board): Promise<readonly BenchFigure[]> {
  const toldBefore = board.told();
  const before = process.cpuUsage();
  await wait(MEASURED_SECONDS * 1000);
  const { user, system } = process.cpuUsage(before);
  const rounds = (board.told() - toldBefore) / (LINES + PROBES);
  const roundMs = (user + system) / 1000 / rounds;
  const share = roundMs / 1000 / USUAL_POLL_SECONDS;
  const samples = Math.round(rounds);
  const vs = `${LINES} lines and ${PROBES} probes, read each ${POLL_SECONDS} s for ${MEASURED_SECONDS} s, with history and events`;
  return [
    { name: 'sensors.cpu_per_round', value: roundMs, unit: 'ms', bar: null, ok: true, samples, vs },
    {
      name: 'sensors.cpu_share',
      value: share,
      unit: 'of a core',
      bar: CPU_BAR,
      ok: share <= CPU_BAR,
      samples,
      vs: `read each ${USUAL_POLL_SECONDS} s`,
    },
  ];
}

/** Each edge turns one line over; the next follows when the last was heard. */
async function measureEdges({ chip, url }: Board): Promise<readonly number[]> {
  const stop = new AbortController();
  const response = await fetch(`${url.replace(/\/$/, '')}/api/v1/events?types=sensor.reading`, {
    headers: { authorization: 'Bearer bench' },
    signal: stop.signal,
  });
  const messages = sseMessages(response.body)[Symbol.asyncIterator]();
  const latencies: number[] = [];
  for (let edge = 0; edge < EDGES; edge++) {
    const line = edge % LINES;
    const isHigh = Math.floor(edge / LINES) % 2 === 0;
    const startedMs = performance.now();
    chip.drive(line, isHigh);
    await untilHeard(messages, `gpio/input_${line}`, isHigh);
    latencies.push(performance.now() - startedMs);
    await wait(EDGE_PAUSE_MS);
  }
  stop.abort();
  return latencies;
}

async function untilHeard(messages: AsyncIterator<{ readonly data: string }>, subject: string, isHigh: boolean): Promise<void> {
  for (let next = await messages.next(); !next.done; next = await messages.next()) {
    const event: { subject: string; data: { value: unknown } } = JSON.parse(next.value.data);
    if (event.subject === subject && event.data.value === isHigh) return;
  }
  throw new AtmoError('INTERNAL_ERROR', `The event stream ended before ${subject} was heard`);
}

function latencyFigure(share: 'p50' | 'p99', latencies: readonly number[], bar: number | null): BenchFigure {
  const value = quantile(latencies, share === 'p50' ? 0.5 : 0.99);
  const ok = bar === null || value <= bar;
  return {
    name: `sensors.edge_${share}`,
    value,
    unit: 'ms',
    bar,
    ok,
    samples: latencies.length,
    vs: 'from the edge of a line to a client of the event stream',
  };
}
