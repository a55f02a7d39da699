import { AtmoError } from './errors.ts';

/** Time as the hub sees it; tests and replay inject their own. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Milliseconds on a clock that never jumps; only differences have meaning. */
  monotonic(): number;
  /** Calls back once after `delayMs`; the answer cancels. Timers do not keep the process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Port: whether the hub's clock can be believed. A board without a clock of its own may wake in the past. */
export interface TrustedTime {
  /** Milliseconds since 1970, never before what is known to have passed. */
  now(): number;
  /** False until time came from the network or the owner: dangerous calls are refused until then. */
  isTrusted(): boolean;
}

/**
 * What speaks for the hub's time: the owner set it or vouches for the machine's clock in the `configuration`, the machine
 * keeps it by the `network`, has a `hardware` clock, or is a `host`'s guest; `nothing` speaks for it.
 */
export type TimeSource = 'owner' | 'configuration' | 'network' | 'hardware' | 'host' | 'nothing';

/** How the hub's time stands; times in milliseconds since 1970. */
export interface TimeStatus {
  readonly nowMs: number;
  readonly isTrusted: boolean;
  readonly source: TimeSource;
  /** What the machine's own clock shows. */
  readonly systemMs: number;
  /** What is known to have passed: a clock before it is wrong. */
  readonly floorMs: number;
}

/** Port: time that the owner can look at and set. */
export interface SettableTime {
  status(): TimeStatus;
  /** VALIDATION_ERROR for a time that cannot be, CONFLICT where the machine's clock is known to be right and says otherwise. */
  set(timeMs: number): void;
}

/** A time (milliseconds since 1970) as ISO 8601 in UTC. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** The other way round. VALIDATION_ERROR names `what` it is: RFC 3339 knows times, such as leap seconds, that JavaScript does not. */
export function parseIsoTime(text: string, what: string): number {
  const atMs = Date.parse(text);
  if (!Number.isNaN(atMs)) return atMs;
  throw new AtmoError('VALIDATION_ERROR', `${what} is no time that this hub knows; write one such as 2026-01-31T12:00:00Z`);
}

/** Days of the week as people write them in rules and automations, Monday first. */
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** Resolves after `delayMs`, or earlier when the signal aborts; at once when it has aborted already. */
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

/** Does the work again and again, `periodMs` after the time before; the answer ends it. */
export function repeat(clock: Clock, periodMs: number, work: () => void): () => void {
  let cancel = () => {};
  const wait = () => {
    cancel = clock.after(periodMs, () => {
      work();
      wait();
    });
  };
  wait();
  return () => cancel();
}

/** Settles as `promise` does, or rejects with the signal's reason when that aborts before or has aborted already. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
