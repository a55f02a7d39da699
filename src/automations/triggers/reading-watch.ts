import { parseSensorId } from '../../core/devices/device-names.ts';
import { VALUE_ALIASES } from '../../core/devices/matter-names.ts';
import type { ReadingValue } from '../../core/devices/sensor-readings.ts';
import type { HubEvent } from '../../core/events.ts';
import type { Json } from '../../core/json.ts';
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
