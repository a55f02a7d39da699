import { describe, expect, test } from 'vitest';
import type { Reachability } from '../../../src/core/devices/device-model.ts';
import { type SleepFacts, sleeps } from '../../../src/matter/devices/peer-structure.ts';
import {
  AWAKE_POLICY,
  IDLE_POLICY,
  type ReachabilityLink,
  ReachabilityMonitor,
  type ReachabilityPolicy,
  sleepyPolicy,
} from '../../../src/matter/devices/reachability.ts';
import { ManualClock } from '../../manual-clock.ts';

/** A node that answers or not, by the test; a probe without an answer takes its whole time. */
class FakeLink implements ReachabilityLink {
  readonly #clock: ManualClock;
  isThere = true;
  answeredMs = 0;
  probes = 0;
  drops = 0;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  lastReceivedMs(): number {
    return this.answeredMs;
  }

  probe(timeoutMs: number): Promise<boolean> {
    this.probes += 1;
    if (!this.isThere) return new Promise((resolve) => this.#clock.after(timeoutMs, () => resolve(false)));
    this.answeredMs = this.#clock.now();
    return Promise.resolve(true);
  }

  drop(): void {
    this.drops += 1;
  }
}

function setUp(given: ReachabilityPolicy | (() => ReachabilityPolicy) = AWAKE_POLICY, random = 0) {
  const policy = typeof given === 'function' ? given : () => given;
  const clock = new ManualClock();
  const link = new FakeLink(clock);
  const changes: [Reachability, number][] = [];
  const startMs = clock.now();
  const monitor = new ReachabilityMonitor({
    clock,
    policy,
    link,
    random: () => random,
    onChange: (state) => changes.push([state, clock.now() - startMs]),
  });
  monitor.start();
  return { clock, link, monitor, changes };
}

/** Moves time on in small steps and lets what was promised settle between them. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 100) {
    clock.advance(100);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  }
}

describe('a node that receives all the time and that nobody looks at', () => {
  test('is never probed while its subscription reports every 30 s', async () => {
    const { clock, link, monitor } = setUp(IDLE_POLICY, 0.5);
    for (let report = 0; report < 20; report++) {
      link.answeredMs = clock.now();
      await pass(clock, 30_000);
    }
    expect(link.probes).toBe(0);
    expect(monitor.state).toBe('reachable');
  });

  test.each([0, 0.5, 0.99])('is unreachable within 60 s after its loss at any moment (jitter %d)', async (random) => {
    for (let deathMs = 0; deathMs < 30_000; deathMs += 7_300) {
      const { clock, link, changes } = setUp(IDLE_POLICY, random);
      link.answeredMs = clock.now();
      await pass(clock, 30_000);
      link.answeredMs = clock.now();
      await pass(clock, deathMs);
      link.isThere = false;
      await pass(clock, 60_000);
      expect(changes.at(-1)).toEqual(['unreachable', expect.any(Number)]);
    }
  });

  test('is probed at once when somebody looks at it after more than ten silent seconds, and its loss is known 4 s later', async () => {
    let policy = IDLE_POLICY;
    const { clock, link, monitor } = setUp(() => policy);
    await pass(clock, 60_000);
    expect(monitor.state).toBe('reachable');
    link.isThere = false;
    await pass(clock, 12_000);
    policy = AWAKE_POLICY;
    monitor.noteStricterPolicy();
    await pass(clock, 4_000);
    expect(monitor.state).toBe('unreachable');
  });

  test('is not probed when somebody looks at it just after a message, but within 15 s of it', async () => {
    let policy = IDLE_POLICY;
    const { clock, link, monitor } = setUp(() => policy);
    await pass(clock, 60_000);
    link.answeredMs = clock.now();
    link.isThere = false;
    link.probes = 0;
    policy = AWAKE_POLICY;
    monitor.noteStricterPolicy();
    await pass(clock, 5_000);
    expect(link.probes).toBe(0);
    await pass(clock, 10_000);
    expect(monitor.state).toBe('unreachable');
  });
});

describe('a node that receives all the time', () => {
  test('is never probed while it reports by itself', async () => {
    const { clock, link, monitor } = setUp();
    for (let second = 0; second < 120; second++) {
      link.answeredMs = clock.now();
      await pass(clock, 1_000);
    }
    expect(link.probes).toBe(0);
    expect(monitor.state).toBe('reachable');
  });

  test('is probed about every ten seconds while it is quiet, with jitter', async () => {
    const { clock, link, monitor } = setUp(AWAKE_POLICY, 0.5);
    await pass(clock, 80_000);
    expect(monitor.state).toBe('reachable');
    expect(link.probes).toBeGreaterThanOrEqual(7);
    expect(link.probes).toBeLessThanOrEqual(9);
  });

  test.each([0, 0.5, 0.99])('is unreachable within 15 s after its loss at any moment (jitter %d)', async (random) => {
    for (let deathMs = 0; deathMs < 11_000; deathMs += 1_100) {
      const { clock, link, changes } = setUp(AWAKE_POLICY, random);
      await pass(clock, 20_000 + deathMs);
      link.isThere = false;
      await pass(clock, 20_000);
      const [state, atMs] = changes.at(-1) ?? [];
      expect(state).toBe('unreachable');
      expect((atMs ?? 0) - 20_000 - deathMs).toBeLessThanOrEqual(15_000);
      expect(link.drops).toBe(1);
    }
  });

  test('stays reachable after one lost answer', async () => {
    const { clock, link, monitor, changes } = setUp();
    await pass(clock, 10_000);
    link.isThere = false;
    monitor.suspect();
    await pass(clock, 1_000);
    link.isThere = true;
    await pass(clock, 5_000);
    expect(changes.map(([state]) => state)).toEqual(['reachable']);
    expect(link.drops).toBe(0);
  });

  test('is probed at once after a call without an answer', async () => {
    const { clock, link, monitor, changes } = setUp();
    await pass(clock, 12_000);
    link.isThere = false;
    monitor.suspect();
    await pass(clock, 4_200);
    expect(changes.at(-1)).toEqual(['unreachable', expect.any(Number)]);
  });

  test('is reachable again at its first message, and probed until then', async () => {
    const { clock, link, monitor } = setUp();
    link.isThere = false;
    await pass(clock, 30_000);
    expect(monitor.state).toBe('unreachable');
    const asked = link.probes;
    await pass(clock, 30_000);
    expect(link.probes).toBeGreaterThan(asked + 2);
    link.isThere = true;
    monitor.noteMessage();
    expect(monitor.state).toBe('reachable');
    await pass(clock, 20_000);
    expect(monitor.state).toBe('reachable');
  });

  test('is unknown after the start, and unreachable within 15 s without a message', async () => {
    const { clock, link, monitor, changes } = setUp();
    link.isThere = false;
    expect(monitor.state).toBe('unknown');
    await pass(clock, 15_000);
    expect(changes.map(([state]) => state)).toEqual(['unreachable']);
  });

  test('is neither probed nor reported after the monitor stopped', async () => {
    const { clock, link, monitor, changes } = setUp();
    monitor.stop();
    monitor.noteMessage();
    monitor.suspect();
    await pass(clock, 60_000);
    expect([link.probes, changes.length]).toEqual([0, 0]);
  });
});

describe('which nodes sleep', () => {
  const AWAKE: SleepFacts = { isIntermittent: false, isThreadSleepy: false, isBatteryOnly: false, idleIntervalMs: 500 };

  test.each<[string, Partial<SleepFacts>, boolean]>([
    ['a lamp', {}, false],
    ['a robot on batteries that listens all the time', { isBatteryOnly: true }, false],
    ['a device on batteries before its first session', { isBatteryOnly: true, idleIntervalMs: undefined }, false],
    ['a device that is connected intermittently', { isIntermittent: true }, true],
    ['a sleepy end device of a Thread network', { isThreadSleepy: true }, true],
    ['a sensor on batteries that negotiated a long idle interval', { isBatteryOnly: true, idleIntervalMs: 5_000 }, true],
    ['a lamp that negotiated a long idle interval', { idleIntervalMs: 5_000 }, false],
  ])('%s', (_, facts, isSleepy) => {
    expect(sleeps({ ...AWAKE, ...facts })).toBe(isSleepy);
  });

  test('a node is probed as soon as it is known to receive all the time', async () => {
    let policy = sleepyPolicy(300_000);
    const { clock, link, monitor, changes } = setUp(() => policy);
    link.answeredMs = clock.now();
    monitor.noteMessage();
    policy = AWAKE_POLICY;
    link.isThere = false;
    monitor.suspect();
    await pass(clock, 4_000);
    expect(changes.map(([state]) => state)).toEqual(['reachable', 'unreachable']);
  });
});

describe('a node that sleeps', () => {
  test('is never probed and is unreachable only after three missed reports', async () => {
    const { clock, link, monitor, changes } = setUp(sleepyPolicy(300_000));
    monitor.noteMessage();
    link.answeredMs = clock.now();
    monitor.suspect();
    await pass(clock, 600_000);
    expect(monitor.state).toBe('reachable');
    await pass(clock, 900_000);
    expect(changes.map(([state]) => state)).toEqual(['reachable', 'unreachable']);
    expect(link.probes).toBe(0);
  });
});
