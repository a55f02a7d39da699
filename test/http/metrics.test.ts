import { describe, expect, test } from 'vitest';
import { EventFeed } from '../../src/http/event-feed.ts';
import { MetricRegistry, registerHubMetrics } from '../../src/http/metrics.ts';
import { ask, makeDevice, makeHttpApi, makeReading } from './http-fixture.ts';

const HEALTH = { status: 'ok', nodeId: 'hub-1', version: '1.2.3', startedAtMs: 1_000, problems: [] } as const;

describe('the metric registry', () => {
  test('writes counters, gauges and histograms in the exposition format', () => {
    const metrics = new MetricRegistry();
    const counter = metrics.counter('calls_total', 'Calls');
    counter.increment({ tool: 'a"b\\c\nd' });
    counter.increment({ tool: 'a"b\\c\nd' });
    metrics.gauge('size', 'Size', () => 3);
    const histogram = metrics.histogram('took_seconds', 'Took', [0.1, 1]);
    for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value);
    expect(metrics.text()).toBe(
      `# HELP calls_total Calls\n# TYPE calls_total counter\ncalls_total{tool="a\\"b\\\\c\\nd"} 2\n` +
        `# HELP size Size\n# TYPE size gauge\nsize 3\n# HELP took_seconds Took\n# TYPE took_seconds histogram\n` +
        `took_seconds_bucket{le="0.1"} 2\ntook_seconds_bucket{le="1"} 3\ntook_seconds_bucket{le="+Inf"} 4\ntook_seconds_sum 7.65\ntook_seconds_count 4\n`,
    );
  });
});

/** Delays of the event loop as a test sets them, in nanoseconds. */
class FakeDelays {
  readonly values: number[] = [];
  isMeasuring = false;

  get count(): number {
    return this.values.length;
  }

  percentile(percent: number): number {
    const at = Math.ceil((percent / 100) * this.count) - 1;
    return this.values.toSorted((a, b) => a - b)[at] ?? Number.NaN;
  }

  reset(): void {
    this.values.length = 0;
  }

  enable(): boolean {
    const was = this.isMeasuring;
    this.isMeasuring = true;
    return !was;
  }

  disable(): boolean {
    const was = this.isMeasuring;
    this.isMeasuring = false;
    return was;
  }
}

test('the delay of the event loop is measured from the first look until ten minutes after the last', () => {
  const setup = makeHttpApi();
  const { metrics, events, clock } = setup;
  const loopDelays = new FakeDelays();
  const stop = registerHubMetrics(metrics, { ...setup, loopDelays, feed: new EventFeed(events, clock), health: { health: () => HEALTH } });
  const look = () => Number(/^nodejs_eventloop_lag_p99_seconds (.*)$/m.exec(metrics.text())?.[1]);
  expect(loopDelays.isMeasuring).toBe(false);
  expect(look()).toBe(0);
  expect(loopDelays.isMeasuring).toBe(true);
  loopDelays.values.push(2e6, 5e6);
  expect(look()).toBe(0.005);
  // Only the time since the last look counts.
  loopDelays.values.push(1e6);
  expect(look()).toBe(0.001);
  clock.advance(10 * 60_000 - 1);
  expect(look()).toBe(0);
  clock.advance(10 * 60_000 - 1);
  expect(loopDelays.isMeasuring).toBe(true);
  loopDelays.values.push(9e6);
  clock.advance(1);
  expect(loopDelays.isMeasuring).toBe(false);
  expect(look()).toBe(0);
  const { timers } = clock;
  stop();
  expect([loopDelays.isMeasuring, clock.timers]).toEqual([false, timers - 1]);
});

describe('GET /metrics', () => {
  test('counts calls by category and outcome, requests by route, and what the home has', async () => {
    const setup = makeHttpApi();
    const { clock, directory, events, httpApi, jobs, metrics, readings, tools } = setup;
    const feed = new EventFeed(events, clock);
    const stop = registerHubMetrics(metrics, {
      clock,
      directory,
      readings,
      jobs,
      tools,
      events,
      feed,
      health: { health: () => HEALTH },
    });
    directory.devices = [makeDevice('a'), makeDevice('b', { reachability: 'unreachable' }), makeDevice('c')];
    readings.readings = [makeReading('a/temperature', 1, 1)];
    setup.addTool({
      name: 'dim',
      metadata: { category: 'acting' },
      parameters: { type: 'object', properties: {}, additionalProperties: false },
    });
    await ask(httpApi, '/api/v1/tools/dim/invoke', { body: {} });
    await ask(httpApi, '/api/v1/tools/dim/invoke', { body: { x: 1 } });
    const { text, headers } = await ask(httpApi, '/metrics');
    stop();
    expect(headers.get('content-type')).toContain('version=0.0.4');
    for (const line of [
      'atmo_calls_total{category="acting",outcome="success"} 1',
      'atmo_calls_total{category="acting",outcome="VALIDATION_ERROR"} 1',
      'atmo_call_duration_seconds_count{category="acting"} 2',
      'atmo_devices{reachability="reachable"} 2',
      'atmo_devices{reachability="unreachable"} 1',
      'atmo_sensors 1',
      'atmo_sse_clients 0',
      'atmo_http_requests_total{method="POST",route="/api/v1/tools/:id/invoke",status="400"} 1',
      'process_start_time_seconds 1',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
    expect(text).toMatch(/process_resident_memory_bytes \d{7,}\n/);
    expect(text).toMatch(/atmo_build_info\{version="1.2.3",node="24[^}]*\} 1\n/);
  });

  test('paths that do not exist share one label, so that callers cannot grow the metrics', async () => {
    const { httpApi, metrics } = makeHttpApi();
    for (const path of ['/a', '/b', '/c']) await ask(httpApi, path);
    expect(metrics.text()).toContain('atmo_http_requests_total{method="GET",route="unknown",status="404"} 3');
    expect(metrics.text()).not.toContain('/b');
  });
});
