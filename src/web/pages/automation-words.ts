import { type Json, type JsonObject, objectOf } from '../../core/json.ts';
import type { DeviceView, ReadingView } from '../api/hub-types.ts';
import { humanWords, readingName, valueWords, withUnit } from '../components/formatting.ts';
import { hasText, languageTag, text } from '../texts/text.ts';

/** An automation in the result of `list_automations`. */
export interface AutomationView {
  readonly agent_id: string;
  readonly name: string;
  readonly status: 'active' | 'failing' | 'disabled' | 'killed' | 'expired';
  /** Id of the agent that made it; absent if the owner made it. */
  readonly parent?: string;
  readonly triggers: readonly TriggerView[];
  readonly conditions: readonly ConditionView[];
  readonly actions: readonly ActionView[];
  readonly permissions: readonly string[];
  readonly runs: number;
  readonly last_run_at?: string;
  readonly last_outcome?: 'success' | 'failure' | 'stopped' | 'unknown';
  readonly last_error?: { readonly code: string; readonly message: string };
  readonly next_run_at?: string;
  readonly expires_at: string;
  readonly renews_itself?: boolean;
  readonly reason?: string;
}

/** A trigger as the configuration of an automation has it. Which members it has depends on its type. */
export interface TriggerView {
  readonly type:
    | ('reading' | 'device_event' | 'reachability' | 'time' | 'every' | 'sun' | 'hub_start' | 'webhook' | 'decision' | 'scene')
    | ('automation_ended' | 'presence');
  readonly sensor_id?: string;
  readonly above?: number;
  readonly below?: number;
  readonly equals?: Json;
  readonly device_id?: string;
  readonly event?: string;
  readonly becomes?: 'reachable' | 'unreachable' | 'home' | 'away';
  readonly at?: string;
  readonly cron?: string;
  readonly days?: readonly string[];
  readonly seconds?: number;
  readonly offset_minutes?: number;
  readonly name?: string;
  readonly decision?: 'approved' | 'denied';
  readonly scene_id?: string;
  readonly agent_id?: string;
  readonly outcome?: 'success' | 'failure' | 'stopped';
  readonly person?: string;
}

/** A condition as the configuration has it. */
export interface ConditionView {
  readonly type: 'reading' | 'time' | 'sun' | 'flag' | 'reachability' | 'presence' | 'expression' | 'and' | 'or' | 'not';
  readonly sensor_id?: string;
  readonly above?: number;
  readonly below?: number;
  readonly equals?: Json;
  readonly after?: string;
  readonly after_offset_minutes?: number;
  readonly before?: string;
  readonly before_offset_minutes?: number;
  readonly days?: readonly string[];
  readonly flag?: string;
  readonly is?: Json;
  readonly device_id?: string;
  readonly person?: string;
  readonly expr?: string;
  readonly conditions?: readonly ConditionView[];
}

/** A step: a call with its tool and what it acts on, or a step with a type. */
export interface ActionView {
  readonly tool?: string;
  readonly title?: string;
  readonly device_id?: string;
  readonly device_ids?: readonly string[];
  readonly area?: string;
  readonly scene?: string;
  readonly scene_id?: string;
  /** The other parameters of a call, with their units. Absent where they are not shown, because a parameter may be a secret. */
  readonly params?: JsonObject;
  readonly units?: Readonly<Record<string, string>>;
  readonly type?: 'wait' | 'wait_until' | 'choose' | 'repeat' | 'parallel' | 'set_flag' | 'notify' | 'ask';
  readonly seconds?: number;
  readonly timeout_seconds?: number;
  readonly conditions?: readonly ConditionView[];
  readonly options?: readonly { readonly conditions: readonly ConditionView[]; readonly actions: readonly ActionView[] }[];
  readonly otherwise?: readonly ActionView[];
  readonly count?: number;
  readonly while?: readonly ConditionView[];
  readonly actions?: readonly ActionView[];
  readonly branches?: readonly (readonly ActionView[])[];
  readonly flag?: string;
  readonly value?: Json;
  readonly person?: string;
  /** A text, or an expression that yields one. */
  readonly message?: Json;
  readonly question?: Json;
  readonly answers?: readonly string[];
}

/** How the home calls what an automation names by ids. */
export interface HomeNames {
  readonly device: (id: string) => string;
  readonly reading: (id: string) => Pick<ReadingView, 'title' | 'unit'> | undefined;
}

/** Returns how the home calls its devices and sensors. */
export function namesIn(devices: readonly DeviceView[]): HomeNames {
  return {
    device: (id) => devices.find((known) => known.id === id)?.name ?? id,
    reading: (id) => devices.flatMap(({ readings }) => readings).find((known) => known.id === id),
  };
}

/** Returns when an automation runs, in words. */
export function triggerWords(trigger: TriggerView, names: HomeNames): string {
  switch (trigger.type) {
    case 'reading':
      return readingWords(trigger, names);
    case 'device_event':
      return text('automations.on_event', { device: names.device(trigger.device_id ?? ''), event: humanWords(trigger.event ?? '') });
    case 'reachability': {
      const key = trigger.becomes === 'reachable' ? 'automations.on_back' : 'automations.on_lost';
      return text(key, { device: names.device(trigger.device_id ?? '') });
    }
    case 'time':
      if (trigger.cron !== undefined) return text('automations.at_cron', { cron: trigger.cron });
      return text('automations.at', { time: trigger.at ?? '', days: dayWords(trigger.days) });
    case 'every':
      return everyWords(trigger.seconds ?? 0);
    case 'sun':
      return sunWords(trigger.event ?? '', trigger.offset_minutes);
    case 'hub_start':
      return text('automations.on_start');
    case 'webhook':
      return text('automations.on_webhook', { name: trigger.name ?? '' });
    case 'decision':
      return decisionWords(trigger);
    case 'scene':
      return text('automations.on_scene', { scene: trigger.scene_id ?? '' });
    case 'automation_ended':
      return text(trigger.outcome ? `automations.on_ended_${trigger.outcome}` : 'automations.on_ended', { name: trigger.agent_id ?? '' });
    case 'presence':
      return presenceWords(trigger);
  }
}

function decisionWords({ decision, agent_id: agent }: TriggerView): string {
  const key = decision === 'denied' ? 'on_denied' : 'on_approved';
  return agent === undefined ? text(`automations.${key}`) : text(`automations.${key}_of`, { agent });
}

function presenceWords({ person, becomes }: TriggerView): string {
  if (person === undefined) return text(becomes === 'home' ? 'automations.on_first_home' : 'automations.on_last_away');
  return text(becomes === 'home' ? 'automations.on_home' : 'automations.on_away', { person });
}

/** Returns an event of the sun with its distance in minutes. */
function sunWords(event: string, offset = 0): string {
  const key = `automations.sun_${event}`;
  const named = hasText(key) ? text(key) : event;
  if (offset === 0) return text('automations.at_sun', { event: named });
  return text(offset < 0 ? 'automations.before_sun' : 'automations.after_sun', { count: Math.abs(offset), event: named });
}

/** Returns what has to hold, in words. */
export function conditionWords(condition: ConditionView, names: HomeNames): string {
  const { type, conditions = [] } = condition;
  switch (type) {
    case 'reading':
      return readingConditionWords(condition, names);
    case 'time':
      return windowWords({ from: condition.after, to: condition.before, days: condition.days });
    case 'sun':
      return windowWords({
        from: sunMoment(condition.after, condition.after_offset_minutes),
        to: sunMoment(condition.before, condition.before_offset_minutes),
      });
    case 'flag':
      return text('automations.if_flag', { flag: humanWords(condition.flag ?? ''), value: valueWords(condition.is ?? true) });
    case 'reachability': {
      const device = names.device(condition.device_id ?? '');
      return text(condition.is === 'reachable' ? 'automations.if_reachable' : 'automations.if_unreachable', { device });
    }
    case 'presence':
      return presenceConditionWords(condition);
    case 'expression':
      return text('automations.if_expression', { expr: condition.expr ?? '' });
    case 'not':
      return text('automations.not', { what: joined(conditions, 'automations.or', names) });
    default:
      return joined(conditions, `automations.${type}`, names);
  }
}

function readingConditionWords({ sensor_id: id = '', above, below, equals }: ConditionView, names: HomeNames): string {
  const { sensor, limit } = sensorWords(id, names);
  if (above !== undefined) return text('automations.if_above', { sensor, value: limit(above) });
  if (below !== undefined) return text('automations.if_below', { sensor, value: limit(below) });
  return text('automations.if_equals', { sensor, value: valueWords(equals ?? null) });
}

interface WindowView {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly days?: readonly string[] | undefined;
}

function windowWords({ from, to, days }: WindowView): string {
  const window = hoursWords(from, to);
  if (!days || days.length === WEEKDAYS.length) return window ?? dayWords(undefined);
  const today = text('automations.if_days', { days: dayWords(days) });
  return window === undefined ? today : text('automations.and', { first: today, second: window });
}

function hoursWords(from: string | undefined, to: string | undefined): string | undefined {
  if (from !== undefined && to !== undefined) return text('automations.if_between', { from, to });
  if (from !== undefined) return text('automations.if_after', { from });
  return to === undefined ? undefined : text('automations.if_before', { to });
}

function sunMoment(event: string | undefined, offset = 0): string | undefined {
  if (event === undefined) return undefined;
  const key = `automations.sun_${event}`;
  return offset === 0 && hasText(key) ? text(key) : sunWords(event, offset);
}

function presenceConditionWords({ person, is }: ConditionView): string {
  if (person === undefined) return text(is === 'home' ? 'automations.if_somebody' : 'automations.if_nobody');
  return text(is === 'home' ? 'automations.if_home' : 'automations.if_away', { person });
}

/** Joins conditions with "and" or "or". Those that consist of several themselves get brackets, so that they can be read in one way only. */
function joined(conditions: readonly ConditionView[], key: 'automations.and' | 'automations.or', names: HomeNames): string {
  if (conditions.length === 0) return text('automations.nothing');
  const needsBrackets = (one: ConditionView) => conditions.length > 1 && isCompound(one);
  const words = conditions.map((one) => (needsBrackets(one) ? `(${conditionWords(one, names)})` : conditionWords(one, names)));
  return words.reduce((first, second) => text(key, { first, second }));
}

function isCompound({ type, conditions = [], days, after, before }: ConditionView): boolean {
  if (type === 'and' || type === 'or') return conditions.length > 1;
  return type === 'not' || (days !== undefined && (after ?? before) !== undefined);
}

/** Returns what a sensor is called, and a function that writes its values. */
function sensorWords(id: string, names: HomeNames): { readonly sensor: string; readonly limit: (value: Json) => string } {
  const reading = names.reading(id);
  const [device = '', name = ''] = id.split('/');
  const sensor = reading?.title ?? `${names.device(device)} ${readingName(name)}`;
  return { sensor, limit: (value) => withUnit(valueWords(value), reading?.unit) };
}

function readingWords({ sensor_id: id = '', above, below, equals }: TriggerView, names: HomeNames): string {
  const { sensor, limit } = sensorWords(id, names);
  if (above !== undefined) return text('automations.on_above', { sensor, value: limit(above) });
  if (below !== undefined) return text('automations.on_below', { sensor, value: limit(below) });
  if (equals !== undefined) return text('automations.on_equals', { sensor, value: valueWords(equals) });
  return text('automations.on_change', { sensor });
}

export const WEEKDAYS: readonly string[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
/** A Monday, in UTC. */
const MONDAY_MS = Date.UTC(2024, 0, 1);
const DAY_MS = 86_400_000;

/** Returns days of the week in words; `every day` for all of them. */
export function dayWords(days: readonly string[] | undefined): string {
  if (!days || days.length === WEEKDAYS.length) return text('automations.every_day');
  const format = new Intl.DateTimeFormat(languageTag(), { weekday: 'short', timeZone: 'UTC' });
  return days.map((day) => format.format(MONDAY_MS + WEEKDAYS.indexOf(day) * DAY_MS)).join(', ');
}

function everyWords(seconds: number): string {
  if (seconds % 3600 === 0) return text('automations.every_hours', { count: seconds / 3600 });
  if (seconds % 60 === 0) return text('automations.every_minutes', { count: seconds / 60 });
  return text('automations.every_seconds', { count: seconds });
}

/** Returns what a step does, in words: a call by the title of its tool, and the devices or the room. */
export function actionWords(step: ActionView, names: HomeNames): string {
  if (step.type === undefined) return callWords(step, names);
  switch (step.type) {
    case 'wait':
      return text('automations.wait', { time: durationWords(step.seconds ?? 0) });
    case 'wait_until':
      return text('automations.wait_until', { what: allWords(step.conditions, names), time: durationWords(step.timeout_seconds ?? 0) });
    case 'choose':
      return chooseWords(step, names);
    case 'repeat': {
      const steps = stepsWords(step.actions, names);
      if (step.count !== undefined) return text('automations.repeat', { count: step.count, steps });
      return text('automations.repeat_while', { what: allWords(step.while, names), steps });
    }
    case 'parallel':
      return text('automations.parallel', { steps: (step.branches ?? []).map((branch) => stepsWords(branch, names)).join('; ') });
    case 'set_flag':
      return text('automations.set_flag', { flag: humanWords(step.flag ?? ''), value: valueWords(step.value ?? null) });
    case 'notify':
      return toPersonWords('notify', step, step.message);
    case 'ask':
      return toPersonWords('ask', step, step.question);
  }
}

/** Returns a message or question to a person. A text that a run computes is shown as the expression has it. */
function toPersonWords(key: 'notify' | 'ask', { person }: ActionView, said: Json = ''): string {
  const words = typeof said === 'string' ? said : JSON.stringify(said);
  if (person === undefined) return text(`automations.${key}_all`, { words });
  return text(`automations.${key}`, { person, words });
}

function callWords(step: ActionView, names: HomeNames): string {
  const { tool = '', title, device_id: device = [], device_ids: devices = [], area = [], params = {}, units = {} } = step;
  const what = title ?? humanWords(tool.replace(/^[a-z0-9_]+:|@.*$/g, ''));
  const targets = [device, devices].flat().map(names.device);
  const where = [targets, area, step.scene ?? [], step.scene_id ?? []].flat().join(', ');
  const unitOf = new Map(Object.entries(units));
  const values = Object.entries(params).map(([name, value]) => `${readingName(name)} ${paramWords(value, unitOf.get(name))}`);
  const call = where === '' ? what : `${what}: ${where}`;
  return values.length === 0 ? call : `${call} (${values.join(', ')})`;
}

/** Returns the value of a parameter. What a run computes is shown as the expression has it: an object with `expr` alone, as runs take it. */
function paramWords(value: Json, unit: string | undefined): string {
  const { expr, ...others } = objectOf(value);
  return withUnit(typeof expr === 'string' && Object.keys(others).length === 0 ? expr : valueWords(value), unit);
}

function chooseWords({ options = [], otherwise = [] }: ActionView, names: HomeNames): string {
  const chosen = options.map(({ conditions, actions }) =>
    text('automations.choose', { what: allWords(conditions, names), steps: stepsWords(actions, names) }),
  );
  const rest = otherwise.length === 0 ? [] : [text('automations.otherwise', { steps: stepsWords(otherwise, names) })];
  return [...chosen, ...rest].join('; ');
}

function stepsWords(steps: readonly ActionView[] = [], names: HomeNames): string {
  return steps.length === 0 ? text('automations.nothing') : steps.map((step) => actionWords(step, names)).join(', ');
}

function allWords(conditions: readonly ConditionView[] = [], names: HomeNames): string {
  return joined(conditions, 'automations.and', names);
}

export function durationWords(seconds: number): string {
  if (seconds % 3600 === 0) return text('automations.hours', { count: seconds / 3600 });
  if (seconds % 60 === 0) return text('automations.minutes', { count: seconds / 60 });
  return text('automations.seconds', { count: seconds });
}

/** What differs from the version before. A member that was added has no `before`, and one that was removed no `after`. */
export interface Difference {
  /** JSON Pointer (RFC 6901). */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** Maximum length of a value in a difference, in characters. */
const MAX_SHOWN_LENGTH = 160;

/** Returns what differs between two versions, such as `trigger › above: 26 → 28`. */
export function differenceWords({ path, before, after }: Difference): string {
  const place =
    path === '' ? text('versions.everything') : path.slice(1).replaceAll('/', ' › ').replaceAll('~1', '/').replaceAll('~0', '~');
  const words = { path: place, before: shown(before), after: shown(after) };
  if (before === undefined) return text('versions.added', words);
  return text(after === undefined ? 'versions.removed' : 'versions.changed', words);
}

function shown(value: Json | undefined): string {
  const written = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return written.length <= MAX_SHOWN_LENGTH ? written : `${written.slice(0, MAX_SHOWN_LENGTH)}…`;
}
