import { expect, test } from 'vitest';
import type { Trigger } from '../../src/automations/plan/trigger-schema.ts';
import { createWatch } from '../../src/automations/triggers/create-watch.ts';
import { nextCronTime } from '../../src/automations/triggers/cron.ts';
import { nextSunMoment, type SunMoment } from '../../src/automations/triggers/sun-times.ts';
import { EventIndex, type Watch, type WatchPorts } from '../../src/automations/triggers/watch.ts';
import { EventBus } from '../../src/core/events.ts';
import { ManualClock } from '../manual-clock.ts';
import { seededRandom } from '../seeded-random.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const START = Date.UTC(2026, 0, 1);
const TIME_ZONE = 'Europe/Berlin';
const TRIGGERS: Readonly<Record<string, Trigger>> = {
  daily: { type: 'time', at: '02:30' },
  cron: { type: 'time', cron: '15 */6 * * *' },
  quarter: { type: 'time', cron: '*/15 2 * * *' },
  hourly: { type: 'time', cron: '30 * * * *' },
  sunset: { type: 'sun', event: 'sunset', offset_minutes: -20 },
  sunrise: { type: 'sun', event: 'sunrise' },
};

/** When summer time begins and ends in Berlin, as the law says it: 29 March and 25 October 2026, 01:00 UTC (directive 2000/84/EC). */
const SUMMER_BEGINS = Date.UTC(2026, 2, 29, 1);
const SUMMER_ENDS = Date.UTC(2026, 9, 25, 1);

/** The moment of a time of day in Berlin, `dayMs` being midnight of the date in UTC. Not for times that the clock skips or shows twice. */
function inBerlin(dayMs: number, hours: number, minutes: number): number {
  const wallMs = dayMs + hours * HOUR_MS + minutes * MINUTE_MS;
  const isSummer = wallMs - HOUR_MS >= SUMMER_BEGINS && wallMs - 2 * HOUR_MS < SUMMER_ENDS;
  return wallMs - (isSummer ? 2 : 1) * HOUR_MS;
}

/** The moments that each trigger by the clock has on a date, written down from what docs/automations.md promises. */
const MOMENTS: Readonly<Record<string, (dayMs: number) => readonly number[]>> = {
  daily(dayMs) {
    if (dayMs === Date.UTC(2026, 2, 29)) return [Date.UTC(2026, 2, 29, 1, 30)]; // 02:30 is skipped: 03:30 in summer time
    if (dayMs === Date.UTC(2026, 9, 25)) return [Date.UTC(2026, 9, 25, 0, 30)]; // twice 02:30: the first
    return [inBerlin(dayMs, 2, 30)];
  },
  cron: (dayMs) => [0, 6, 12, 18].map((hour) => inBerlin(dayMs, hour, 15)),
  quarter: (dayMs) => [0, 15, 30, 45].map((minute) => quarterOf(dayMs, minute)),
  sunset: (dayMs) => onDate('sunset', -20)(dayMs),
  sunrise: (dayMs) => onDate('sunrise', 0)(dayMs),
  hourly: (dayMs) => Array.from({ length: 24 }, (_, hour) => dayMs + (hour * 60 + 30) * MINUTE_MS),
};

function quarterOf(dayMs: number, minute: number): number {
  if (dayMs === Date.UTC(2026, 2, 29)) return Date.UTC(2026, 2, 29, 1, minute); // skipped: 03:00 to 03:45 in summer time
  if (dayMs === Date.UTC(2026, 9, 25)) return Date.UTC(2026, 9, 25, 0, minute); // twice: the first
  return inBerlin(dayMs, 2, minute);
}

/** A house of which the hub is stopped and started again, with one watch for each trigger. */
class WatchedYear {
  readonly clock = new ManualClock();
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
      agents: { get: () => undefined },
      time: { isTrusted: () => true },
      house: { flag: () => undefined, presenceOf: () => undefined, persons: () => [], place: () => BERLIN },
      timeZone: TIME_ZONE,
    };
  }

  start(): void {
    this.stretches.push({ fromMs: this.clock.now(), toMs: this.clock.now() });
    for (const [name, trigger] of Object.entries(TRIGGERS)) {
      const fired = this.fired.get(name) ?? [];
      const watch = createWatch(trigger, this.#ports, {
        onFiring: ({ facts }) => fired.push(Date.parse(String(facts.at))),
        onMiss: () => {},
      });
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
    this.clock.correctBy(ms);
    // The watches notice the jump at their next look at the clock.
    this.clock.advance(MINUTE_MS);
    this.stretches.push({ fromMs: this.clock.now(), toMs: this.clock.now() });
  }

  #endStretch(): void {
    const last = this.stretches.at(-1);
    if (last) last.toMs = this.clock.now();
  }

  /** Returns the moments of a trigger that were promised: those of a stretch, each once. */
  promised(moments: (dayMs: number) => readonly number[]): readonly number[] {
    const all = new Set<number>();
    for (const { fromMs, toMs } of this.stretches) {
      for (let dayMs = fromMs - (fromMs % DAY_MS) - DAY_MS; dayMs <= toMs + DAY_MS; dayMs += DAY_MS) {
        for (const atMs of moments(dayMs)) if (atMs > fromMs && atMs <= toMs) all.add(atMs);
      }
    }
    return [...all].sort((a, b) => a - b);
  }
}

const BERLIN = { latitude: 52.5, longitude: 13.4 };

/** The moment that an event of the sun has on a date, computed for that date alone. */
const onDate = (event: SunMoment['event'], offsetMinutes: number) => (dayMs: number) => {
  const atMs = nextSunMoment({ event, offsetMinutes }, BERLIN, dayMs);
  return atMs === undefined ? [] : [atMs];
};

test('in a year with both changes of the clock, two jumps and 200 restarts no promised run is lost and none comes twice', () => {
  const year = new WatchedYear();
  const random = seededRandom(7);
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
  for (const [name, moments] of Object.entries(MOMENTS)) {
    const fired = year.fired.get(name) ?? [];
    expect([name, new Set(fired).size]).toEqual([name, fired.length]);
    expect([name, fired]).toEqual([name, year.promised(moments)]);
    expect(fired.length).toBeGreaterThan(250);
  }
}, 120_000);

test('a clock that is set back over a restart fires no moment twice', () => {
  const year = new WatchedYear();
  year.clock.advance(Date.parse('2026-01-01T01:25:00Z') - year.clock.now());
  year.start();
  year.clock.advance(10 * MINUTE_MS);
  year.stop();
  year.clock.correctBy(-20 * MINUTE_MS);
  year.start();
  year.clock.advance(HOUR_MS);
  expect(year.fired.get('daily')).toEqual([Date.parse('2026-01-01T01:30:00Z')]);
});

test.each([
  ['sunrise', '2026-06-21', '04:43+02:00'],
  ['sunset', '2026-06-21', '21:33+02:00'],
  ['sunrise', '2026-12-21', '08:15+01:00'],
  ['sunset', '2026-12-21', '15:54+01:00'],
] as const)('%s on %s is when the almanac of Berlin has it, %s', (event, date, time) => {
  const [atMs = 0] = onDate(event, 0)(Date.parse(date));
  expect(Math.abs(atMs - Date.parse(`${date}T${time}`))).toBeLessThanOrEqual(2 * MINUTE_MS);
});

const SPRING = '2026-03-28T23:30Z';
const AUTUMN = '2026-10-24T23:30Z';

test.each([
  ['30 2 * * *', SPRING, ['01:30']],
  ['0,30 2 * * *', SPRING, ['01:00', '01:30']],
  ['30 1-3 * * *', SPRING, ['00:30', '01:30']],
  ['30 * * * *', SPRING, ['00:30', '01:30', '02:30']],
  ['30 2 * * *', AUTUMN, ['00:30']],
  ['0,30 2 * * *', AUTUMN, ['00:00', '00:30']],
  ['30 1-3 * * *', AUTUMN, ['00:30', '02:30']],
  ['30 * * * *', AUTUMN, ['00:30', '01:30', '02:30']],
])('where the clock changes, %s from %s on fires at %j UTC', (cron, from, times) => {
  const found: string[] = [];
  const endMs = Date.parse(from) + 3.5 * HOUR_MS;
  for (let atMs = nextCronTime({ cron, timeZone: TIME_ZONE }, Date.parse(from)); atMs !== undefined && atMs < endMs; ) {
    found.push(new Date(atMs).toISOString().slice(11, 16));
    atMs = nextCronTime({ cron, timeZone: TIME_ZONE }, atMs);
  }
  expect(found).toEqual(times);
});
