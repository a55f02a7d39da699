import { type Clock, isoTime, type TrustedTime } from '../core/clock.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import { parseDeviceId, parseSensorId } from '../core/devices/device-names.ts';
import { VALUE_ALIASES } from '../core/devices/matter-names.ts';
import type { ReadingStore, ReadingValue } from '../core/devices/sensor-readings.ts';
import type { EventBus, EventListener, EventType, HubEvent } from '../core/events.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { MAX_TIMER_MS, nextLocalTime } from '../core/local-time.ts';
import type {
  DeviceEventTrigger,
  IntervalTrigger,
  ReachabilityTrigger,
  ReadingTrigger,
  TimeTrigger,
  Trigger,
} from './automation-schema.ts';

/** Maximum age of a report in milliseconds. Older reports are ignored, because a device sends missed events again after an interruption. */
const MAX_REPORT_AGE_MS = 60_000;

/** One firing of a trigger. */
export interface Firing {
  readonly trigger: Trigger;
  /** The values that actions may refer to. */
  readonly facts: JsonObject;
  /** Time of the firing, by the monotonic clock. */
  readonly atMs: number;
  /** Returns whether the cause of the firing still holds. Called for a run that had to wait. */
  holds(): boolean;
}

/** The parts of the hub from which triggers and conditions are read. */
export interface WatchPorts {
  readonly clock: Clock;
  readonly index: EventIndex;
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  readonly time: Pick<TrustedTime, 'isTrusted'>;
  /** Default IANA time zone of triggers and conditions. */
  readonly timeZone: string;
}

/** Watches for one trigger of one automation between `start` and `stop`. */
export abstract class Watch<T extends Trigger = Trigger> {
  protected readonly ports: WatchPorts;
  protected trigger: T;
  protected cancel = () => {};
  readonly #onFiring: (firing: Firing) => void;

  constructor(ports: WatchPorts, trigger: T, onFiring: (firing: Firing) => void) {
    this.ports = ports;
    this.trigger = trigger;
    this.#onFiring = onFiring;
  }

  /** When the watch fires next, milliseconds since 1970; undefined if that does not depend on the time alone. */
  get dueMs(): number | undefined {
    return undefined;
  }

  abstract start(): void;

  stop(): void {
    this.cancel();
  }

  /** Replaces the trigger with a trigger of the same type. The watch keeps the last known state and compares the next report with it. */
  update(trigger: Trigger): void {
    this.trigger = trigger as T;
  }

  protected fire(facts: JsonObject = {}, holds: Firing['holds'] = () => true): void {
    const { clock } = this.ports;
    const common = { type: this.trigger.type, at: isoTime(clock.now()) };
    this.#onFiring({ trigger: this.trigger, facts: { ...common, ...facts }, atMs: clock.monotonic(), holds });
  }
}

/** Passes each event to the handlers for its type and subject, with one look-up. Listens to the bus only while there are handlers. */
export class EventIndex {
  readonly #events: EventBus;
  readonly #handlers = new Map<string, Set<EventListener>>();
  #stop: (() => void) | undefined;

  constructor(events: EventBus) {
    this.#events = events;
  }

  stop(): void {
    this.#handlers.clear();
    this.#unlisten();
  }

  /** Calls the handler for each event of a type about a subject. The returned function removes the handler. */
  on(type: EventType, subject: string, handler: EventListener): () => void {
    const key = keyOf(type, subject);
    const handlers = this.#handlers.get(key) ?? new Set();
    this.#handlers.set(key, handlers.add(handler));
    this.#stop ??= this.#events.listen((event) => {
      for (const one of [...(this.#handlers.get(keyOf(event.type, event.subject)) ?? [])]) one(event);
    });
    return () => {
      handlers.delete(handler);
      if (handlers.size === 0) this.#handlers.delete(key);
      if (this.#handlers.size === 0) this.#unlisten();
    };
  }

  #unlisten(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}

function keyOf(type: EventType, subject: string): string {
  return `${type} ${subject}`;
}

/** Fires when a device sends the event. An event that is more than a minute old does not count. */
export class DeviceEventWatch extends Watch<DeviceEventTrigger> {
  override start(): void {
    this.cancel = this.ports.index.on('device.event', this.trigger.device_id, ({ data }) => this.#onEvent(data));
  }

  #onEvent({ event, cluster, data, at_ms: atMs }: JsonObject): void {
    const { trigger } = this;
    if (event !== trigger.event || (trigger.cluster !== undefined && cluster !== trigger.cluster)) return;
    if (typeof atMs === 'number' && this.ports.clock.now() - atMs > MAX_REPORT_AGE_MS) return;
    this.fire({ device_id: trigger.device_id, event, cluster: cluster ?? null, data: data ?? null });
  }
}

/** Fires when a device becomes unreachable or reachable. The first state after the start of the hub is not a change. */
export class ReachabilityWatch extends Watch<ReachabilityTrigger> {
  #state: Json | undefined;

  override start(): void {
    const { index, devices } = this.ports;
    this.#setState(devices.get(parseDeviceId(this.trigger.device_id))?.reachability);
    this.cancel = index.on('device.reachability', this.trigger.device_id, ({ data }) => this.#onReachability(data.reachability));
  }

  #onReachability(reachability: Json | undefined): void {
    const before = this.#state;
    this.#setState(reachability);
    if (before === undefined || before === this.#state || this.#state !== this.trigger.becomes) return;
    this.fire({ device_id: this.trigger.device_id, reachability: this.#state }, () => this.#state === this.trigger.becomes);
  }

  #setState(reachability: Json | undefined): void {
    if (reachability === 'reachable' || reachability === 'unreachable') this.#state = reachability;
  }
}

/** A trigger that is more than this many milliseconds late does not fire: the hub was off or its clock was changed. */
const MAX_LATE_MS = 30_000;
/** If the clock is set back by at most this many milliseconds, a time that has already fired does not fire again. */
const SET_BACK_MS = 3_600_000;

/** Fires at a time of day. A missed time is skipped, and nothing fires while the clock is not trusted. */
export class TimeWatch extends Watch<TimeTrigger> {
  #dueMs: number | undefined;
  #firedMs = 0;
  /** The time that the clock showed when it was last read. */
  #seenMs = 0;

  override get dueMs(): number | undefined {
    return this.#dueMs;
  }

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
    // The next timer is started before `fire`, because `fire` stops this watch if the agent's token has ended.
    this.start();
    if (isDue && nowMs - dueMs <= MAX_LATE_MS && this.ports.time.isTrusted()) this.fire({ at: isoTime(dueMs) });
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

/**
 * Fires when a reading crosses the trigger's limit, and not again while it stays beyond the limit. The first value is only compared with
 * the next. Old and unknown values never fire. An unknown value or an unreachable device cancels a running wait (`for_seconds`).
 */
export class ReadingWatch extends Watch<ReadingTrigger> {
  readonly #sensor = parseSensorId(this.trigger.sensor_id);
  #value: ReadingValue | undefined;
  #unit = '';
  #isThere: boolean | undefined;
  #cancelWait: (() => void) | undefined;

  override start(): void {
    const { index, readings } = this.ports;
    const value = readings.current(this.#sensor)?.value ?? undefined;
    if (value !== undefined) this.#begin(value);
    const [device = ''] = this.#sensor.split('/');
    const unsubscribeReadings = index.on('sensor.reading', this.#sensor, ({ data }) => this.#onReading(data));
    const unsubscribeReachability = index.on('device.reachability', device, ({ data }) => {
      if (data.reachability !== 'reachable') this.#interrupt();
    });
    this.cancel = () => {
      unsubscribeReadings();
      unsubscribeReachability();
      this.#endWait();
    };
  }

  override update(trigger: Trigger): void {
    super.update(trigger);
    this.#interrupt();
  }

  #onReading({ value, unit, at_ms: atMs }: HubEvent['data']): void {
    if (!isReadingValue(value)) {
      this.#interrupt();
      return;
    }
    if (typeof unit === 'string') this.#unit = unit;
    // A value whose age is unknown counts as old.
    const isOld = atMs === null || (typeof atMs === 'number' && this.ports.clock.now() - atMs > MAX_REPORT_AGE_MS);
    if (this.#value === undefined) this.#begin(value);
    else if (!isOld) this.#compareWith(value);
  }

  #begin(value: ReadingValue): void {
    this.#value = value;
    this.#isThere = readingMatches(this.trigger, value);
  }

  #compareWith(value: ReadingValue): void {
    const previous = this.#value;
    const wasThere = this.#isThere;
    this.#value = value;
    this.#isThere = readingMatches(this.trigger, value, wasThere ? this.trigger.hysteresis : 0);
    if (this.trigger.changes) {
      if (previous !== undefined && plain(previous) !== plain(value)) this.#fireWith(previous);
    } else if (!this.#isThere) this.#endWait();
    else if (!wasThere) this.#waitThenFire(previous);
  }

  #waitThenFire(previous: ReadingValue | undefined): void {
    const holdMs = (this.trigger.for_seconds ?? 0) * 1000;
    if (holdMs === 0) {
      this.#fireWith(previous);
      return;
    }
    this.#endWait();
    this.#cancelWait = this.ports.clock.after(holdMs, () => {
      this.#cancelWait = undefined;
      if (this.ports.readings.current(this.#sensor)?.reachability === 'reachable') this.#fireWith(previous);
      else this.#isThere = false;
    });
  }

  #fireWith(previous: ReadingValue | undefined): void {
    const { sensor_id, changes } = this.trigger;
    const facts = { sensor_id, unit: this.#unit, value: this.#value ?? null, previous: previous ?? null };
    this.fire(facts, () => changes === true || this.#isThere === true);
  }

  /** Cancels a running wait. The next known value that meets the trigger starts a new wait. */
  #interrupt(): void {
    if (this.#cancelWait) this.#isThere = false;
    this.#endWait();
  }

  #endWait(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
  }
}

function isReadingValue(value: Json | undefined): value is ReadingValue {
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string';
}

/**
 * Returns whether a value meets the comparison. `slack` (hysteresis) widens the range of `above` or `below`. `true` and `false` equal 1 and
 * 0, because sensors report on and off in both forms. A former name of a value counts as its current name.
 */
export function readingMatches(
  { above, below, equals }: Pick<ReadingTrigger, 'above' | 'below' | 'equals'>,
  value: ReadingValue,
  slack = 0,
): boolean {
  if (equals !== undefined) return plain(value) === plain(equals);
  if (typeof value !== 'number') return false;
  if (above !== undefined) return value > above - slack;
  return below !== undefined && value < below + slack;
}

function plain(value: ReadingValue): number | string {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'string' && Object.hasOwn(VALUE_ALIASES, value) ? (VALUE_ALIASES[value] ?? value) : value;
}
