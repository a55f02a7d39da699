import { uptime } from 'node:os';
import { AtmoError } from './errors.ts';

/** The hub's time; tests and replay inject their own clock. */
export interface Clock {
  /** Returns milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /**
   * Returns milliseconds of a monotonic clock, which does not change when the time of day is set. It counts the time in which the machine
   * sleeps; timers do not. Its zero point is arbitrary, so only differences are meaningful.
   */
  monotonic(): number;
  /**
   * Calls `callback` once after `delayMs`; the returned function cancels it. Timers do not keep the process alive. A timer with slack may
   * come up to `slackMs` early, together with others, so that the processor wakes once for all of them.
   */
  after(delayMs: number, callback: () => void, slackMs?: number): () => void;
}

/** Longest delay of a timer of Node, about 25 days. A timer with a longer one would end at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clocks of a machine, in milliseconds. */
interface MachineClocks {
  /** Time since 1970. */
  wallMs(): number;
  /** Time in which the machine was awake. */
  awakeMs(): number;
  /** Time since the machine started, with the time in which it slept, in steps of `UPTIME_STEP_MS`. */
  uptimeMs(): number;
}

const UPTIME_STEP_MS = 10;
/** If the wall clock moves by more than this against the time awake, the machine may have slept. */
const MOVED_MS = 20;

/** Returns a function for `Clock.monotonic`. Reads the uptime, which costs a system call, only if the wall clock shows that it must. */
export function sleeplessMs({ wallMs, awakeMs, uptimeMs }: MachineClocks): () => number {
  const bootMs = uptimeMs() - awakeMs();
  let wallAheadMs = wallMs() - awakeMs();
  let sleptMs = 0;
  return () => {
    const nowMs = awakeMs();
    const aheadMs = wallMs() - nowMs;
    if (Math.abs(aheadMs - wallAheadMs) > MOVED_MS) {
      wallAheadMs = aheadMs;
      const moreMs = uptimeMs() - nowMs - bootMs - sleptMs;
      // Rather too much by one step than too little: a deadline may come early, but never late.
      if (moreMs > MOVED_MS) sleptMs += moreMs + UPTIME_STEP_MS;
    }
    return nowMs + sleptMs;
  };
}

/**
 * Returns the delay of a timer that may come up to `slackMs` early. It ends at a multiple of the largest power of two seconds that is
 * within the slack: multiples of a larger one are multiples of all smaller ones, so timers with different slacks end together.
 */
export function sharedDelayMs(nowMs: number, delayMs: number, slackMs: number): number {
  if (slackMs < 1_000) return delayMs;
  const stepMs = 1_000 * 2 ** Math.floor(Math.log2(slackMs / 1_000));
  return Math.floor((nowMs + delayMs) / stepMs) * stepMs - nowMs;
}

/** Slack of work that is repeated, as a part of its period. */
const REPEAT_SLACK = 0.1;

/** The clock of the machine. CLOCK_MONOTONIC, which Node reads, leaves out the time in which the machine sleeps (clock_gettime(2)). */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: sleeplessMs({ wallMs: () => Date.now(), awakeMs: () => performance.now(), uptimeMs: () => uptime() * 1_000 }),
  after(delayMs, callback, slackMs = 0) {
    let timer: NodeJS.Timeout;
    const wait = (restMs: number): void => {
      timer = setTimeout(
        () => (restMs > LONGEST_TIMER_MS ? wait(restMs - LONGEST_TIMER_MS) : callback()),
        Math.min(restMs, LONGEST_TIMER_MS),
      );
      timer.unref();
    };
    wait(sharedDelayMs(performance.now(), delayMs, slackMs));
    return () => clearTimeout(timer);
  },
};

/** Port: the hub's time, and whether it can be trusted. After a start, the clock of a board without a hardware clock may be wrong. */
export interface TrustedTime {
  /** Returns milliseconds since 1970. The result is never before a time that is known to have passed. */
  now(): number;
  /** Returns whether the time has a source (not `nothing`) and is not known to be wrong. If false, dangerous calls are refused. */
  isTrusted(): boolean;
}

/**
 * Source of the time. `owner`: the owner set it. `configuration`: the owner configured trust in the machine's clock. `network`, `hardware`,
 * `host`: the machine's clock follows the network, a hardware clock or the host of a virtual machine. `nothing`: unconfirmed.
 */
export type TimeSource = 'owner' | 'configuration' | 'network' | 'hardware' | 'host' | 'nothing';

/** The hub's time and its source; times in milliseconds since 1970. */
export interface TimeStatus {
  readonly nowMs: number;
  readonly isTrusted: boolean;
  readonly source: TimeSource;
  /** Time of the machine's clock. */
  readonly systemMs: number;
  /** The latest time that is known to have passed. A clock with an earlier time is wrong. */
  readonly floorMs: number;
}

/** Port: the hub's time, which the owner can read and set. */
export interface SettableTime {
  status(): TimeStatus;
  /** Sets the time. Throws VALIDATION_ERROR (impossible time) or CONFLICT (the machine's clock is confirmed and shows another time). */
  set(timeMs: number): void;
}

/** Returns a time (milliseconds since 1970) as ISO 8601 in UTC. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

/**
 * Parses an ISO 8601 time and returns milliseconds since 1970. Throws VALIDATION_ERROR with `subject` in the message if JavaScript cannot
 * parse the time. JavaScript cannot parse leap seconds, although RFC 3339 permits them.
 */
export function parseIsoTime(text: string, subject: string): number {
  const atMs = Date.parse(text);
  if (!Number.isNaN(atMs)) return atMs;
  throw new AtmoError('VALIDATION_ERROR', `${subject} is not a time that this hub can read; write one such as 2026-01-31T12:00:00Z`);
}

/** Days of the week as people write them in rules and automations, Monday first. */
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** Resolves after `delayMs`, or as soon as the signal aborts. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      stop();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const stop = clock.after(delayMs, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

/** Runs `work` after each period of `periodMs`, or up to a tenth of it early; the returned function stops it. */
export function repeat(clock: Clock, periodMs: number, work: () => void): () => void {
  let cancel = () => {};
  let isStopped = false;
  const wait = () => {
    const run = () => {
      work();
      if (!isStopped) wait();
    };
    cancel = clock.after(periodMs, run, periodMs * REPEAT_SLACK);
  };
  wait();
  return () => {
    isStopped = true;
    cancel();
  };
}

/** Settles like `promise`. If the signal aborts first, rejects at once with the signal's reason. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
