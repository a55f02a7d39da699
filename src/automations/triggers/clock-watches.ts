import { isoTime } from '../../core/clock.ts';
import type { JsonObject } from '../../core/json.ts';
import { MAX_TIMER_MS, nextLocalTime } from '../../core/local-time.ts';
import type { IntervalTrigger, SunTrigger, TimeTrigger, Trigger } from '../plan/trigger-schema.ts';
import { nextCronTime } from './cron.ts';
import { nextSunMoment } from './sun-times.ts';
import { Watch } from './watch.ts';

/** A trigger that is more than this many milliseconds late does not fire: the hub was off or its clock was changed. */
const MAX_LATE_MS = 30_000;
/** If the clock is set back by at most this many milliseconds, a time that has already fired does not fire again. */
const SET_BACK_MS = 3_600_000;
/** If no moment was found, it is searched again after this time, in milliseconds. */
const SEARCHED_AGAIN_MS = 86_400_000;

/** The first moment after a moment; undefined if there is none. Both in milliseconds since 1970. */
interface Found {
  readonly afterMs: number;
  readonly nextMs: number | undefined;
}

/** Fires at moments of the wall clock. A missed moment is skipped, and nothing fires while the clock is not trusted. */
abstract class ClockWatch<T extends Trigger> extends Watch<T> {
  #found: Found | undefined;
  #firedMs = 0;
  /** The time that the clock showed when it was last read. */
  #seenMs = 0;

  override get dueMs(): number | undefined {
    return this.#found?.nextMs;
  }

  /** Returns the first moment after `afterMs` at which the trigger fires; undefined if there is none. */
  protected abstract nextAfter(afterMs: number): number | undefined;

  protected abstract facts(): JsonObject;

  /** A moment up to the last run fires nothing, even if the clock was set back a little and the hub started again. */
  override start(lastRunMs = 0): void {
    const nowMs = this.ports.clock.now();
    if (lastRunMs - nowMs <= SET_BACK_MS) this.#firedMs = Math.max(this.#firedMs, lastRunMs);
    this.#wait();
  }

  override update(trigger: Trigger): void {
    super.update(trigger);
    this.#found = undefined;
    this.stop();
    this.#wait();
  }

  #wait(): void {
    const { clock } = this.ports;
    const nowMs = clock.now();
    if (nowMs < this.#seenMs - SET_BACK_MS) this.#firedMs = 0;
    this.#seenMs = nowMs;
    this.#find(Math.max(nowMs, this.#firedMs));
    this.cancel = clock.after(Math.min(MAX_TIMER_MS, (this.dueMs ?? Infinity) - nowMs), () => this.#onTimer());
  }

  /** Finds the next moment, unless the one that was found before still is the next. */
  #find(afterMs: number): void {
    const found = this.#found;
    if (found && afterMs >= found.afterMs && afterMs < (found.nextMs ?? found.afterMs + SEARCHED_AGAIN_MS)) return;
    this.#found = { afterMs, nextMs: this.nextAfter(afterMs) };
  }

  #onTimer(): void {
    const nowMs = this.ports.clock.now();
    const { dueMs } = this;
    const isDue = dueMs !== undefined && nowMs >= dueMs;
    if (isDue) this.#firedMs = dueMs;
    // The next timer is started before `fire`, because `fire` stops this watch if the agent's token has ended.
    this.#wait();
    if (!isDue) return;
    if (!this.ports.time.isTrusted()) this.miss('clock_not_trusted', { at: isoTime(dueMs) });
    else if (nowMs - dueMs > MAX_LATE_MS) this.miss('late', { at: isoTime(dueMs), late_seconds: Math.round((nowMs - dueMs) / 1000) });
    else this.fire({ ...this.facts(), at: isoTime(dueMs) });
  }
}

/** Fires at a time of day, or at the times of a cron expression. */
export class TimeWatch extends ClockWatch<TimeTrigger> {
  protected override nextAfter(afterMs: number): number | undefined {
    return nextTimeMoment(this.trigger, this.ports.timeZone, afterMs);
  }

  protected override facts(): JsonObject {
    return {};
  }
}

/** Returns the first moment after `afterMs` at which a trigger fires by the time; undefined if there is none. */
export function nextTimeMoment({ at, cron, days, time_zone }: TimeTrigger, hubZone: string, afterMs: number): number | undefined {
  const timeZone = time_zone ?? hubZone;
  if (cron !== undefined) return nextCronTime({ cron, timeZone }, afterMs);
  return at === undefined ? undefined : nextLocalTime({ at, days, timeZone }, afterMs);
}

/** Fires at an event of the sun. Where the place of the hub is not known, and on days without the event, nothing fires. */
export class SunWatch extends ClockWatch<SunTrigger> {
  protected override nextAfter(afterMs: number): number | undefined {
    const place = this.ports.house.place();
    const { event, offset_minutes: offsetMinutes = 0 } = this.trigger;
    return place && nextSunMoment({ event, offsetMinutes }, place, afterMs);
  }

  protected override facts(): JsonObject {
    return { event: this.trigger.event };
  }
}

/** Fires at an interval, counted from the start of the hub or of the agent. */
export class IntervalWatch extends Watch<IntervalTrigger> {
  #dueMs: number | undefined;

  override get dueMs(): number | undefined {
    return this.#dueMs;
  }

  override start(): void {
    this.#dueMs = this.ports.clock.now() + this.trigger.seconds * 1000;
    this.cancel = this.ports.clock.after(this.trigger.seconds * 1000, () => {
      this.start();
      this.fire();
    });
  }

  override update(trigger: Trigger): void {
    const { seconds } = this.trigger;
    super.update(trigger);
    if (this.trigger.seconds === seconds) return;
    this.stop();
    this.start();
  }
}
