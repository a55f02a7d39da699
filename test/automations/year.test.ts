import { expect, test } from 'vitest';
import type { Trigger } from '../../src/automations/plan/trigger-schema.ts';
import { createWatch } from '../../src/automations/triggers/create-watch.ts';
import { EventIndex, type Watch, type WatchPorts } from '../../src/automations/triggers/watch.ts';
import { EventBus } from '../../src/core/events.ts';
import { TurnableClock } from '../auth/approvals/approval-fixture.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const START = Date.UTC(2026, 0, 1);
const TIME_ZONE = 'Europe/Berlin';
const TRIGGERS: Readonly<Record<string, Trigger>> = {
  daily: { type: 'time', at: '02:30' },
  cron: { type: 'time', cron: '15 */6 * * *' },
  quarter: { type: 'time', cron: '*/15 2 * * *' },
  sunset: { type: 'sun', event: 'sunset', offset_minutes: -20 },
  sunrise: { type: 'sun', event: 'sunrise' },
};

/** A sequence that looks random and is the same each time (Park and Miller). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** A house of which the hub is stopped and started again, with one watch for each trigger. */
class WatchedYear {
  readonly clock = new TurnableClock();
  readonly fired = new Map<string, number[]>(Object.keys(TRIGGERS).map((name) => [name, []]));
  /** Stretches of the wall clock in which the hub ran without a jump of the clock. */
  readonly stretches: { readonly fromMs: number; toMs: number }[] = [];
  readonly #ports: WatchPorts;
  #watches: Watch[] = [];

  constructor() {
    this.#ports = {
      clock: this.clock,
      index: new EventIndex(new EventBus('test', this.clock)),
      readings: { current: () => undefined },
      devices: { get: () => undefined },
      time: { isTrusted: () => true },
      house: { flag: () => undefined, presenceOf: () => undefined, persons: () => [], place: () => ({ latitude: 52.5, longitude: 13.4 }) },
      timeZone: TIME_ZONE,
    };
  }

  start(): void {
    this.stretches.push({ fromMs: this.clock.now(), toMs: this.clock.now() });
    for (const [name, trigger] of Object.entries(TRIGGERS)) {
      const fired = this.fired.get(name) ?? [];
      const watch = createWatch(trigger, this.#ports, ({ facts }) => fired.push(Date.parse(String(facts.at))));
      watch.start(fired.at(-1) ?? 0);
      this.#watches.push(watch);
    }
  }

  stop(): void {
    this.#endStretch();
    for (const watch of this.#watches) watch.stop();
    this.#watches = [];
  }

  jump(ms: number): void {
    this.#endStretch();
    this.clock.offsetMs += ms;
    // The watches notice the jump at their next look at the clock.
    this.clock.advance(MINUTE_MS);
    this.stretches.push({ fromMs: this.clock.now(), toMs: this.clock.now() });
  }

  #endStretch(): void {
    const last = this.stretches.at(-1);
    if (last) last.toMs = this.clock.now();
  }

  /** Returns the moments that were promised: those of a stretch, each once. */
  promised(name: string): readonly number[] {
    const all = new Set<number>();
    for (const { fromMs, toMs } of this.stretches) {
      for (let atMs = nextOf(name, this.#ports, fromMs); atMs !== undefined && atMs <= toMs; atMs = nextOf(name, this.#ports, atMs))
        all.add(atMs);
    }
    return [...all].sort((a, b) => a - b);
  }
}

/** The next moment of a trigger, of a watch that starts at that moment. */
function nextOf(name: string, ports: WatchPorts, afterMs: number): number | undefined {
  const clock = { now: () => afterMs, monotonic: () => 0, after: () => () => {} };
  const trigger = TRIGGERS[name];
  if (!trigger) return undefined;
  const watch = createWatch(trigger, { ...ports, clock }, () => {});
  watch.start(0);
  return watch.dueMs;
}

test('in a year with both changes of the clock, two jumps and 200 restarts no promised run is lost and none comes twice', () => {
  const year = new WatchedYear();
  const random = seeded(7);
  year.start();
  for (let restart = 0; restart < 200; restart++) {
    year.clock.advance(Math.round((1.2 + random()) * DAY_MS));
    if (restart === 60) year.jump(-40 * MINUTE_MS);
    if (restart === 120) year.jump(3 * HOUR_MS);
    year.stop();
    year.clock.advance(Math.round(random() * 2 * HOUR_MS));
    year.start();
  }
  year.stop();
  expect(year.clock.now() - START).toBeGreaterThan(330 * DAY_MS);
  for (const name of Object.keys(TRIGGERS)) {
    const fired = year.fired.get(name) ?? [];
    expect([name, new Set(fired).size]).toEqual([name, fired.length]);
    expect([name, fired]).toEqual([name, year.promised(name)]);
    expect(fired.length).toBeGreaterThan(250);
  }
}, 120_000);

test('a clock that is set back over a restart fires no moment twice', () => {
  const year = new WatchedYear();
  year.clock.advance(Date.parse('2026-01-01T01:25:00Z') - year.clock.now());
  year.start();
  year.clock.advance(10 * MINUTE_MS);
  year.stop();
  year.clock.offsetMs -= 20 * MINUTE_MS;
  year.start();
  year.clock.advance(HOUR_MS);
  expect(year.fired.get('daily')).toEqual([Date.parse('2026-01-01T01:30:00Z')]);
});
