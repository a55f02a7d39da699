import { parseSensorId } from '../../core/devices/device-names.ts';
import { VALUE_ALIASES } from '../../core/devices/matter-names.ts';
import type { ReadingValue } from '../../core/devices/sensor-readings.ts';
import type { HubEvent } from '../../core/events.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { ReadingTrigger, Trigger } from '../plan/trigger-schema.ts';
import { MAX_REPORT_AGE_MS, Watch } from './watch.ts';

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
  /** When the wait began, by the monotonic clock. */
  #heldSinceMs = 0;

  override start(): void {
    const { index, readings } = this.ports;
    const value = readings.current(this.#sensor)?.value ?? undefined;
    if (value !== undefined) this.#begin(value);
    const [device = ''] = this.#sensor.split('/');
    const unsubscribeReadings = index.on('sensor.reading', this.#sensor, ({ data }) => this.#onReading(data));
    const unsubscribeReachability = index.on('device.reachability', device, ({ data }) => {
      if (data.reachability !== 'reachable') this.#lose('unreachable');
    });
    this.cancel = () => {
      unsubscribeReadings();
      unsubscribeReachability();
      this.#endWait();
    };
  }

  override update(trigger: Trigger): void {
    this.#interrupt('changed');
    super.update(trigger);
  }

  #onReading({ value, unit, at_ms: atMs }: HubEvent['data']): void {
    if (!isReadingValue(value)) {
      this.#lose('unknown');
      return;
    }
    if (typeof unit === 'string') this.#unit = unit;
    // A value whose age is unknown counts as old.
    const isOld = atMs === null || (typeof atMs === 'number' && this.ports.clock.now() - atMs > MAX_REPORT_AGE_MS);
    if (this.#value === undefined) this.#beginWith(value);
    else if (!isOld) this.#compareWith(value);
    else if (!this.#isThere && readingMatches(this.trigger, value)) this.#missOld(value, atMs);
  }

  #beginWith(value: ReadingValue): void {
    this.#begin(value);
    if (this.#isThere) this.miss('first_value', this.#shown(value));
  }

  #missOld(value: ReadingValue, atMs: Json | undefined): void {
    const age = typeof atMs === 'number' ? { age_seconds: Math.round((this.ports.clock.now() - atMs) / 1000) } : {};
    this.miss('reading_too_old', { ...this.#shown(value), ...age });
  }

  #shown(value: ReadingValue): JsonObject {
    return { value, unit: this.#unit };
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
    } else if (!this.#isThere) this.#leave(value);
    else if (!wasThere) this.#waitThenFire(previous);
    else if (previous !== undefined && this.#isBackWithin(previous, value)) this.miss('hysteresis', this.#shown(value));
  }

  /** Returns whether a value crosses the limit again that had not gone back by the hysteresis. */
  #isBackWithin(previous: ReadingValue, value: ReadingValue): boolean {
    return !this.#cancelWait && !readingMatches(this.trigger, previous) && readingMatches(this.trigger, value);
  }

  /** The value is no longer beyond the limit. */
  #leave(value: ReadingValue): void {
    if (this.#cancelWait) this.miss('for_seconds_interrupted', { ...this.#shown(value), ...this.#held() });
    this.#endWait();
  }

  #held(): JsonObject {
    return { held_seconds: Math.round((this.ports.clock.monotonic() - this.#heldSinceMs) / 1000) };
  }

  #waitThenFire(previous: ReadingValue | undefined): void {
    const holdMs = (this.trigger.for_seconds ?? 0) * 1000;
    if (holdMs === 0) {
      this.#fireWith(previous);
      return;
    }
    this.#endWait();
    this.#heldSinceMs = this.ports.clock.monotonic();
    this.#cancelWait = this.ports.clock.after(holdMs, () => {
      if (this.ports.readings.current(this.#sensor)?.reachability !== 'reachable') {
        this.#interrupt('unreachable');
        return;
      }
      this.#cancelWait = undefined;
      this.#fireWith(previous);
    });
  }

  #fireWith(previous: ReadingValue | undefined): void {
    const { sensor_id, changes } = this.trigger;
    const facts = { sensor_id, unit: this.#unit, value: this.#value ?? null, previous: previous ?? null };
    this.fire(facts, () => changes === true || this.#isThere === true);
  }

  /** The value is not known any more. */
  #lose(because: 'unknown' | 'unreachable'): void {
    if (this.#cancelWait) this.#interrupt(because);
    else this.miss(because === 'unknown' ? 'reading_unknown' : 'unreachable');
  }

  /** Cancels a running wait. The next known value that meets the trigger starts a new wait. */
  #interrupt(because: 'unknown' | 'unreachable' | 'changed'): void {
    if (!this.#cancelWait) return;
    this.#isThere = false;
    this.miss('for_seconds_interrupted', { because, ...this.#held() });
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
