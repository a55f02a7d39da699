/** What the journal of calls costs: calls per second with the chain on against off, and bytes per call. */
import { statSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import type { CallPipeline } from '../../src/calls/pipeline.ts';
import { systemClock } from '../../src/core/clock.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { EventBus } from '../../src/core/events.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { HttpApi } from '../../src/hub/http.ts';
import { AuditStore } from '../../src/storage/audit/audit-store.ts';
import { HistoryStore } from '../../src/storage/history/history-store.ts';
import { StateStore } from '../../src/storage/state-store.ts';
import { basicTools } from '../../src/tools/builtin/basic-tools.ts';
import { owner } from '../../test/calls/pipeline-fixture.ts';
import { journalParts } from '../../test/storage/storage-services.ts';
import { benchDoor } from './bench-door.ts';
import type { BenchFigure } from './figure.ts';
import { median } from './statistics.ts';
import { Workspace } from './workspace.ts';

const WARM_UP = 10;
const ROUNDS = 40;
const CALLS = 256;
const CALLERS = 16;
const BAR = 0.9;

/** A hub's tools behind its own door, with or without the journal. */
class Station implements AsyncDisposable {
  readonly #pipeline: CallPipeline;
  readonly #httpApi: HttpApi;
  readonly #audit: AuditStore | undefined;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CALLERS });

  private constructor(pipeline: CallPipeline, httpApi: HttpApi, audit: AuditStore | undefined) {
    this.#pipeline = pipeline;
    this.#httpApi = httpApi;
    this.#audit = audit;
  }

  static async start(store: StateStore, readings: HistoryStore, audit?: AuditStore): Promise<Station> {
    const events = new EventBus('urn:bench', systemClock);
    const { door, pipeline } = benchDoor({ events, readings, store, tools: basicTools, ...(audit && { audit }) });
    await door.start();
    return new Station(pipeline, door, audit);
  }

  async direct(): Promise<void> {
    await this.#pipeline.call({ principal: owner, tool: 'echo', params: { value: 'on' } });
  }

  http(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const body = '{"value":"on"}';
    const headers = { 'content-type': 'application/json', 'content-length': body.length, authorization: 'Bearer bench' };
    const url = `${this.#httpApi.url.replace(/\/$/, '')}/api/v1/tools/echo/invoke`;
    const sent = request(url, { method: 'POST', agent: this.#agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new AtmoError('INTERNAL_ERROR', `The hub answered with ${response.statusCode}`));
      response.resume();
      response.on('end', resolve);
    });
    sent.on('error', reject);
    sent.end(body);
    return promise;
  }

  /** Brings the rows of a round into audit.db, which else would happen while the other station is measured. */
  settle(): void {
    this.#audit?.read({ limit: 1 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.#httpApi[Symbol.asyncDispose]();
  }
}

/** What a round measures: over HTTP or straight into the pipeline, by so many callers at once. */
interface Load {
  readonly name: string;
  readonly callers: number;
  readonly call: (station: Station) => Promise<void>;
  /** Calls come in by a door: what the pipeline alone does is told, not gated. */
  readonly bar: number | null;
}

/** Fast ones first: a hub has been running for long before anybody minds how many calls it does. */
const LOADS: readonly Load[] = [
  { name: 'direct_16', callers: CALLERS, call: (station) => station.direct(), bar: null },
  { name: 'direct_1', callers: 1, call: (station) => station.direct(), bar: null },
  { name: 'http_16', callers: CALLERS, call: (station) => station.http(), bar: BAR },
  { name: 'http_1', callers: 1, call: (station) => station.http(), bar: BAR },
];

/** Calls of `echo` per second with the journal on, divided by those with it off, taken in turns. */
export async function run(): Promise<BenchFigure[]> {
  using workspace = new Workspace();
  const collaborators = { clock: systemClock, logger: silentLogger, events: { emit() {} }, ...journalParts(workspace.dir) };
  const places = { directory: workspace.dir, snapshotDirectory: join(workspace.dir, 'snapshots') };
  await using store = new StateStore(collaborators, places);
  await store.start();
  await using readings = new HistoryStore(collaborators, places);
  await readings.start();
  await using audit = new AuditStore({ ...collaborators, anchors: store }, { ...places, hubId: 'hub-bench' });
  await audit.start();
  await using on = await Station.start(store, readings, audit);
  await using off = await Station.start(store, readings);
  const figures: BenchFigure[] = [];
  for (const load of LOADS) figures.push(await compare(load, on, off));
  const { seq } = audit.head();
  await audit[Symbol.asyncDispose]();
  return [...figures, bytesFigure(join(workspace.dir, 'audit.db'), seq)];
}

async function compare({ name, callers, call, bar }: Load, on: Station, off: Station): Promise<BenchFigure> {
  const rates: { readonly on: number; readonly off: number }[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const measure = (station: Station) => callsPerSecond(station, call, callers);
    // Whatever else the machine does hits both, and neither is always the first.
    const early = round % 2 === 0 ? await measure(off) : undefined;
    const rate = { on: await measure(on), off: early ?? (await measure(off)) };
    if (round >= WARM_UP) rates.push(rate);
  }
  const [onRate, offRate] = [median(rates.map((rate) => rate.on)), median(rates.map((rate) => rate.off))];
  const ratio = onRate / offRate;
  const vs = `${Math.round(onRate)} calls/s with, ${Math.round(offRate)} without the journal`;
  return {
    name: `audit.${name}`,
    value: ratio,
    unit: 'ratio',
    bar,
    isMinimum: true,
    ok: bar === null || ratio >= bar,
    samples: ROUNDS,
    vs,
  };
}

function bytesFigure(path: string, rows: number): BenchFigure {
  const value = (2 * statSync(path).size) / rows;
  return {
    name: 'audit.bytes_per_call',
    value,
    unit: 'B',
    bar: null,
    ok: true,
    samples: rows,
    vs: 'intent and outcome of a call, on the disk',
  };
}

async function callsPerSecond(station: Station, call: Load['call'], callers: number): Promise<number> {
  const startMs = performance.now();
  let left = CALLS;
  const worker = async () => {
    while (left-- > 0) await call(station);
  };
  await Promise.all(Array.from({ length: callers }, worker));
  station.settle();
  return (CALLS * 1000) / (performance.now() - startMs);
}
