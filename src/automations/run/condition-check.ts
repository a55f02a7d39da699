import { parseDeviceId, parseSensorId } from '../../core/devices/device-names.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { localTimeAt, minutesOf } from '../../core/local-time.ts';
import {
  type CompositeCondition,
  type Condition,
  type FlagCondition,
  isComposite,
  type PresenceCondition,
  type ReachabilityCondition,
  type ReadingCondition,
  type SimpleCondition,
  type SunCondition,
  type TimeCondition,
} from '../plan/condition-schema.ts';
import { Expression, type ExpressionValues } from '../plan/expression.ts';
import { readingMatches } from '../triggers/reading-watch.ts';
import { sunMomentOfDay } from '../triggers/sun-times.ts';
import type { WatchPorts } from '../triggers/watch.ts';

/** The parts of the hub from which conditions are read. */
export type ConditionPorts = Pick<WatchPorts, 'clock' | 'readings' | 'devices' | 'house' | 'timeZone'>;

/** Values of the run for expressions. */
export type RunValues = Pick<ExpressionValues, 'params' | 'trigger' | 'answers'>;

/** Whether a condition holds; undefined if that is not known, for example because a device does not answer. */
export type Verdict = boolean | undefined;

/** Returns whether all conditions hold now. Nothing holds that is not known, and its opposite does not either. */
export function conditionsHold(conditions: readonly Condition[], values: RunValues, ports: ConditionPorts): boolean {
  return judgeAll(conditions, values, ports) === true;
}

/** Returns whether a condition holds now. */
export function judge(condition: Condition, values: RunValues, ports: ConditionPorts): Verdict {
  return isComposite(condition) ? judgeComposite(condition, values, ports) : judgeSimple(condition, values, ports);
}

/** All hold if none fails and none is unknown. */
function judgeAll(conditions: readonly Condition[], values: RunValues, ports: ConditionPorts): Verdict {
  const verdicts = conditions.map((condition) => judge(condition, values, ports));
  return verdicts.includes(false) ? false : verdicts.includes(undefined) ? undefined : true;
}

function judgeComposite({ type, conditions }: CompositeCondition, values: RunValues, ports: ConditionPorts): Verdict {
  if (type === 'and') return judgeAll(conditions, values, ports);
  const verdicts = conditions.map((condition) => judge(condition, values, ports));
  const isAny = verdicts.includes(true) ? true : verdicts.includes(undefined) ? undefined : false;
  return type === 'or' || isAny === undefined ? isAny : !isAny;
}

function judgeSimple(condition: SimpleCondition, values: RunValues, ports: ConditionPorts): Verdict {
  switch (condition.type) {
    case 'reading':
      return judgeReading(condition, ports);
    case 'time':
      return judgeTime(condition, ports);
    case 'sun':
      return judgeSun(condition, ports);
    case 'flag':
      return judgeFlag(condition, ports);
    case 'reachability':
      return judgeReachability(condition, ports);
    case 'presence':
      return judgePresence(condition, ports);
    case 'expression':
      return judgeExpression(condition.expr, values, ports);
  }
}

/** A reading is unknown if it has no value, is too old, or its device does not answer. */
function judgeReading(condition: ReadingCondition, { clock, readings }: ConditionPorts): Verdict {
  const reading = readings.current(parseSensorId(condition.sensor_id));
  if (!reading || reading.value === null || reading.reachability !== 'reachable') return undefined;
  const maxAgeMs = (condition.max_age_seconds ?? Infinity) * 1000;
  return clock.now() - reading.atMs <= maxAgeMs ? readingMatches(condition, reading.value) : undefined;
}

function judgeTime(condition: TimeCondition, { clock, timeZone }: ConditionPorts): boolean {
  const { day, minutes } = localTimeAt(clock.now(), condition.time_zone ?? timeZone);
  if (condition.days && !condition.days.includes(day)) return false;
  const from = minutesOf(condition.after ?? '00:00');
  const to = condition.before === undefined ? 24 * 60 : minutesOf(condition.before);
  return isWithin(minutes, from, to);
}

/** Unknown where the place of the hub is not known, and on a day without the event. */
function judgeSun(condition: SunCondition, ports: ConditionPorts): Verdict {
  const window = sunWindow(condition, ports);
  return window && isWithin(ports.clock.now(), window.from, window.to);
}

/**
 * Returns the window of today, in milliseconds since 1970 (infinite where it has no bound); undefined where the place of the hub is not known,
 * and on a day without the event.
 */
export function sunWindow(condition: SunCondition, ports: ConditionPorts): { readonly from: number; readonly to: number } | undefined {
  const { clock, house, timeZone } = ports;
  const place = house.place();
  if (!place) return undefined;
  const nowMs = clock.now();
  const momentOf = (event: SunCondition['after'], offsetMinutes = 0, absent: number) =>
    event === undefined ? absent : sunMomentOfDay({ event, offsetMinutes }, { place, timeZone }, nowMs);
  const from = momentOf(condition.after, condition.after_offset_minutes, -Infinity);
  const to = momentOf(condition.before, condition.before_offset_minutes, Infinity);
  return from === undefined || to === undefined ? undefined : { from, to };
}

/** Returns whether a moment of a day is within a window, which spans midnight if it ends before it begins. */
function isWithin(at: number, from: number, to: number): boolean {
  return from < to ? at >= from && at < to : at >= from || at < to;
}

/** A flag that is not set is false. */
function judgeFlag({ flag, is = true }: FlagCondition, { house }: ConditionPorts): boolean {
  return (house.flag(flag) ?? false) === is;
}

function judgeReachability({ device_id: id, is }: ReachabilityCondition, { devices }: ConditionPorts): Verdict {
  const reachability = devices.get(parseDeviceId(id))?.reachability;
  return reachability === 'reachable' || reachability === 'unreachable' ? reachability === is : undefined;
}

/** Unknown if nobody said where the person is. Somebody is home, or everybody is away, as far as anything is known. */
function judgePresence({ person, is }: PresenceCondition, { house }: ConditionPorts): Verdict {
  if (person !== undefined) {
    const presence = house.presenceOf(person);
    return presence === undefined ? undefined : presence === is;
  }
  const all = house.persons().map((one) => house.presenceOf(one));
  return all.length === 0 ? undefined : all.includes('home') === (is === 'home');
}

/** Unknown if a value that the expression needs is not known, or its value is neither true nor false. */
function judgeExpression(text: string, values: RunValues, ports: ConditionPorts): Verdict {
  try {
    const value = evaluate(text, values, ports);
    return typeof value === 'boolean' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the value of an expression. Throws VALIDATION_ERROR if a value that it needs is not known. */
export function evaluate(text: string, values: RunValues, { clock, readings, house }: ConditionPorts): Json {
  const expression = Expression.parse(text);
  const flags = Object.fromEntries([...expression.uses.flags].map((name): [string, Json] => [name, house.flag(name) ?? false]));
  return expression.evaluate({ ...values, flags, readings: knownReadings(expression, readings), nowMs: clock.now() });
}

function knownReadings({ uses }: Expression, readings: ConditionPorts['readings']): JsonObject {
  const known = [...uses.readings].flatMap((id): [string, Json][] => {
    const reading = readings.current(parseSensorId(id));
    return !reading || reading.value === null || reading.reachability !== 'reachable' ? [] : [[id, reading.value]];
  });
  return Object.fromEntries(known);
}
