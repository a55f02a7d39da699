import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Principal } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import type { EventBus, HubEvent } from '../core/events.ts';
import type { MeshView } from '../core/mesh-view.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';
import type { EventFeed } from './event-feed.ts';
import type { HealthSource, JobPort } from './ports.ts';

/** Names and values of a sample's labels (Prometheus text format). */
type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly suffix: string;
  readonly labels: Labels;
  readonly value: number;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  samples(): Iterable<Sample>;
}

/** A counter metric, whose value never decreases. */
export class Counter {
  readonly #values = new Map<string, { readonly labels: Labels; value: number }>();

  increment(labels: Labels = {}): void {
    const key = Object.values(labels).join('\u0000');
    const entry = this.#values.get(key);
    if (entry) entry.value++;
    else this.#values.set(key, { labels, value: 1 });
  }

  *samples(): Iterable<Sample> {
    for (const { labels, value } of this.#values.values()) yield { suffix: '', labels, value };
  }
}

/** A histogram metric: counts observations in buckets. Bucket bounds are ascending, in the unit that the metric's name states. */
class Histogram {
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, { readonly labels: Labels; readonly counts: number[]; sum: number; count: number }>();

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  observe(value: number, labels: Labels = {}): void {
    const series = this.#seriesOf(labels);
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    if (bucket !== -1) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
    series.count++;
  }

  *samples(): Iterable<Sample> {
    for (const { labels, counts, sum, count } of this.#series.values()) {
      let below = 0;
      for (const [index, bound] of this.#bounds.entries()) {
        below += counts[index] ?? 0;
        yield { suffix: '_bucket', labels: { ...labels, le: String(bound) }, value: below };
      }
      yield { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count };
      yield { suffix: '_sum', labels, value: sum };
      yield { suffix: '_count', labels, value: count };
    }
  }

  #seriesOf(labels: Labels) {
    const key = Object.values(labels).join('\u0000');
    const known = this.#series.get(key);
    if (known) return known;
    const fresh = { labels, counts: this.#bounds.map(() => 0), sum: 0, count: 0 };
    this.#series.set(key, fresh);
    return fresh;
  }
}

/** Collects the hub's metrics, and writes them in the order of registration in the Prometheus text format (version 0.0.4). */
export class MetricRegistry {
  readonly #families: Family[] = [];

  counter(name: string, help: string): Counter {
    const counter = new Counter();
    this.#families.push({ name, help, type: 'counter', samples: () => counter.samples() });
    return counter;
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds);
    this.#families.push({ name, help, type: 'histogram', samples: () => histogram.samples() });
    return histogram;
  }

  /** Adds a gauge. `collect` is called at each request for metrics, and returns one number, or one number for each set of labels. */
  gauge(name: string, help: string, collect: () => number | Iterable<readonly [Labels, number]>): void {
    this.#lookedUp({ name, help, type: 'gauge' }, collect);
  }

  /** Adds a counter that another part of the hub counts. `collect` is called as for a `gauge`. */
  observedCounter(name: string, help: string, collect: () => number | Iterable<readonly [Labels, number]>): void {
    this.#lookedUp({ name, help, type: 'counter' }, collect);
  }

  text(): string {
    return this.#families.map(familyText).join('');
  }

  #lookedUp(head: Omit<Family, 'samples'>, collect: () => number | Iterable<readonly [Labels, number]>): void {
    const samples = (): Sample[] => {
      const value = collect();
      if (typeof value === 'number') return [{ suffix: '', labels: {}, value }];
      return [...value].map(([labels, item]) => ({ suffix: '', labels, value: item }));
    };
    this.#families.push({ ...head, samples });
  }
}

function familyText({ name, help, type, samples }: Family): string {
  const lines = [...samples()].map((sample) => `${name}${sample.suffix}${labelText(sample.labels)} ${sample.value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

interface HubMetricSources {
  readonly clock: Clock;
  readonly events: EventBus;
  readonly directory: DeviceDirectory;
  readonly readings: ReadingStore;
  readonly jobs: Pick<JobPort, 'list'>;
  readonly tools: Pick<ToolDirectory, 'get'>;
  readonly health: HealthSource;
  readonly feed: EventFeed;
  /** Measures the delay of the event loop in nanoseconds; that of Node.js, except in tests. */
  readonly loopDelays?: LoopDelays;
}

type LoopDelays = Pick<ReturnType<typeof monitorEventLoopDelay>, 'count' | 'percentile' | 'reset' | 'enable' | 'disable'>;

/** The principal with which the metrics list jobs. It is an owner, so the list contains the jobs of all callers. */
const METRICS_PRINCIPAL: Principal = { id: 'metrics', kind: 'owner', permissions: [] };
const DURATION_BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Registers metrics about calls, the home and the process. Returns a function that stops the measurements. */
export function registerHubMetrics(metrics: MetricRegistry, watched: HubMetricSources): () => void {
  const stopCalls = observeCalls(metrics, watched);
  registerHomeMetrics(metrics, watched);
  const stopProcess = registerProcessMetrics(metrics, watched);
  return () => {
    stopCalls();
    stopProcess();
  };
}

function observeCalls(metrics: MetricRegistry, { events, tools }: HubMetricSources): () => void {
  const calls = metrics.counter('atmo_calls_total', 'Tool calls by category and outcome');
  const durations = metrics.histogram('atmo_call_duration_seconds', 'Duration of tool calls by category', DURATION_BOUNDS_SECONDS);
  const observe = (event: HubEvent) => {
    const category = tools.get(event.subject)?.definition.metadata.category ?? 'unknown';
    calls.increment({ category, outcome: outcomeOf(event) });
    observeDuration(durations, event, category);
  };
  return events.listen(observe, ['agi.tool.result', 'agi.tool.failed']);
}

function observeDuration(durations: Histogram, event: HubEvent, category: string): void {
  const durationMs = event.data.duration_ms;
  if (typeof durationMs === 'number') durations.observe(durationMs / 1000, { category });
}

function outcomeOf({ type, data }: HubEvent): string {
  if (type === 'agi.tool.result') return 'success';
  return typeof data.code === 'string' ? data.code : 'INTERNAL_ERROR';
}

function registerHomeMetrics(metrics: MetricRegistry, { directory, readings, jobs, feed }: HubMetricSources): void {
  metrics.gauge('atmo_devices', 'Devices by reachability', () =>
    countBy(
      'reachability',
      directory.list().map((device) => device.reachability),
    ),
  );
  metrics.gauge('atmo_sensors', 'Sensors that are described', () => readings.sensors().length);
  metrics.gauge('atmo_jobs', 'Jobs that are remembered, by status', () =>
    countBy(
      'status',
      jobs.list(METRICS_PRINCIPAL).map((job) => job.status),
    ),
  );
  metrics.gauge('atmo_sse_clients', 'Listeners of the event stream', () => feed.listenerCount);
}

function countBy(label: string, values: readonly string[]): readonly (readonly [Labels, number])[] {
  return [...Map.groupBy(values, (value) => value)].map(([value, same]) => [{ [label]: value }, same.length] as const);
}

/** Milliseconds after the last look at the delay of the event loop until its measurement ends. */
const DELAY_LOOK_MS = 10 * 60_000;

/**
 * Measures the delay of the event loop while somebody looks at it, from the first look on. The measurement wakes the processor ten times a
 * second, which is more than all else that an idle hub does.
 */
class LoopDelay {
  readonly #clock: Clock;
  readonly #histogram: LoopDelays;
  #cancelEnd = () => {};

  constructor(clock: Clock, histogram: LoopDelays) {
    this.#clock = clock;
    this.#histogram = histogram;
  }

  /** Returns the 99th percentile in seconds since the last look; 0 at the first look. */
  look(): number {
    const seconds = this.#histogram.count === 0 ? 0 : this.#histogram.percentile(99) / 1e9;
    this.#histogram.reset();
    this.#histogram.enable();
    this.#cancelEnd();
    this.#cancelEnd = this.#clock.after(DELAY_LOOK_MS, () => this.stop());
    return seconds;
  }

  stop(): void {
    this.#cancelEnd();
    this.#histogram.disable();
    this.#histogram.reset();
  }
}

type ProcessMetricSources = Pick<HubMetricSources, 'health' | 'clock' | 'loopDelays'>;

function registerProcessMetrics(metrics: MetricRegistry, { health, clock, loopDelays }: ProcessMetricSources): () => void {
  const delay = new LoopDelay(clock, loopDelays ?? monitorEventLoopDelay({ resolution: 100 }));
  const { nodeId, version, startedAtMs } = health.health();
  metrics.gauge('atmo_build_info', 'Version of the hub', () => [[{ version, node: process.versions.node, node_id: nodeId }, 1]]);
  metrics.gauge('process_start_time_seconds', 'When the hub started, seconds since 1970', () => startedAtMs / 1000);
  metrics.gauge('process_resident_memory_bytes', 'Resident set size', () => process.memoryUsage.rss());
  metrics.gauge('nodejs_heap_used_bytes', 'JavaScript heap in use', () => process.memoryUsage().heapUsed);
  metrics.observedCounter('process_cpu_seconds_total', 'CPU time of the process', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  metrics.gauge('nodejs_eventloop_lag_p99_seconds', 'Delay of the event loop since the last look, 99th percentile', () => delay.look());
  return () => delay.stop();
}

interface MeshMetricSources {
  readonly view: MeshView;
  /** Returns the numbers of dropped and refused messages since the start, by reason. */
  readonly drops: () => Readonly<Record<string, number>>;
}

/** Registers metrics about other hubs and about dropped messages. */
export function registerMeshMetrics(metrics: MetricRegistry, { view, drops }: MeshMetricSources): void {
  metrics.gauge('atmo_mesh_member', 'Whether this hub is in a mesh', () => (view.meshId === undefined ? 0 : 1));
  metrics.gauge('atmo_mesh_peers', 'Other hubs of the mesh by state of their news', () =>
    [...Map.groupBy(view.peers(), ({ state }) => state)].map(([state, peers]) => [{ state }, peers.length] as const),
  );
  metrics.gauge('atmo_mesh_peers_reachable', 'Other hubs that a call can be sent to', () =>
    view.peers().reduce((count, { isReachable }) => count + (isReachable ? 1 : 0), 0),
  );
  metrics.gauge('atmo_mesh_round_trip_seconds', 'Smoothed round trip to directly connected hubs', () =>
    view.peers().flatMap(({ id, roundTripMs }) => (roundTripMs === undefined ? [] : [[{ peer: id }, roundTripMs / 1000] as const])),
  );
  metrics.gauge('atmo_mesh_tools', 'Tools that other hubs announce', () =>
    view.peers().map(({ id, toolCount }) => [{ peer: id }, toolCount] as const),
  );
  metrics.observedCounter('atmo_mesh_dropped_total', 'Messages, frames and connections of the mesh that were not taken, by reason', () =>
    Object.entries(drops()).map(([reason, count]) => [{ reason }, count] as const),
  );
}
