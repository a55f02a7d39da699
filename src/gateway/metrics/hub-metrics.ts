import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Principal } from '../../core/access/principal.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ReadingStore } from '../../core/devices/reading-store.ts';
import type { EventBus, HubEvent } from '../../core/events.ts';
import type { KnownTools } from '../../tools/elsewhere/known-tools.ts';
import type { EventFeed } from '../events/event-feed.ts';
import type { HealthSource, JobPort } from '../ports.ts';
import type { Histogram, Labels, MetricRegistry } from './metrics.ts';

interface Watched {
  readonly events: EventBus;
  readonly directory: DeviceDirectory;
  readonly readings: ReadingStore;
  readonly jobs: Pick<JobPort, 'list'>;
  readonly tools: Pick<KnownTools, 'get'>;
  readonly health: HealthSource;
  readonly feed: EventFeed;
}

/** Sees the jobs of everyone, to count them. */
const COUNTER: Principal = { id: 'metrics', kind: 'owner', permissions: [] };
const DURATION_BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Registers the figures of the home and of the process; the answer stops the watching. */
export function watchHub(metrics: MetricRegistry, watched: Watched): () => void {
  const stopCalls = watchCalls(metrics, watched);
  watchHome(metrics, watched);
  const stopProcess = watchProcess(metrics, watched.health);
  return () => {
    stopCalls();
    stopProcess();
  };
}

function watchCalls(metrics: MetricRegistry, { events, tools }: Watched): () => void {
  const calls = metrics.counter('atmo_calls_total', 'Tool calls by category and outcome');
  const durations = metrics.histogram('atmo_call_duration_seconds', 'Duration of tool calls by category', DURATION_BOUNDS_SECONDS);
  return events.listen((event) => {
    if (event.type !== 'agi.tool.result' && event.type !== 'agi.tool.failed') return;
    const category = tools.get(event.subject)?.definition.metadata.category ?? 'unknown';
    calls.increment({ category, outcome: outcomeOf(event) });
    observeDuration(durations, event, category);
  });
}

function observeDuration(durations: Histogram, event: HubEvent, category: string): void {
  const durationMs = event.data.duration_ms;
  if (typeof durationMs === 'number') durations.observe(durationMs / 1000, { category });
}

function outcomeOf({ type, data }: HubEvent): string {
  if (type === 'agi.tool.result') return 'success';
  return typeof data.code === 'string' ? data.code : 'INTERNAL_ERROR';
}

function watchHome(metrics: MetricRegistry, { directory, readings, jobs, feed }: Watched): void {
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
      jobs.list(COUNTER).map((job) => job.status),
    ),
  );
  metrics.gauge('atmo_sse_clients', 'Listeners of the event stream', () => feed.listenerCount);
}

function countBy(label: string, values: readonly string[]): readonly (readonly [Labels, number])[] {
  return [...Map.groupBy(values, (value) => value)].map(([value, same]) => [{ [label]: value }, same.length] as const);
}

function watchProcess(metrics: MetricRegistry, health: HealthSource): () => void {
  // 10 looks a second in native code: cheap enough for an idle board.
  const delay = monitorEventLoopDelay({ resolution: 100 });
  delay.enable();
  const { nodeId, version, startedAtMs } = health.health();
  metrics.gauge('atmo_build_info', 'Version of the hub', () => [[{ version, node: process.versions.node, node_id: nodeId }, 1]]);
  metrics.gauge('process_start_time_seconds', 'When the hub started, seconds since 1970', () => startedAtMs / 1000);
  metrics.gauge('process_resident_memory_bytes', 'Resident set size', () => process.memoryUsage.rss());
  metrics.gauge('nodejs_heap_used_bytes', 'JavaScript heap in use', () => process.memoryUsage().heapUsed);
  metrics.observedCounter('process_cpu_seconds_total', 'CPU time of the process', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  metrics.gauge('nodejs_eventloop_lag_p99_seconds', 'Delay of the event loop since the last look, 99th percentile', () => {
    const seconds = delay.count === 0 ? 0 : delay.percentile(99) / 1e9;
    delay.reset();
    return seconds;
  });
  return () => delay.disable();
}
