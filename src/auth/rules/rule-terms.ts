import type { Risk } from '../../core/auth/principal.ts';
import type { RuleScalar } from '../../core/auth/rules.ts';
import { WEEKDAYS, type Weekday } from '../../core/clock.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import { canonicalValue } from '../../core/devices/matter-names.ts';
import { AtmoError } from '../../core/errors.ts';
import { type Json, pointerKeys } from '../../core/json.ts';
import { type Comparison, listOf, type RuleConditions } from './rule-file.ts';

/** A comparison with a value that a call sets. */
export interface ValueTerm {
  readonly name: string;
  readonly comparison: Comparison;
}

/** A comparison with a parameter of the call. */
interface ParamTerm {
  readonly pointer: string;
  readonly path: readonly string[];
  readonly comparison: Comparison;
}

/** Parsed conditions of a rule. An absent condition always holds. */
export interface RuleTerms {
  readonly agent?: readonly NamePattern[];
  readonly kind?: readonly ('owner' | 'agent')[];
  readonly tool?: readonly NamePattern[];
  /** Device ids; `*` matches any device. */
  readonly device?: readonly string[];
  readonly deviceType?: readonly string[];
  readonly area?: readonly string[];
  readonly action?: readonly NamePattern[];
  readonly risk?: readonly Risk[];
  readonly times?: WeekTimes;
  readonly value?: readonly ValueTerm[];
  /** All of these comparisons must hold. */
  readonly param?: readonly ParamTerm[];
}

/** Throws an error about a mistake in the rules. `path` has the keys that lead from the checked part of the file to the mistake. */
export type Refuse = (path: readonly (string | number)[], problem: string) => never;

const DEVICE_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const END_OF_DAY = 1440;
const TYPE = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** Parses the conditions of a rule. Calls `refuse` if there is a mistake. */
export function termsOf(when: RuleConditions, refuse: Refuse): RuleTerms {
  const { agent, kind, tool, device, device_type: type, area, action, risk, value, param } = when;
  const times = timesOf(when, refuse);
  return {
    ...(agent && { agent: parsed(agent, 'agent', { parse: agentPattern, refuse, forms: 'helper, helper/* or *' }) }),
    ...(kind && { kind: listOf(kind) }),
    ...(tool && { tool: parsed(tool, 'tool', { parse: toolPattern, refuse, forms: 'core:echo, core:echo@1.0.0, matter:* or *' }) }),
    ...(device && {
      device: parsed(device, 'device', { parse: wordIf((id) => id === '*' || DEVICE_ID.test(id)), refuse, forms: 'front-door or *' }),
    }),
    ...(type && {
      deviceType: parsed(type, 'device_type', { parse: wordIf((one) => TYPE.test(one)), refuse, forms: 'light or dimmable-light' }),
    }),
    ...(area && { area: listOf(area).map(areaKey) }),
    ...(action && { action: parsed(action, 'action', { parse: actionPattern, refuse, forms: 'DoorLock/UnlockDoor, DoorLock/* or *' }) }),
    ...(risk && { risk: listOf(risk) }),
    ...(times && { times }),
    ...(value && { value: valueTerms(value, refuse) }),
    ...(param && { param: paramTerms(param, refuse) }),
  };
}

function parsed<Term>(
  given: string | readonly string[],
  key: string,
  { parse, refuse, forms }: { parse(text: string): Term | undefined; readonly refuse: Refuse; readonly forms: string },
): readonly Term[] {
  return listOf(given).map((text, index) => {
    const problem = `${JSON.stringify(text)} is no ${key.replace('_', ' ')} that a rule can name; write it whole, such as ${forms}`;
    return parse(text) ?? refuse(Array.isArray(given) ? [key, index] : [key], problem);
  });
}

/** Returns a parser that accepts only the texts that pass the test. */
function wordIf(isFit: (text: string) => boolean): (text: string) => string | undefined {
  return (text) => (isFit(text) ? text : undefined);
}

function timesOf({ time, days }: RuleConditions, refuse: Refuse): WeekTimes | undefined {
  if (!time && !days) return undefined;
  const times = new WeekTimes();
  const windows = time ? listOf(time) : [{ from: '00:00', to: '24:00' }];
  for (const [index, window] of windows.entries()) {
    const at = Array.isArray(time) ? ['time', index] : ['time'];
    const [from, to] = [timeOfDay(window.from), timeOfDay(window.to)];
    if (from === undefined || to === undefined || from === END_OF_DAY) {
      return refuse(at, 'a time of day is written as 22:00, from 00:00 to 24:00');
    }
    if (from === to) return refuse(at, 'the time begins when it ends; leave time out for the whole day');
    for (const day of days ? listOf(days) : WEEKDAYS) times.add(day, from, to);
  }
  return times;
}

function valueTerms(given: NonNullable<RuleConditions['value']>, refuse: Refuse): readonly ValueTerm[] {
  return listOf(given).map(({ name, ...comparison }, index) => {
    const problem = contradictionIn(comparison);
    if (problem !== undefined) refuse(Array.isArray(given) ? ['value', index] : ['value'], `the value ${name} ${problem}`);
    return { name, comparison };
  });
}

function paramTerms(given: NonNullable<RuleConditions['param']>, refuse: Refuse): readonly ParamTerm[] {
  return Object.entries(given).map(([pointer, comparison]) => {
    if (!/^(\/([^/~]|~0|~1)*)+$/.test(pointer)) {
      refuse(['param', pointer], `${JSON.stringify(pointer)} is no JSON pointer; a parameter is written as /brightness`);
    }
    const problem = contradictionIn(comparison);
    if (problem !== undefined) refuse(['param', pointer], `the parameter ${pointer} ${problem}`);
    return { pointer, path: pointerKeys(pointer), comparison };
  });
}

/**
 * A pattern for names that consist of segments. `exact` matches the name with exactly these segments. `below` matches names that begin with
 * these segments and have more. `tree` matches both.
 */
export interface NamePattern {
  readonly segments: readonly string[];
  readonly reach: 'exact' | 'below' | 'tree';
}

/** Returns whether the pattern matches the name. */
export function matches({ segments, reach }: NamePattern, name: readonly string[]): boolean {
  if (reach === 'exact' && name.length !== segments.length) return false;
  if (reach === 'below' && name.length <= segments.length) return false;
  return startsWith(name, segments);
}

/** Returns whether `wide` matches every name that `narrow` matches. */
export function isWider(wide: NamePattern, narrow: NamePattern): boolean {
  if (wide.reach === 'exact') return narrow.reach === 'exact' && matches(wide, narrow.segments);
  const shortest = narrow.segments.length + (narrow.reach === 'below' ? 1 : 0);
  const isLongEnough = wide.reach === 'tree' || shortest > wide.segments.length;
  return isLongEnough && startsWith(narrow.segments, wide.segments);
}

/** Parses `research` (an agent and its descendants), `research/*` (only descendants) or `*`. Returns undefined for other text. */
function agentPattern(text: string): NamePattern | undefined {
  const below = withoutStar(text.split('/'));
  const segments = below ?? text.split('/');
  return segments.every((part) => AGENT_SEGMENT.test(part)) ? { segments, reach: below ? 'below' : 'tree' } : undefined;
}

/** Parses the tool patterns `core:echo` (every version), `core:echo@1.0.0`, `matter:*` and `*`. Returns undefined for other text. */
function toolPattern(text: string): NamePattern | undefined {
  if (text === '*') return { segments: [], reach: 'below' };
  const whole = /^([a-z][a-z0-9-]*):(\*|[A-Za-z][A-Za-z0-9_.-]*)(?:@([0-9][A-Za-z0-9.+-]*))?$/.exec(text);
  const [, namespace = '', name = '', version] = whole ?? [];
  if (!whole || (name === '*' && version !== undefined)) return undefined;
  if (name === '*') return { segments: [namespace], reach: 'below' };
  return version === undefined ? { segments: [namespace, name], reach: 'tree' } : { segments: [namespace, name, version], reach: 'exact' };
}

/** Returns the namespace, name and version of a tool's canonical id. */
export function toolSegments(toolId: string): readonly string[] {
  const colon = toolId.indexOf(':');
  const at = toolId.indexOf('@', colon);
  const end = at < 0 ? toolId.length : at;
  return [toolId.slice(0, colon), toolId.slice(colon + 1, end), toolId.slice(end + 1)];
}

/** Parses `DoorLock/UnlockDoor`, `DoorLock/*` or `*`, in any spelling of the Matter names. Returns undefined for other text. */
function actionPattern(text: string): NamePattern | undefined {
  const below = withoutStar(text.split('/'));
  const segments = (below ?? text.split('/')).map(plainName);
  if (segments.length > 2 || (!below && segments.length !== 2) || !segments.every((part) => /^[a-z0-9]+$/.test(part))) return undefined;
  return { segments, reach: below ? 'below' : 'exact' };
}

/** Returns a normal form of a name, equal for `UnlockDoor`, `unlockDoor` and `unlock_door`. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

const AGENT_SEGMENT = /^[A-Za-z0-9_@.+-]+$/;

function withoutStar(parts: readonly string[]): readonly string[] | undefined {
  return parts.at(-1) === '*' ? parts.slice(0, -1) : undefined;
}

function startsWith(name: readonly string[], start: readonly string[]): boolean {
  if (start.length > name.length) return false;
  for (let index = 0; index < start.length; index++) if (start[index] !== name[index]) return false;
  return true;
}

/**
 * Returns whether the value satisfies the comparison. Letter case is ignored in texts, and a former name of a value counts as its current
 * name. A list satisfies the comparison if one of its items does.
 */
export function compares(value: Json, comparison: Comparison): boolean {
  if (Array.isArray(value)) return value.some((item: Json) => compares(item, comparison));
  const { above, below, equals, one_of: oneOf } = comparison;
  if (above !== undefined && !(typeof value === 'number' && value > above)) return false;
  if (below !== undefined && !(typeof value === 'number' && value < below)) return false;
  if (equals !== undefined && !isSame(value, equals)) return false;
  return oneOf === undefined || oneOf.some((one) => isSame(value, one));
}

/** Returns why no value can satisfy the comparison; undefined if some value can. */
function contradictionIn(comparison: Comparison): string | undefined {
  const { above, below, equals, one_of: oneOf } = comparison;
  if ([above, below, equals, oneOf].every((part) => part === undefined)) return 'needs above, below, equals or one_of';
  if (above !== undefined && below !== undefined && above >= below) return `has an empty range: above ${above} and below ${below}`;
  const named = equals === undefined ? oneOf : [equals];
  if (named && !named.some((one) => compares(one, comparison))) return 'names values that its own bounds exclude';
  return undefined;
}

/** Returns whether every value that satisfies `narrow` also satisfies `wide`. */
export function isWiderComparison(wide: Comparison, narrow: Comparison): boolean {
  const named = narrow.equals === undefined ? narrow.one_of : [narrow.equals];
  if (named) return named.filter((one) => compares(one, narrow)).every((one) => compares(one, wide));
  if (wide.equals !== undefined || wide.one_of !== undefined) return false;
  const isBelow = wide.below === undefined || (narrow.below !== undefined && narrow.below <= wide.below);
  return isBelow && (wide.above === undefined || (narrow.above !== undefined && narrow.above >= wide.above));
}

/** Returns the comparison in words, such as `above 25`. */
export function comparisonText({ above, below, equals, one_of: oneOf }: Comparison): string {
  const parts = [
    above === undefined ? '' : `above ${above}`,
    below === undefined ? '' : `below ${below}`,
    equals === undefined ? '' : `equal to ${JSON.stringify(equals)}`,
    oneOf === undefined ? '' : `one of ${oneOf.map((one) => JSON.stringify(one)).join(', ')}`,
  ];
  return parts.filter((part) => part !== '').join(' and ');
}

function isSame(value: Json, wanted: RuleScalar): boolean {
  return typeof value === 'string' && typeof wanted === 'string' ? canonicalValue(value) === canonicalValue(wanted) : value === wanted;
}

const DAY_MINUTES = 1440;
const WEEK_MINUTES = 7 * DAY_MINUTES;
const MINUTE_MS = 60_000;

/** Minutes since Monday 00:00 in local time, 0 to 10,079. */
export type MinuteOfWeek = number;

/** The minutes of the week in which a rule applies, from its days and times. */
class WeekTimes {
  readonly #minutes = new Uint8Array(WEEK_MINUTES);

  /** Adds a time window that begins on `day`. If `to` is not after `from` (both in minutes since midnight), it ends on the next day. */
  add(day: Weekday, from: number, to: number): void {
    const start = WEEKDAYS.indexOf(day) * DAY_MINUTES;
    const end = to > from ? to : to + DAY_MINUTES;
    for (let minute = start + from; minute < start + end; minute++) this.#minutes[minute % WEEK_MINUTES] = 1;
  }

  has(minute: MinuteOfWeek): boolean {
    return this.#minutes[minute] === 1;
  }

  /** Returns whether these times include all times of `other`. If `other` is absent, returns whether they include the whole week. */
  includes(other: WeekTimes | undefined): boolean {
    return this.#minutes.every((isIn, minute) => isIn === 1 || (other !== undefined && !other.has(minute)));
  }
}

/** Converts a time of day such as `22:00` to minutes since midnight. Accepts `24:00` (1,440); returns undefined for other text. */
function timeOfDay(text: string): number | undefined {
  const match = /^(\d{1,2}):([0-5]\d)$/.exec(text);
  const minutes = Number(match?.[1]) * 60 + Number(match?.[2]);
  return match && minutes <= DAY_MINUTES ? minutes : undefined;
}

/** Returns a minute of the week as text for people, such as `fri 22:30`. */
export function shownMinute(minute: MinuteOfWeek): string {
  const ofDay = minute % DAY_MINUTES;
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${WEEKDAYS[Math.floor(minute / DAY_MINUTES)] ?? ''} ${two(Math.floor(ofDay / 60))}:${two(ofDay % 60)}`;
}

/** The local time of an IANA time zone, with daylight saving time. */
export class ZoneClock {
  #zone: string | undefined;
  #format: Intl.DateTimeFormat | undefined;
  #knownMinute = Number.NaN;
  #known: MinuteOfWeek = 0;

  /** Uses the system's time zone if `zone` is absent. Throws RangeError if the zone is unknown. */
  constructor(zone?: string) {
    this.#zone = zone;
    // Without a given zone, the format is created at the first use, because loading the zone tables is slow.
    if (zone !== undefined) this.#format = formatOf(zone);
  }

  get zone(): string {
    this.#zone ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
    return this.#zone;
  }

  at(nowMs: number): MinuteOfWeek {
    // UTC offsets change only at whole minutes of UTC, so one result is right for all times within a minute.
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute !== this.#knownMinute) {
      this.#known = this.#compute(minute * MINUTE_MS);
      this.#knownMinute = minute;
    }
    return this.#known;
  }

  /** Parses an ISO 8601 time with a UTC offset, or `[day ]HH:MM` in this zone. Throws VALIDATION_ERROR if the text has another form. */
  parse(text: string, nowMs: number): MinuteOfWeek {
    const clock = /^(?:(mon|tue|wed|thu|fri|sat|sun)[a-z]*\s+)?(\d{1,2}:\d{2})$/i.exec(text.trim());
    const ofDay = timeOfDay(clock?.[2] ?? '');
    if (clock && ofDay !== undefined && ofDay < DAY_MINUTES) {
      const day = clock[1] ? WEEKDAYS.indexOf(clock[1].toLowerCase() as Weekday) : Math.floor(this.at(nowMs) / DAY_MINUTES);
      return day * DAY_MINUTES + ofDay;
    }
    const isExact = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
    const ms = isExact ? Date.parse(text) : Number.NaN;
    if (!Number.isNaN(ms)) return this.#compute(ms);
    throw new AtmoError(
      'VALIDATION_ERROR',
      `${JSON.stringify(text.slice(0, 40))} is no time; give 22:30, "fri 22:30" or 2026-01-31T22:30:00Z`,
      {
        pointer: '/at',
      },
    );
  }

  #compute(ms: number): MinuteOfWeek {
    this.#format ??= formatOf(this.zone);
    const parts = new Map(this.#format.formatToParts(ms).map(({ type, value }) => [type, value]));
    const day = WEEKDAYS.indexOf((parts.get('weekday') ?? '').toLowerCase() as Weekday);
    return day * DAY_MINUTES + Number(parts.get('hour')) * 60 + Number(parts.get('minute'));
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}
