import { isoTime } from '../core/clock.ts';
import type { IntervalTrigger, TimeTrigger, Trigger } from './automation-schema.ts';
import { MAX_TIMER_MS, nextLocalTime } from './local-time.ts';
import { Watch } from './trigger-watch.ts';

/** A time that is further in the past was missed, because the hub was off or its clock was set, and is skipped. */
const MAX_LATE_MS = 30_000;
/** A clock that is set back by less goes on from the last time that fired, instead of firing it again. */
const SET_BACK_MS = 3_600_000;

/** Fires at a time of day. A time that was missed is skipped, never made up for; a clock that is not trusted fires nothing. */
export class TimeWatch extends Watch<TimeTrigger> {
  #dueMs: number | undefined;
  #firedMs = 0;
  /** The time of the clock when it was last read. */
  #seenMs = 0;

  override start(): void {
    const { clock, timeZone: hubTimeZone } = this.ports;
    const nowMs = clock.now();
    const { at, days, time_zone: timeZone = hubTimeZone } = this.trigger;
    if (nowMs < this.#seenMs - SET_BACK_MS) this.#firedMs = 0;
    this.#seenMs = nowMs;
    this.#dueMs = nextLocalTime({ at, days, timeZone }, Math.max(nowMs, this.#firedMs));
    this.cancel = clock.after(Math.min(MAX_TIMER_MS, (this.#dueMs ?? Infinity) - nowMs), () => this.#onTimer());
  }

  override update(trigger: Trigger): void {
    super.update(trigger);
    this.stop();
    this.start();
  }

  #onTimer(): void {
    const nowMs = this.ports.clock.now();
    const dueMs = this.#dueMs;
    const isDue = dueMs !== undefined && nowMs >= dueMs;
    if (isDue) this.#firedMs = dueMs;
    // The next timer first: a run that finds its token ended stops this watch.
    this.start();
    if (isDue && nowMs - dueMs <= MAX_LATE_MS && this.ports.time.isTrusted()) this.fire({ at: isoTime(dueMs) });
  }
}

/** Fires again and again, counted from the start of the hub or of the agent. */
export class IntervalWatch extends Watch<IntervalTrigger> {
  override start(): void {
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
