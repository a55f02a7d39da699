import { isSwitched } from '../../core/devices/matter-names.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import type { DeviceView } from '../api/hub-types.ts';
import { humanWords, numberWords, readingName, valueWords, withUnit } from '../components/formatting.ts';
import { hasText, languageTag, text } from '../texts/text.ts';
import { effectWords } from './approval-text.ts';
import { shortName } from './audit-rows.ts';
import { dayWords } from './automation-words.ts';
import { grantsInWords } from './tokens.ts';

/** Something that may go wrong with an automation, as `hub:check_automation` returns it. */
export interface Finding {
  readonly kind: string;
  /** `warning`: whenever it runs. `note`: depending on what comes together. */
  readonly severity: 'warning' | 'note';
  readonly automations: readonly { readonly agent_id: string; readonly name: string }[];
  readonly timeline: readonly TimelineEntry[];
  readonly sentence: string;
  readonly fix: string;
  /** What the sentence says. Its `case` names the sentence. */
  readonly facts: JsonObject;
}

interface TimelineEntry {
  readonly agent_id: string;
  readonly does: string;
  readonly target?: string;
  readonly windows: readonly TimeWindow[];
}

interface TimeWindow {
  readonly days: readonly string[];
  readonly from: string;
  readonly to: string;
}

/** Most windows of time that one sentence names. */
const MAX_WINDOWS = 4;

/** Returns a finding in one sentence. What this page has no words for is said in those of the hub. */
export function findingWords(finding: Finding, devices: readonly DeviceView[]): string {
  const key = `check.case_${caseOf(finding)}`;
  return hasText(key) ? text(key, valuesOf(finding, devices)) : finding.sentence;
}

/** Returns what a person can do about a finding, as `findingWords` does. */
export function fixWords(finding: Finding): string {
  const { facts, kind, fix } = finding;
  const key = [`check.fix_${caseOf(finding)}`, `check.fix_${kind}`].find(hasText);
  return key && hasText(key) ? text(key, { device: String(facts.device ?? '') }) : fix;
}

/** Returns the case, with what makes another sentence of it. */
function caseOf({ facts, severity }: Finding): string {
  const name = String(facts.case);
  if (name === 'meet') return severity === 'warning' ? 'meet' : 'meet_perhaps';
  if (name === 'loop') return facts.is_alone === true ? 'loop_alone' : 'loop';
  if (name === 'waits_at_night') return facts.is_always === true ? 'waits_at_night' : 'waits_at_night_perhaps';
  if (name === 'refused_by_rule') return facts.rule === undefined ? 'allowed_by_no_rule' : 'refused_by_rule';
  if (name === 'step_refused') return refusedCase(facts);
  return (name === 'clash' || name === 'trigger_clash') && facts.about === undefined ? `${name}_of_times` : name;
}

/** Returns why a step would be refused: a permission is missing, something in it is not there or not to be seen, or its values do not fit. */
function refusedCase({ lacks, code }: JsonObject): string {
  if (textsOf(lacks).length > 0) return 'step_lacks';
  return String(code).endsWith('_NOT_FOUND') ? 'step_unknown' : 'step_unfit';
}

function valuesOf({ automations, facts }: Finding, devices: readonly DeviceView[]): Readonly<Record<string, string>> {
  const nameOf = (id: string) => automations.find(({ agent_id: one }) => one === id)?.name ?? text('check.another');
  const [first, second] = objectsOf(facts.contents).map(contentWords);
  return {
    ...plainValues(facts),
    name: automations[0]?.name ?? '',
    other: automations[1]?.name ?? text('check.another'),
    first: first ?? '',
    second: second ?? '',
    times: whenOf(facts),
    trigger: triggerOf(facts),
    wanted: rangeWords(facts.wanted),
    shown: rangeWords(facts.shown),
    events: textsOf(facts.events).join(', ') || text('words.none'),
    about: subjectWords(objectOf(facts.about)),
    permissions: grantsInWords(textsOf(facts.lacks), devices).join(', '),
    act: stepWords(facts, devices),
    ways: objectsOf(facts.ways)
      .map(({ agent_id: id, target, changes }) =>
        text('check.way', { name: nameOf(String(id)), act: effectWords(String(target), devices), sensor: String(changes) }),
      )
      .join('; '),
    reasons: objectsOf(facts.reasons)
      .map((reason) => reasonWords(reason, devices))
      .join(', '),
  };
}

/** Returns the facts that are single values, in words. */
function plainValues(facts: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, fact]) =>
      typeof fact === 'string' ? [[name, fact]] : typeof fact === 'number' ? [[name, numberWords(fact)]] : [],
    ),
  );
}

function whenOf({ times, is_always: isAlways }: JsonObject): string {
  return isAlways === true ? text('check.whenever') : windowsWords(objectsOf(times) as unknown as readonly TimeWindow[]);
}

/** Returns what sets the automation off, where a condition never holds then. */
function triggerOf({ sensor, times }: JsonObject): string {
  if (sensor !== undefined) return text('check.set_off_by', { sensor: String(sensor) });
  return times === undefined ? text('check.set_off') : text('check.set_off_at', { times: whenOf({ times }) });
}

function reasonWords(reason: JsonObject, devices: readonly DeviceView[]): string {
  const act = stepWords(reason, devices);
  if (act === '') return text('check.reason_asks');
  return text(reason.rule === undefined ? 'check.reason_approval' : 'check.reason_rule', { act, rule: String(reason.rule) });
}

/** Returns a step by what it acts on, else by its tool; nothing if neither is told. */
function stepWords({ target, tool }: JsonObject, devices: readonly DeviceView[]): string {
  if (typeof target === 'string') return effectWords(target, devices);
  return typeof tool === 'string' ? humanWords(shortName(tool)) : '';
}

/** Returns what would need two values at once. */
function subjectWords({ kind, name = '' }: JsonObject): string {
  const key = `check.about_${kind}${name === '' ? '_any' : ''}`;
  return hasText(key) ? text(key, { name: String(name) }) : String(name);
}

/** Returns the new content of a value, such as `on` or `Heating setpoint: 21 °C`. */
function contentWords({ value, becomes, unit }: JsonObject): string {
  if (becomes === undefined) return text('check.content_changed', { value: readingName(String(value)) });
  if (typeof becomes === 'boolean' && isSwitched(String(value))) return text(becomes ? 'check.content_on' : 'check.content_off');
  return withUnit(`${readingName(String(value))}: ${valueWords(becomes)}`, unit);
}

function rangeWords(range: Json | undefined): string {
  const parts = objectsOf(range).map(({ from, to, value, except }) => {
    if (except !== undefined) return text('check.range_except', { value: valueWords(except) });
    if (value !== undefined) return valueWords(value);
    if (from === undefined) return to === undefined ? text('check.range_any') : text('check.range_below', { to: valueWords(to) });
    if (to === undefined) return text('check.range_above', { from: valueWords(from) });
    return from === to ? valueWords(from) : text('check.range_between', { from: valueWords(from), to: valueWords(to) });
  });
  return new Intl.ListFormat(languageTag(), { type: 'disjunction' }).format(parts);
}

/** Returns a line of the timeline: what an automation does when. */
export function timelineWords({ target, windows }: TimelineEntry, devices: readonly DeviceView[]): string {
  const does = target === undefined ? [] : [effectWords(target, devices)];
  return [...does, ...(windows.length === 0 ? [] : [windowsWords(windows)])].join(', ');
}

function windowsWords(windows: readonly TimeWindow[]): string {
  const shown = windows.slice(0, MAX_WINDOWS).map(windowWords).join('; ');
  const more = windows.length - MAX_WINDOWS;
  return more > 0 ? text('check.more_times', { times: shown, count: more }) : shown;
}

function windowWords({ days, from, to }: TimeWindow): string {
  if (from === '00:00' && to === '24:00' && days.length === 7) return text('check.any_time');
  const words = { days: dayWords(days), from, to };
  return text(minuteOf(to) - minuteOf(from) === 1 ? 'check.at_minute' : 'check.in_window', words);
}

function minuteOf(clock: string): number {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  return hours * 60 + minutes;
}

/** Returns the findings in a result of a call. */
export function findingsIn(answer: Json): readonly Finding[] {
  const found = isJsonObject(answer) ? objectsOf(objectOf(answer).conflicts) : [];
  return found as unknown as readonly Finding[];
}
