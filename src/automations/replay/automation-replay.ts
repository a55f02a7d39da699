import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Principal } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import { CallerConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import { parseSensorId } from '../../core/devices/device-names.ts';
import type { PastReading, PastReadings } from '../../core/devices/sensor-readings.ts';
import type { SensorId } from '../../core/ids.ts';
import { localTimeAt } from '../../core/local-time.ts';
import { type EventHistory, LEFT_OUT, type PastEvent } from '../../core/storage/event-history.ts';
import type { CheckPorts } from '../automation-ports.ts';
import { observedBy } from '../observed.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';
import { CallWording } from './call-wording.ts';
import { HUB_STARTED, HUB_STOPPED } from './event-recorder.ts';
import { PastClock } from './past-clock.ts';
import { type Gap, GapFinder } from './past-gaps.ts';
import { PastHome, type PresentHome } from './past-home.ts';
import { type PastRun, ReplayedAutomation } from './replayed-automation.ts';

/** The parts of the hub that a replay reads. */
export interface ReplayPorts {
  readonly check: CheckPorts;
  readonly house: PresentHome['house'];
  readonly readings: PastReadings;
  readonly events: EventHistory;
}

/** What an automation would have done. */
export interface Replay {
  /** Number of runs. */
  readonly runs: number;
  /** Number of runs between 1 and 5 at night, in the time zone of the hub. */
  readonly nights: number;
  /** The time from which on it was played, as ISO 8601. */
  readonly since: string;
  /** What its triggers and conditions look at and of which not all was kept. */
  readonly incomplete: readonly Gap[];
  /** The latest runs, the newest first. */
  readonly list: readonly { readonly at: string; readonly trigger: PastRun['firing']['trigger']; readonly would: readonly string[] }[];
}

const MAX_LISTED = 100;
const DAY_MS = 86_400_000;
/** Number of events and timers after which other work of the hub gets its turn. */
const TURN_LENGTH = 200;
/** What a reading counts, as a part of an event, if no trigger and no wait of the run needs it: little is done for it. */
const READING_SHARE = 0.1;
/** Number of microtasks after which a run that only checked its conditions has ended. */
const MICROTASKS = 8;
/** The hours whose runs count as runs at night, in minutes since midnight. */
const ONE_TO_FIVE = { from: 60, to: 300 } as const;

/** Plays automations over what was kept of the past of the house. One is played at a time, and one more of each caller with its agents waits. */
export class AutomationReplayer {
  readonly #ports: ReplayPorts;
  readonly #limiter = new CallerConcurrencyLimiter({ maxRunning: 1, maxWaiting: 4, maxRunningPerCaller: 1, maxWaitingPerCaller: 1 });

  constructor(ports: ReplayPorts) {
    this.#ports = ports;
  }

  /**
   * Returns what an automation would have done in the last days. What its calls would have done is written with the names that `viewer` may
   * read; that `viewer` may observe all that the plan looks at, the caller has to check. Rejects with RESOURCE_EXCEEDED if too many replays
   * wait, with STORAGE_FAILED if the disk fails, and with the reason of the signal if it aborts.
   */
  async replay(
    plan: AutomationPlan,
    principal: Principal,
    { days, viewer, signal }: { readonly days: number } & Pick<ToPlay, 'viewer' | 'signal'>,
  ): Promise<Replay> {
    const endMs = this.#ports.check.clock.now();
    const range = { startMs: endMs - days * DAY_MS, endMs };
    const leave = await this.#limiter.enter(viewer, signal);
    try {
      return await new PlayedTime(this.#ports, { plan, principal, range, viewer, signal }).play();
    } finally {
      leave();
    }
  }
}

interface ToPlay {
  readonly plan: AutomationPlan;
  readonly principal: Principal;
  readonly range: { readonly startMs: number; readonly endMs: number };
  readonly viewer: Principal;
  readonly signal: AbortSignal;
}

/** One replay: goes through the readings and events of a time, and counts the runs. */
class PlayedTime {
  readonly #ports: ReplayPorts;
  readonly #toPlay: ToPlay;
  readonly #clock: PastClock;
  readonly #home: PastHome;
  readonly #gaps: GapFinder;
  readonly #played: ReplayedAutomation;
  readonly #sensors: readonly SensorId[];
  readonly #latest: PastRun[] = [];
  #runs = 0;
  #nights = 0;
  #sinceTurn = 0;

  constructor(ports: ReplayPorts, toPlay: ToPlay) {
    const { check, house, events } = ports;
    const { plan, principal, range } = toPlay;
    this.#ports = ports;
    this.#toPlay = toPlay;
    this.#sensors = sensorsOf(plan);
    this.#clock = new PastClock(range.startMs);
    const first = events.firstOfEach(['house.changed', 'device.reachability'], range.startMs);
    this.#home = new PastHome({ readings: check.readings, devices: check.devices, house }, first);
    this.#gaps = new GapFinder(plan, { startMs: range.startMs, endMs: range.endMs, eventsSinceMs: events.sinceMs() });
    const { timeZone } = check;
    this.#played = new ReplayedAutomation({
      plan,
      principal,
      clock: this.#clock,
      home: this.#home,
      timeZone,
      onRun: (run) => this.#count(run),
    });
  }

  async play(): Promise<Replay> {
    const { range } = this.#toPlay;
    const pages = this.#ports.readings.past(this.#sensors, range)[Symbol.iterator]();
    for (const reading of pages.next().value ?? []) this.#begin(reading);
    this.#played.start();
    for (const happened of inOrder(itemsOf({ [Symbol.iterator]: () => pages }), itemsOf(this.#ports.events.between(range)))) {
      if (this.#clock.nextDueMs() <= happened.atMs) await this.#goTo(happened.atMs);
      this.#clock.goTo(happened.atMs);
      if (!('sensor' in happened)) await this.#takeEvent(happened);
      else if (this.#takeReading(happened)) await this.#rest();
    }
    await this.#goTo(range.endMs);
    await this.#played.stop();
    return this.#answer();
  }

  #begin(reading: PastReading): void {
    this.#gaps.see(reading);
    this.#home.begin(reading);
  }

  /** Takes a reading, and returns whether it is time to rest. Most readings only change what conditions see later. */
  #takeReading(reading: PastReading): boolean {
    this.#gaps.see(reading);
    const isAwaited = this.#played.isAwaiting('sensor.reading', reading.sensor);
    this.#home.takeReading(reading, isAwaited ? 'emit' : 'set');
    this.#sinceTurn += READING_SHARE;
    return isAwaited || this.#sinceTurn >= TURN_LENGTH;
  }

  /** While the hub was off, nothing ran: a run that waited went on afterwards. */
  async #takeEvent(event: PastEvent): Promise<void> {
    if (event.type === LEFT_OUT) this.#gaps.seeLeftOut(event);
    if (event.type === HUB_STOPPED) await this.#played.stop();
    this.#home.takeEvent(event);
    if (event.type === HUB_STARTED) await this.#played.restart();
    await this.#rest();
  }

  /** Lets the timers end that are due until a moment. */
  async #goTo(atMs: number): Promise<void> {
    while (this.#clock.nextDueMs() <= atMs) {
      this.#clock.runNext();
      await this.#rest();
    }
    this.#clock.goTo(atMs);
  }

  /** Waits until what happens at this moment has happened, and lets the hub do its other work now and then. */
  async #rest(): Promise<void> {
    this.#sinceTurn += 1;
    // Mostly, a condition does not hold, and the run ends at once.
    for (let step = 0; step < MICROTASKS && !this.#played.isIdle; step++) await undefined;
    if (this.#played.isIdle && this.#sinceTurn < TURN_LENGTH) return;
    this.#sinceTurn = 0;
    this.#toPlay.signal.throwIfAborted();
    await nextTurn();
  }

  #count(run: PastRun): void {
    const { minutes } = localTimeAt(run.atMs, this.#ports.check.timeZone);
    this.#runs += 1;
    if (minutes >= ONE_TO_FIVE.from && minutes < ONE_TO_FIVE.to) this.#nights += 1;
    this.#latest.push(run);
    if (this.#latest.length > MAX_LISTED) this.#latest.shift();
  }

  #answer(): Replay {
    const { check } = this.#ports;
    const { viewer } = this.#toPlay;
    const wording = new CallWording(check);
    const list = this.#latest.toReversed().map(({ atMs, firing, calls }) => ({
      at: isoTime(atMs),
      trigger: firing.trigger,
      would: calls.map((call) => wording.wordsOf({ ...call, principal: viewer })),
    }));
    const incomplete = this.#gaps.gaps(this.#sensors, (id) => check.readings.current(id)?.sensor.title ?? id);
    return { runs: this.#runs, nights: this.#nights, since: isoTime(this.#toPlay.range.startMs), incomplete, list };
  }
}

function* itemsOf<Item>(pages: Iterable<readonly Item[]>): Generator<Item> {
  for (const page of pages) yield* page;
}

/** Yields readings and events in the order of time. */
function* inOrder(readings: Iterator<PastReading>, events: Iterator<PastEvent>): Generator<PastReading | PastEvent> {
  let [reading, event] = [readings.next(), events.next()];
  while (!reading.done || !event.done) {
    if (!reading.done && (event.done || reading.value.atMs <= event.value.atMs)) {
      yield reading.value;
      reading = readings.next();
    } else if (!event.done) {
      yield event.value;
      event = events.next();
    }
  }
}

/** Returns the sensors that a plan looks at. */
function sensorsOf(plan: AutomationPlan): readonly SensorId[] {
  return [...new Set(observedBy(plan).flatMap((about) => ('sensor_id' in about ? [parseSensorId(about.sensor_id)] : [])))];
}
