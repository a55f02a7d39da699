import { amount, readableValue, readableWords } from '../../core/devices/matter-names.ts';
import { type Json, type JsonObject, objectOf } from '../../core/json.ts';
import { timeOfDay } from '../../core/local-time.ts';
import type { SimpleCondition } from '../plan/condition-schema.ts';
import { dayText, durationText, factTime, type WordPorts } from './time-words.ts';

/** An unmet condition of a trace. */
interface Unmet {
  readonly condition: JsonObject;
  readonly seen: JsonObject;
  readonly isNegated: boolean;
  readonly isUnknown: boolean;
}

const REASONS: Readonly<Record<SimpleCondition['type'], (unmet: Unmet, ports: WordPorts) => string>> = {
  reading: readingReason,
  time: timeReason,
  sun: sunReason,
  flag: flagReason,
  reachability: reachabilityReason,
  presence: presenceReason,
  expression: expressionReason,
};

/**
 * Returns why a condition did not hold, such as `Kitchen sensor showed 61 lx and it needs less than 50 lx`. The cast is safe because traces
 * hold conditions as plans have them.
 */
export function conditionReason({ condition: about, seen, isNegated, isUnknown }: JsonObject, ports: WordPorts): string {
  const condition = objectOf(about);
  const reason = REASONS[condition.type as SimpleCondition['type']];
  return reason({ condition, seen: objectOf(seen), isNegated: isNegated === true, isUnknown: isUnknown === true }, ports);
}

function needs({ isNegated }: Unmet): string {
  return isNegated ? 'must not be' : 'needs';
}

function readingReason(unmet: Unmet): string {
  const { condition, seen } = unmet;
  const { value = null, unit, problem, age_seconds: age } = seen;
  const name = String(condition.sensor_name ?? condition.sensor_id);
  if (problem === 'gone') return `${name} is gone`;
  if (problem === 'no_value') return `${name} had no value`;
  if (problem === 'unreachable') return `${name} was not known, because its device did not answer`;
  if (problem === 'too_old') return `${name} was last known ${durationText(age)} before, which is too old`;
  return `${name} showed ${amount(value, unit)} and it ${needs(unmet)} ${limitText(condition, unit)}`;
}

/** Returns what a comparison needs, such as `less than 50 lx`. */
export function limitText({ above, below, equals }: JsonObject, unit: Json | undefined): string {
  if (above !== undefined) return `more than ${amount(above, unit)}`;
  return below === undefined ? amount(equals ?? null, unit) : `less than ${amount(below, unit)}`;
}

function timeReason({ condition: { after, before, days }, seen: { day, minutes }, isNegated }: Unmet): string {
  const at = typeof minutes === 'number' ? timeOfDay(minutes) : '';
  const window = windowText(after, before);
  const onDays = Array.isArray(days) ? `on ${days.map(dayText).join(', ')}` : '';
  return `it was ${dayText(day)}, ${at} and it ${isNegated ? 'must not run' : 'runs only'} ${[window, onDays].filter((text) => text !== '').join(' ')}`;
}

function windowText(after: Json | undefined, before: Json | undefined): string {
  const from = after === undefined || after === null ? '' : `from ${after}`;
  const to = before === undefined || before === null ? '' : `to ${before}`;
  return [from, to].filter((text) => text !== '').join(' ');
}

function sunReason({ condition: { after, before }, seen: { from, to, problem }, isNegated }: Unmet, ports: WordPorts): string {
  if (problem === 'no_place') return 'the hub does not know where the house is, so the sun is not known';
  if (problem === 'no_event') return 'the sun neither rises nor sets on this day';
  const fromText = after === undefined ? undefined : `${after} (${factTime(from, ports)})`;
  const toText = before === undefined ? undefined : `${before} (${factTime(to, ports)})`;
  return `it ${isNegated ? 'must not run' : 'runs only'} ${windowText(fromText, toText)}`;
}

function flagReason(unmet: Unmet): string {
  const { condition, seen } = unmet;
  const needed = readableValue(condition.is ?? true);
  return `the flag ${readableWords(String(condition.flag))} was ${readableValue(seen.value ?? false)} and it ${needs(unmet)} ${needed}`;
}

function reachabilityReason({ condition: { device_name: name, device_id: id, is }, seen: { value }, isNegated }: Unmet): string {
  const device = String(name ?? id);
  if (value !== 'reachable' && value !== 'unreachable') return `it is not known whether ${device} answers`;
  const needed = isNegated ? is === 'unreachable' : is === 'reachable';
  return `${device} ${value === 'reachable' ? 'answered' : 'did not answer'} and it needs one that ${needed ? 'answers' : 'does not'}`;
}

function presenceReason({ condition: { person, is }, seen: { value, home }, isNegated }: Unmet): string {
  const needed = `${isNegated ? 'not ' : ''}${is}`;
  if (person !== undefined) {
    return value === null ? `it is not known where ${person} is` : `${person} was ${value} and it needs ${person} ${needed}`;
  }
  const there = Array.isArray(home) ? home : [];
  const state = there.length === 0 ? 'nobody was known to be home' : `${there.join(', ')} ${there.length === 1 ? 'was' : 'were'} home`;
  const wanted = (is === 'home') !== isNegated ? 'somebody home' : 'everybody away';
  return `${state} and it needs ${wanted}`;
}

function expressionReason({ condition: { expr }, seen: { readings, flags }, isUnknown }: Unmet): string {
  const used = [...Object.entries(objectOf(readings)), ...Object.entries(objectOf(flags))];
  const values = used.map(([name, value]) => `${name} was ${value === null ? 'not known' : readableValue(value ?? null)}`);
  const where = values.length === 0 ? '' : ` (${values.join(', ')})`;
  return `${isUnknown ? 'it is not known whether' : 'it was not so that'} ${expr}${where}`;
}
