import type { Risk } from '../../core/access/authorizer.ts';
import { areaKey } from '../../core/devices/device-facts.ts';
import { pointerKeys } from '../../core/json-pointer.ts';
import { WEEKDAYS } from '../../core/time/weekday.ts';
import { emptiness } from './rule-comparison.ts';
import { type Comparison, listOf, type RuleConditions } from './rule-file.ts';
import { actionPattern, agentPattern, type NamePattern, toolPattern } from './rule-pattern.ts';
import { timeOfDay, WeekTimes } from './rule-time.ts';

/** A value that a call sets, compared. */
export interface ValueTerm {
  readonly name: string;
  readonly comparison: Comparison;
}

/** A parameter of the call, compared. */
export interface ParamTerm {
  readonly pointer: string;
  readonly path: readonly string[];
  readonly comparison: Comparison;
}

/** Conditions of a rule, understood; what is absent holds for everything. */
export interface RuleTerms {
  readonly agent?: readonly NamePattern[];
  readonly kind?: readonly ('owner' | 'agent')[];
  readonly tool?: readonly NamePattern[];
  /** Ids; `*` is any device. */
  readonly device?: readonly string[];
  readonly deviceType?: readonly string[];
  readonly area?: readonly string[];
  readonly action?: readonly NamePattern[];
  readonly risk?: readonly Risk[];
  readonly times?: WeekTimes;
  readonly value?: readonly ValueTerm[];
  /** All have to hold. */
  readonly param?: readonly ParamTerm[];
}

/** Refuses a rule: where in its conditions, and why. */
export type Refuse = (path: readonly (string | number)[], problem: string) => never;

const DEVICE_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const END_OF_DAY = 1440;
const TYPE = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** What the conditions of the file mean; `refuse` is told what has no meaning. */
export function termsOf(when: RuleConditions, refuse: Refuse): RuleTerms {
  const { agent, kind, tool, device, device_type: type, area, action, risk, value, param } = when;
  const times = timesOf(when, refuse);
  return {
    ...(agent && { agent: patterns(agent, 'agent', { parse: agentPattern, refuse, forms: 'helper, helper/* or *' }) }),
    ...(kind && { kind: listOf(kind) }),
    ...(tool && { tool: patterns(tool, 'tool', { parse: toolPattern, refuse, forms: 'core:echo, core:echo@1.0.0, matter:* or *' }) }),
    ...(device && {
      device: words(device, 'device', { refuse, isFit: (id) => id === '*' || DEVICE_ID.test(id), forms: 'front-door or *' }),
    }),
    ...(type && { deviceType: words(type, 'device_type', { refuse, isFit: (one) => TYPE.test(one), forms: 'light or dimmable-light' }) }),
    ...(area && { area: listOf(area).map(areaKey) }),
    ...(action && { action: patterns(action, 'action', { parse: actionPattern, refuse, forms: 'DoorLock/UnlockDoor, DoorLock/* or *' }) }),
    ...(risk && { risk: listOf(risk) }),
    ...(times && { times }),
    ...(value && { value: valueTerms(value, refuse) }),
    ...(param && { param: paramTerms(param, refuse) }),
  };
}

function patterns(
  given: string | readonly string[],
  key: string,
  form: { parse(text: string): NamePattern | undefined; readonly refuse: Refuse; readonly forms: string },
): readonly NamePattern[] {
  return listOf(given).map((text, index) => form.parse(text) ?? notOfForm(key, { given, text, index }, form));
}

function words(
  given: string | readonly string[],
  key: string,
  form: { isFit(text: string): boolean; readonly refuse: Refuse; readonly forms: string },
): readonly string[] {
  return listOf(given).map((text, index) => (form.isFit(text) ? text : notOfForm(key, { given, text, index }, form)));
}

function notOfForm(
  key: string,
  { given, text, index }: { readonly given: unknown; readonly text: string; readonly index: number },
  { refuse, forms }: { readonly refuse: Refuse; readonly forms: string },
): never {
  const problem = `${JSON.stringify(text)} is no ${key.replace('_', ' ')} that a rule can name; write it whole, such as ${forms}`;
  return refuse(Array.isArray(given) ? [key, index] : [key], problem);
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
    const problem = emptiness(comparison);
    if (problem !== undefined) refuse(Array.isArray(given) ? ['value', index] : ['value'], `the value ${name} ${problem}`);
    return { name, comparison };
  });
}

function paramTerms(given: NonNullable<RuleConditions['param']>, refuse: Refuse): readonly ParamTerm[] {
  return Object.entries(given).map(([pointer, comparison]) => {
    if (!/^(\/([^/~]|~0|~1)*)+$/.test(pointer)) {
      refuse(['param', pointer], `${JSON.stringify(pointer)} is no JSON pointer; a parameter is written as /brightness`);
    }
    const problem = emptiness(comparison);
    if (problem !== undefined) refuse(['param', pointer], `the parameter ${pointer} ${problem}`);
    return { pointer, path: pointerKeys(pointer), comparison };
  });
}
