import { isoTime } from '../core/clock.ts';
import type { IntervalTrigger, TimeTrigger, Trigger } from './automation-config.ts';
import { nextLocalTime } from './local-time.ts';
import type { Fire, Watch, WatchPorts } from './trigger-watch.ts';

/** The clock may be set while we wait: it is looked at again at least this often. */
const LOOK_AGAIN_MS = 60_000;
/** A time that is further in the past was missed: the hub was off or its clock was set. It is left out. */
const MAX_LATE_MS = 30_000;
/** A clock that is set back by less goes on from the last time that fired, instead of firing it again. */
const SET_BACK_MS = 3_600_000;

/** Fires at a time of day. A time that was missed is skipped, never made up for; a clock that is not trusted fires nothing. */
export class TimeWatch implements Watch {
  readonly #ports: WatchPorts;
  readonly #fire: Fire;
  #trigger: TimeTrigger;
  #dueMs: number | undefined;
  #firedMs = 0;
  /** What the clock showed when it was last looked at. */
  #seenMs = 0;
  #cancel: (() => void) | undefined;

  constructor(ports: WatchPorts, trigger: TimeTrigger, fire: Fire) {
    this.#ports = ports;
    this.#trigger = trigger;
    this.#fire = fire;
  }

  start(): void {
    this.#arm();
  }

  update(trigger: Trigger): void {
    if (trigger.type !== 'time') return;
    this.#trigger = trigger;
    this.stop();
    this.#arm();
  }

  stop(): void {
    this.#cancel?.();
  }

  #arm(): void {
    const nowMs = this.#ports.clock.now();
    const { at, days, time_zone: timeZone = this.#ports.timeZone } = this.#trigger;
    if (nowMs < this.#seenMs - SET_BACK_MS) this.#firedMs = 0;
    this.#seenMs = nowMs;
    this.#dueMs = nextLocalTime({ at, days, timeZone }, Math.max(nowMs, this.#firedMs));
    const waitMs = Math.min(LOOK_AGAIN_MS, (this.#dueMs ?? Infinity) - nowMs);
    this.#cancel = this.#ports.clock.after(waitMs, () => this.#look());
  }

  #look(): void {
    const nowMs = this.#ports.clock.now();
    const dueMs = this.#dueMs;
    if (dueMs !== undefined && nowMs >= dueMs) {
      this.#firedMs = dueMs;
      if (nowMs - dueMs <= MAX_LATE_MS && this.#ports.time.isTrusted()) this.#tell(dueMs);
    }
    this.#arm();
  }

  #tell(dueMs: number): void {
    const facts = { type: 'time', at: isoTime(dueMs) };
    this.#fire({ trigger: this.#trigger, facts, atMs: this.#ports.clock.monotonic(), holds: () => true });
  }
}

/** Fires again and again, counted from the start of the hub or of the agent. */
export class IntervalWatch implements Watch {
  readonly #ports: WatchPorts;
  readonly #fire: Fire;
  #trigger: IntervalTrigger;
  #cancel: (() => void) | undefined;

  constructor(ports: WatchPorts, trigger: IntervalTrigger, fire: Fire) {
    this.#ports = ports;
    this.#trigger = trigger;
    this.#fire = fire;
  }

  start(): void {
    const { clock } = this.#ports;
    this.#cancel = clock.after(this.#trigger.seconds * 1000, () => {
      this.start();
      const facts = { type: 'every', at: isoTime(clock.now()) };
      this.#fire({ trigger: this.#trigger, facts, atMs: clock.monotonic(), holds: () => true });
    });
  }

  update(trigger: Trigger): void {
    if (trigger.type !== 'every' || trigger.seconds === this.#trigger.seconds) return;
    this.#trigger = trigger;
    this.stop();
    this.start();
  }

  stop(): void {
    this.#cancel?.();
  }
}
