import { isoTime } from '../core/clock.ts';
import { VALUE_ALIASES } from '../core/devices/matter-names.ts';
import type { ReadingValue } from '../core/devices/sensor-readings.ts';
import type { HubEvent } from '../core/events.ts';
import { parseSensorId, type SensorId } from '../core/ids.ts';
import type { Json } from '../core/json.ts';
import type { ReadingTrigger, Trigger } from './automation-config.ts';
import { type Fire, MAX_REPORT_AGE_MS, type Watch, type WatchPorts } from './trigger-watch.ts';

/**
 * Fires when a reading crosses to the side that the trigger names, not while it stays there. The first value ever only
 * says where it begins. Values that are unknown or old never fire; a wait (`for_seconds`) that they interrupt begins anew.
 */
export class ReadingWatch implements Watch {
  readonly #ports: WatchPorts;
  readonly #fire: Fire;
  readonly #sensor: SensorId;
  #trigger: ReadingTrigger;
  #value: ReadingValue | undefined;
  #unit = '';
  #isThere: boolean | undefined;
  #stops: readonly (() => void)[] = [];
  #endHold: (() => void) | undefined;

  constructor(ports: WatchPorts, trigger: ReadingTrigger, fire: Fire) {
    this.#ports = ports;
    this.#trigger = trigger;
    this.#fire = fire;
    this.#sensor = parseSensorId(trigger.sensor_id);
  }

  start(): void {
    const { index, readings } = this.#ports;
    const value = readings.current(this.#sensor)?.value ?? undefined;
    if (value !== undefined) this.#begin(value);
    const [device = ''] = this.#sensor.split('/');
    this.#stops = [
      index.on('sensor.reading', this.#sensor, ({ data }) => this.#take(data)),
      index.on('device.reachability', device, ({ data }) => data.reachability !== 'reachable' && this.#interrupt()),
    ];
  }

  update(trigger: Trigger): void {
    if (trigger.type !== 'reading') return;
    this.#trigger = trigger;
    this.#interrupt();
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.#cancelHold();
  }

  #take({ value, unit, at_ms: atMs }: HubEvent['data']): void {
    if (!isReadingValue(value)) {
      this.#interrupt();
      return;
    }
    if (typeof unit === 'string') this.#unit = unit;
    // A value of unknown age may be as old as any.
    const isOld = atMs === null || (typeof atMs === 'number' && this.#ports.clock.now() - atMs > MAX_REPORT_AGE_MS);
    if (this.#value === undefined) this.#begin(value);
    else if (!isOld) this.#compareWith(value);
  }

  #begin(value: ReadingValue): void {
    this.#value = value;
    this.#isThere = readingMatches(this.#trigger, value);
  }

  #compareWith(value: ReadingValue): void {
    const previous = this.#value;
    const wasThere = this.#isThere;
    this.#value = value;
    this.#isThere = readingMatches(this.#trigger, value, wasThere ? this.#trigger.hysteresis : 0);
    if (this.#trigger.changes) {
      if (previous !== undefined && !isSameValue(previous, value)) this.#tell(previous);
    } else if (!this.#isThere) this.#cancelHold();
    else if (!wasThere) this.#hold(previous);
  }

  #hold(previous: ReadingValue | undefined): void {
    const holdMs = (this.#trigger.for_seconds ?? 0) * 1000;
    if (holdMs === 0) {
      this.#tell(previous);
      return;
    }
    this.#cancelHold();
    this.#endHold = this.#ports.clock.after(holdMs, () => {
      this.#endHold = undefined;
      if (this.#ports.readings.current(this.#sensor)?.reachability === 'reachable') this.#tell(previous);
      else this.#isThere = false;
    });
  }

  #tell(previous: ReadingValue | undefined): void {
    const { clock } = this.#ports;
    const { sensor_id, changes } = this.#trigger;
    const facts = { type: 'reading', at: isoTime(clock.now()), sensor_id, unit: this.#unit };
    this.#fire({
      trigger: this.#trigger,
      facts: { ...facts, value: this.#value ?? null, previous: previous ?? null },
      atMs: clock.monotonic(),
      holds: () => changes === true || this.#isThere === true,
    });
  }

  /** A wait that had begun starts over with the next value that is there. */
  #interrupt(): void {
    if (this.#endHold) this.#isThere = false;
    this.#cancelHold();
  }

  #cancelHold(): void {
    this.#endHold?.();
    this.#endHold = undefined;
  }
}

function isReadingValue(value: Json | undefined): value is ReadingValue {
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string';
}

interface Comparison {
  readonly above?: number;
  readonly below?: number;
  readonly equals?: number | string | boolean;
}

/**
 * Is the value on the side that is asked for? `slack` is how far it may go back and still count, for a value that was
 * there before. Sensors say on and off as booleans or as 1 and 0: both are the same, and so are a former word of a value and its
 * word of today.
 */
export function readingMatches({ above, below, equals }: Comparison, value: ReadingValue, slack = 0): boolean {
  if (equals !== undefined) return plain(value) === plain(equals);
  if (typeof value !== 'number') return false;
  if (above !== undefined) return value > above - slack;
  return below !== undefined && value < below + slack;
}

/** True for two values that say the same. */
function isSameValue(one: ReadingValue, other: ReadingValue): boolean {
  return plain(one) === plain(other);
}

function plain(value: ReadingValue): number | string {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'string' && Object.hasOwn(VALUE_ALIASES, value) ? (VALUE_ALIASES[value] ?? value) : value;
}
