import { isoTime } from '../../core/clock.ts';
import { parseDeviceId, parseSensorId } from '../../core/devices/device-names.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { localTimeAt } from '../../core/local-time.ts';
import { copyJsonObject } from '../../tools/schema/plain-json.ts';
import { type Condition, isComposite, type ReadingCondition, type SimpleCondition } from '../plan/condition-schema.ts';
import { Expression } from '../plan/expression.ts';
import { type ConditionPorts, judge, type RunValues, sunWindow, type Verdict } from './condition-check.ts';

/** Most conditions that one trace names. */
const MOST_NAMED = 4;

/** A condition that kept a run from starting, with what it looked at. */
interface UnmetCondition {
  readonly condition: SimpleCondition;
  /** True if it held and stands in a `not`. */
  readonly isNegated: boolean;
  /** True if it is not known whether it holds. */
  readonly isUnknown: boolean;
  /** What it saw at that moment. */
  readonly seen: JsonObject;
}

/** What a condition has to be for a run; within a `not` the opposite of what the `not` has to be. */
type Wanted = 'true' | 'false';

/** The conditions of a moment: what they are about, and what they are judged by. */
interface Moment {
  readonly values: RunValues;
  readonly ports: ConditionPorts;
}

/** Returns the conditions because of which a list of conditions does not hold now, each as a trace keeps it; none if it holds. */
export function unmetConditions(conditions: readonly Condition[], values: RunValues, ports: ConditionPorts): readonly JsonObject[] {
  const unmet = unmetOf(conditions, 'true', { values, ports }).slice(0, MOST_NAMED);
  return unmet.map((one) => copyJsonObject(one));
}

/** Of conditions that all have to be as wanted, the first that is not keeps the rest from counting. One that is unknown counts if all others are. */
function unmetOf(conditions: readonly Condition[], wanted: Wanted, moment: Moment): readonly UnmetCondition[] {
  const judged = conditions.map((condition) => ({ condition, verdict: isAsWanted(condition, wanted, moment) }));
  const unmet = judged.find(({ verdict }) => verdict === false) ?? judged.find(({ verdict }) => verdict === undefined);
  return unmet ? within(unmet.condition, wanted, moment) : [];
}

/** Of conditions of which one would do, each that is not as wanted counts. */
function eachUnmet(conditions: readonly Condition[], wanted: Wanted, moment: Moment): readonly UnmetCondition[] {
  return conditions.flatMap((condition) => (isAsWanted(condition, wanted, moment) === true ? [] : within(condition, wanted, moment)));
}

function isAsWanted(condition: Condition, wanted: Wanted, { values, ports }: Moment): Verdict {
  const verdict = judge(condition, values, ports);
  return verdict === undefined || wanted === 'true' ? verdict : !verdict;
}

/** A `not` around conditions holds if none of them holds; negated, an `and` is an `or` of the opposites (De Morgan). */
function within(condition: Condition, wanted: Wanted, moment: Moment): readonly UnmetCondition[] {
  if (!isComposite(condition)) return [leaf(condition, wanted, moment)];
  const { type, conditions } = condition;
  if (type === 'not') return wanted === 'true' ? unmetOf(conditions, 'false', moment) : eachUnmet(conditions, 'true', moment);
  const needsAll = (type === 'and') === (wanted === 'true');
  return needsAll ? unmetOf(conditions, wanted, moment) : eachUnmet(conditions, wanted, moment);
}

function leaf(condition: SimpleCondition, wanted: Wanted, { values, ports }: Moment): UnmetCondition {
  const isUnknown = judge(condition, values, ports) === undefined;
  return { condition, isNegated: wanted === 'false', isUnknown, seen: seenBy(condition, ports) };
}

/** Returns the value of each thing that a condition looks at. */
function seenBy(condition: SimpleCondition, ports: ConditionPorts): JsonObject {
  const { clock, devices, house, timeZone } = ports;
  switch (condition.type) {
    case 'reading':
      return seenReading(condition.sensor_id, condition.max_age_seconds, ports);
    case 'time': {
      const { day, minutes } = localTimeAt(clock.now(), condition.time_zone ?? timeZone);
      return { day, minutes };
    }
    case 'sun': {
      const window = sunWindow(condition, ports);
      return window ? { from: isoOrNull(window.from), to: isoOrNull(window.to) } : { problem: house.place() ? 'no_event' : 'no_place' };
    }
    case 'flag':
      return { value: house.flag(condition.flag) ?? null };
    case 'reachability':
      return { value: devices.get(parseDeviceId(condition.device_id))?.reachability ?? null };
    case 'presence':
      return seenPresence(condition.person, ports);
    case 'expression':
      return seenByExpression(condition.expr, ports);
  }
}

function isoOrNull(atMs: number): string | null {
  return Number.isFinite(atMs) ? isoTime(atMs) : null;
}

function seenReading(
  sensorId: string,
  maxAgeSeconds: ReadingCondition['max_age_seconds'],
  { readings, clock }: ConditionPorts,
): JsonObject {
  const reading = readings.current(parseSensorId(sensorId));
  if (!reading) return { value: null, problem: 'gone' };
  const { value, reachability, sensor, atMs } = reading;
  const seen = { value, unit: sensor.unit };
  if (value === null) return { ...seen, problem: 'no_value' };
  if (reachability !== 'reachable') return { ...seen, problem: 'unreachable' };
  const ageSeconds = Math.round((clock.now() - atMs) / 1000);
  return maxAgeSeconds !== undefined && clock.now() - atMs > maxAgeSeconds * 1000
    ? { ...seen, problem: 'too_old', age_seconds: ageSeconds }
    : seen;
}

function seenPresence(person: string | undefined, { house }: ConditionPorts): JsonObject {
  if (person !== undefined) return { value: house.presenceOf(person) ?? null };
  return { home: house.persons().filter((one) => house.presenceOf(one) === 'home') };
}

function seenByExpression(text: string, { readings, house }: ConditionPorts): JsonObject {
  const { uses } = Expression.parse(text);
  const shown = [...uses.readings].map((id): [string, Json] => {
    const { value = null, reachability } = readings.current(parseSensorId(id)) ?? {};
    return [id, reachability === 'reachable' ? value : null];
  });
  const flags = [...uses.flags].map((name): [string, Json] => [name, house.flag(name) ?? false]);
  return { readings: Object.fromEntries(shown), flags: Object.fromEntries(flags) };
}
