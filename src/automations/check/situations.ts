import { type Clock, WEEKDAYS, type Weekday } from '../../core/clock.ts';
import { localTimeAt } from '../../core/local-time.ts';
import { type Condition, simpleConditions, type TimeCondition } from '../plan/condition-schema.ts';
import { commonRange, exactly, isNoValue, otherValues, rangeOf, type ValueRange } from './value-range.ts';
import {
  ALWAYS,
  DAY_MINUTES,
  intersection,
  isEmpty,
  later,
  NEVER,
  otherTimes,
  union,
  WEEK_MINUTES,
  type WeekTimes,
  windowTimes,
} from './week-times.ts';

/** A set of moments: times of the week, and the values that hold then. The key of a fact is its kind and id, such as `reading hall/temperature`. */
export interface Situation {
  readonly times: WeekTimes;
  readonly facts: ReadonlyMap<string, ValueRange>;
}

/** Several situations of which any may hold. Without one, nothing can hold. */
export type Situations = readonly Situation[];

export const ANYTIME: Situation = { times: ALWAYS, facts: new Map() };
/** Nothing is known about what holds. */
export const ALWAYS_POSSIBLE: Situations = [ANYTIME];
/** Maximum number of alternatives whose opposite is computed. */
const MAX_NEGATED = 8;
/** Maximum number of alternatives. Beyond it, conditions count as if they may always hold. */
const MAX_SITUATIONS = 64;

/** What conditions need of the hub: its time zone, and the difference of others to it now. */
export interface ZonePorts {
  readonly clock: Clock;
  /** IANA time zone of the hub. */
  readonly timeZone: string;
}

export function isPossible({ times, facts }: Situation): boolean {
  return !isEmpty(times) && !facts.values().some(isNoValue);
}

/** Returns the situation in which both hold. It may be impossible. */
export function both(a: Situation, b: Situation): Situation {
  if (b === ANYTIME) return a;
  if (a === ANYTIME) return b;
  const facts = new Map(a.facts);
  for (const [key, range] of b.facts) facts.set(key, commonRange(facts.get(key) ?? range, range));
  return { times: intersection(a.times, b.times), facts };
}

/** Returns whether both may hold at the same moment. */
export function areCompatible(a: Situation, b: Situation): boolean {
  for (const [key, range] of a.facts) {
    const other = b.facts.get(key);
    if (other && isNoValue(commonRange(range, other))) return false;
  }
  return true;
}

/** Returns the situations in which all conditions hold, also those that are impossible. */
export function situationsOf(conditions: readonly Condition[], ports: ZonePorts): Situations {
  return allOf(conditions.map((condition) => ofCondition(condition, ports)));
}

function allOf(parts: readonly Situations[]): Situations {
  return parts.reduce<Situations>(
    (left, right) => {
      const combined = left.flatMap((one) => right.map((other) => both(one, other)));
      if (combined.length <= MAX_SITUATIONS) return combined;
      const possible = combined.filter(isPossible);
      return possible.length <= MAX_SITUATIONS ? possible : left;
    },
    [ANYTIME],
  );
}

/** Returns the situations in which both of two sets hold. */
export function bothOf(a: Situations, b: Situations): Situations {
  if (b === ALWAYS_POSSIBLE) return a;
  return a === ALWAYS_POSSIBLE ? b : allOf([a, b]).filter(isPossible);
}

/**
 * Returns the situations some time later, within which values may change and only the time of the week is known. What is not known about a value
 * is left out.
 */
export function situationsLater(situations: Situations, { least, most }: { readonly least: number; readonly most: number }): Situations {
  if (situations === ALWAYS_POSSIBLE || most === 0) return situations;
  const times = situations.reduce((sum, one) => union(sum, later(one.times, { least, most })), NEVER);
  return times === ALWAYS ? ALWAYS_POSSIBLE : [{ times, facts: new Map() }];
}

/** Returns the situations in which not all of the conditions hold. If one cannot be judged, that may always be. */
export function situationsWithout(conditions: readonly Condition[], ports: ZonePorts): Situations {
  if (!areJudged(conditions)) return ALWAYS_POSSIBLE;
  const situations = situationsOf(conditions, ports);
  return situations.length > MAX_NEGATED ? ALWAYS_POSSIBLE : situations.map(without).reduce(bothOf, ALWAYS_POSSIBLE);
}

function without({ times, facts }: Situation): Situations {
  const outside: Situation = { times: otherTimes(times), facts: new Map() };
  const values = [...facts].map(([key, range]) => factSituation(key, otherValues(range)));
  return [outside, ...values].filter(isPossible);
}

/** Returns whether the check knows exactly when conditions hold. It does not compute expressions and the sun. */
export function areJudged(conditions: readonly Condition[]): boolean {
  return simpleConditions(conditions).every(({ type }) => type !== 'expression' && type !== 'sun');
}

/** Returns the situations of one condition. One that the check cannot judge, such as an expression, may always hold. */
function ofCondition(condition: Condition, ports: ZonePorts): Situations {
  switch (condition.type) {
    case 'reading':
      return [factSituation(`reading ${condition.sensor_id}`, rangeOf(condition))];
    case 'time':
      return [{ times: timesOf(condition, ports), facts: new Map() }];
    case 'and':
      return situationsOf(condition.conditions, ports);
    case 'or':
      return anyOf(condition.conditions.map((one) => ofCondition(one, ports)));
    case 'not':
      return condition.conditions.map((one) => situationsWithout([one], ports)).reduce(bothOf, ALWAYS_POSSIBLE);
    case 'flag':
      return [factSituation(`flag ${condition.flag}`, exactly(condition.is ?? true))];
    case 'reachability':
      return [factSituation(`reachability ${condition.device_id}`, exactly(condition.is))];
    case 'presence':
      return [factSituation(`presence ${condition.person ?? ''}`, exactly(condition.is))];
    default:
      return [ANYTIME];
  }
}

function anyOf(parts: readonly Situations[]): Situations {
  const all = parts.flat();
  return all.length <= MAX_SITUATIONS ? all : [ANYTIME];
}

export function factSituation(key: string, range: ValueRange): Situation {
  return { times: ALWAYS, facts: new Map([[key, range]]) };
}

function timesOf({ after, before, days, time_zone: zone }: TimeCondition, ports: ZonePorts): WeekTimes {
  return inHubZone(windowTimes(after, before, days), zone, ports);
}

/** Moves times of another time zone to that of the hub, by their difference of now. */
export function inHubZone(times: WeekTimes, zone: string | undefined, { clock, timeZone }: ZonePorts): WeekTimes {
  if (zone === undefined || zone === timeZone) return times;
  const [here, there] = [timeZone, zone].map((one) => minuteOfWeek(clock.now(), one));
  const difference = ((here ?? 0) - (there ?? 0) + WEEK_MINUTES) % WEEK_MINUTES;
  return later(times, { least: difference, most: difference });
}

/** Returns the minutes since Monday 00:00 of a time zone. */
export function minuteOfWeek(atMs: number, timeZone: string): number {
  const { day, minutes } = localTimeAt(atMs, timeZone);
  return WEEKDAYS.indexOf(day satisfies Weekday) * DAY_MINUTES + minutes;
}
