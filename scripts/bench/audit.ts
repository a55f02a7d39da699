/** What the journal of calls costs: calls per second with the chain on against off, and bytes per call. */
import { statSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { GrantAuthorizer } from '../../src/access/grant-authorizer.ts';
import { systemClock } from '../../src/core/clock.ts';
import { EventBus } from '../../src/core/events.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { NO_DEVICES } from '../../src/core/no-devices.ts';
import { NO_GROUPS } from '../../src/core/permission.ts';
import type { Principal } from '../../src/core/principal.ts';
import { HttpGateway } from '../../src/gateway/http-gateway.ts';
import { MetricRegistry } from '../../src/gateway/metrics.ts';
import { AuditStore } from '../../src/journal/audit-store.ts';
import { HistoryStore } from '../../src/journal/history-store.ts';
import { StateStore } from '../../src/journal/state-store.ts';
import { basicTools } from '../../src/tools/builtin/basic-tools.ts';
import { CallPipeline } from '../../src/tools/call-pipeline.ts';
import { CapabilityCatalogue } from '../../src/tools/capability-catalogue.ts';
import { IdempotencyStore } from '../../src/tools/idempotency-store.ts';
import { JobStore } from '../../src/tools/job-store.ts';
import { SchemaValidator } from '../../src/tools/schema-validator.ts';
import { ToolRegistry } from '../../src/tools/tool-registry.ts';
import { lexicalSearch } from '../../src/tools/tool-search.ts';
import type { BenchFigure } from './figure.ts';
import { median } from './statistics.ts';
import { Workspace } from './workspace.ts';

const ROUNDS = 60;
const CALLS = 100;
const CALLERS = 16;
const BAR = 0.9;
const owner: Principal = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] };

/** A hub's tools behind its own door, with or without the journal. */
class Station implements AsyncDisposable {
  readonly pipeline: CallPipeline;
  readonly #gateway: HttpGateway;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CALLERS });

  private constructor(pipeline: CallPipeline, gateway: HttpGateway) {
    this.pipeline = pipeline;
    this.#gateway = gateway;
  }

  static async start(store: StateStore, readings: HistoryStore, audit?: AuditStore): Promise<Station> {
    const [clock, logger] = [systemClock, silentLogger];
    const validator = new SchemaValidator();
    const registry = new ToolRegistry({ validator });
    for (const tool of basicTools) registry.register(tool);
    const events = new EventBus('urn:bench', clock);
    const authorizer = new GrantAuthorizer({ groups: NO_GROUPS, validity: { isStillValid: () => true } });
    const jobs = new JobStore({ store, clock, events });
    const parts = { registry, validator, authorizer, clock, logger, events, jobs };
    const pipeline = new CallPipeline({
      ...parts,
      nodeId: 'hub-bench',
      capabilities: () => [],
      idempotency: new IdempotencyStore({ store }),
      ...(audit && { audit }),
    });
    const authenticator = { authenticate: async () => ({ principal: owner }), isStillValid: () => true };
    const health = { status: 'ok', nodeId: 'hub-bench', version: '0', startedAtMs: 0, problems: [] } as const;
    const gateway = new HttpGateway(
      {
        ...parts,
        pipeline,
        capabilities: new CapabilityCatalogue(registry),
        search: lexicalSearch,
        directory: NO_DEVICES,
        readings,
        authenticator,
        metrics: new MetricRegistry(),
        health: { health: () => health },
      },
      { host: '127.0.0.1', port: 0 },
    );
    await gateway.start();
    return new Station(pipeline, gateway);
  }

  async direct(): Promise<void> {
    await this.pipeline.call({ principal: owner, tool: 'echo', params: { value: 'on' } });
  }

  http(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const body = '{"value":"on"}';
    const headers = { 'content-type': 'application/json', 'content-length': body.length, authorization: 'Bearer bench' };
    const url = `${this.#gateway.url.replace(/\/$/, '')}/api/v1/tools/echo/invoke`;
    const sent = request(url, { method: 'POST', agent: this.#agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new TypeError(`${response.statusCode}`));
      response.resume();
      response.on('end', resolve);
    });
    sent.on('error', reject);
    sent.end(body);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.#gateway[Symbol.asyncDispose]();
  }
}

async function callsPerSecond(call: () => Promise<void>, callers: number, calls: number): Promise<number> {
  const startMs = performance.now();
  let left = calls;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: callers }, worker));
  return (calls * 1000) / (performance.now() - startMs);
}

export async function run(): Promise<BenchFigure[]> {
  using workspace = new Workspace();
  const collaborators = { clock: systemClock, logger: silentLogger, events: { emit() {} } };
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
  for (const [name, pick, callers] of [
    ['http_1', (station: Station) => () => station.http(), 1],
    ['http_16', (station: Station) => () => station.http(), CALLERS],
    ['direct_1', (station: Station) => () => station.direct(), 1],
    ['direct_16', (station: Station) => () => station.direct(), CALLERS],
  ] as const) {
    const rates: { on: number; off: number }[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const first = round % 2 === 0 ? await callsPerSecond(pick(off), callers, CALLS) : 0;
      const measuredOn = await callsPerSecond(pick(on), callers, CALLS);
      const measured = { on: measuredOn, off: first || (await callsPerSecond(pick(off), callers, CALLS)) };
      if (round > 5) rates.push(measured);
    }
    const ratio = median(rates.map((rate) => rate.on / rate.off));
    figures.push({
      name: `audit.${name}`,
      value: ratio,
      unit: 'ratio',
      bar: BAR,
      ok: ratio >= BAR,
      samples: ROUNDS,
      vs: `${Math.round(median(rates.map((r) => r.on)))}/s on, ${Math.round(median(rates.map((r) => r.off)))}/s off`,
    });
  }
  const { seq } = audit.head();
  await audit[Symbol.asyncDispose]();
  figures.push({
    name: 'audit.bytes',
    value: (2 * statSync(join(workspace.dir, 'audit.db')).size) / seq,
    unit: 'B',
    bar: null,
    ok: true,
    samples: seq,
    vs: 'per call',
  });
  return figures;
}
