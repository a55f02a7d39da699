import { isoTime } from '../../core/clock.ts';
import { parseSensorId } from '../../core/devices/device-names.ts';
import type { Reading, ReadingStore, ReadingValue } from '../../core/devices/sensor-readings.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { localTimeAt, minutesOf } from '../../core/local-time.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';
import type { ReadingTrigger, TimeTrigger, Trigger } from '../plan/trigger-schema.ts';
import { nextTimeMoment } from '../triggers/clock-watches.ts';
import { readingMatches } from '../triggers/reading-watch.ts';
import { nextSunMoment } from '../triggers/sun-times.ts';
import type { WatchPorts } from '../triggers/watch.ts';
import type { TraceNote } from './trace.ts';

const DAY_MS = 86_400_000;
/** A moment that lies at most this far in the past is now. */
const NOW_MS = 5_000;
/** How far from the time of a trigger people may ask for it, in minutes. */
const NEAR_MINUTES = 5;

/** The parts of the hub from which the state of a moment is read. */
export interface MomentPorts extends Pick<WatchPorts, 'clock' | 'house' | 'timeZone'> {
  readonly readings: Pick<ReadingStore, 'current' | 'history'>;
}

/** Returns for each trigger why it did not fire at a moment (milliseconds since 1970), by what is known of that moment. */
export function whyNotTriggered({ triggers }: Pick<AutomationPlan, 'triggers'>, atMs: number, ports: MomentPorts): readonly TraceNote[] {
  return triggers.map((trigger) => ({ ...reasonOf(trigger, atMs, ports), trigger: { ...trigger } }));
}

type Reason = Pick<TraceNote, 'cause' | 'facts'>;

function reasonOf(trigger: Trigger, atMs: number, ports: MomentPorts): Reason {
  switch (trigger.type) {
    case 'reading':
      return ofReading(trigger, atMs, ports);
    case 'time':
      return ofTime(trigger, atMs, ports);
    case 'sun': {
      const place = ports.house.place();
      if (!place) return { cause: 'no_place', facts: {} };
      const { event, offset_minutes: offsetMinutes = 0 } = trigger;
      return notDue(nextSunMoment({ event, offsetMinutes }, place, atMs));
    }
    case 'every':
      return { cause: 'not_due', facts: {} };
    default:
      return { cause: 'nothing_came', facts: {} };
  }
}

function notDue(nextMs: number | undefined): Reason {
  return { cause: 'not_due', facts: nextMs === undefined ? {} : { next: isoTime(nextMs) } };
}

function ofTime(trigger: TimeTrigger, atMs: number, ports: MomentPorts): Reason {
  const { at, days, time_zone: timeZone = ports.timeZone } = trigger;
  const { day, minutes } = localTimeAt(atMs, timeZone);
  const isNear = at !== undefined && Math.abs(minutes - minutesOf(at)) <= NEAR_MINUTES;
  if (isNear && days && !days.includes(day)) return { cause: 'wrong_day', facts: { day } };
  return notDue(nextTimeMoment(trigger, ports.timeZone, atMs));
}

function ofReading(trigger: ReadingTrigger, atMs: number, ports: MomentPorts): Reason {
  const reading = ports.readings.current(parseSensorId(trigger.sensor_id));
  if (!reading) return { cause: 'sensor_gone', facts: {} };
  const isNow = ports.clock.now() - atMs <= NOW_MS;
  const facts = { unit: reading.sensor.unit };
  if (isNow && reading.reachability !== 'reachable') return { cause: 'unreachable', facts };
  const value = isNow ? reading.value : valueAt(reading, atMs, ports);
  if (value === null) return { cause: 'reading_unknown', facts };
  return ofValue(trigger, value, facts);
}

function ofValue(trigger: ReadingTrigger, value: ReadingValue, facts: JsonObject): Reason {
  if (trigger.changes) return { cause: 'nothing_came', facts: { ...facts, value } };
  return { cause: readingMatches(trigger, value) ? 'already_there' : 'not_reached', facts: { ...facts, value } };
}

/** Returns the last value that was kept up to a moment; null if there is none of the day before it. */
function valueAt({ sensor }: Reading, atMs: number, { readings }: MomentPorts): ReadingValue | null {
  try {
    const query = { sensor: sensor.id, startMs: atMs - DAY_MS, endMs: atMs, limit: 1 };
    const [raw] = readings.history({ ...query, aggregation: 'none' });
    return raw?.value ?? null;
  } catch (thrown) {
    if (toAtmoError(thrown).code === 'SENSOR_NOT_FOUND') return null;
    throw thrown;
  }
}
