import { isJsonObject, type Json, type JsonObject, objectOf, objectsOf } from '../../core/json.ts';
import { humanWords, momentWords, valueWords, whenWords, withUnit } from '../components/formatting.ts';
import { hasText, text } from '../texts/text.ts';
import { type ConditionView, conditionWords, type HomeNames, type TriggerView, triggerWords } from './automation-words.ts';

/** A moment at which an automation ran or might have run, as `explain_automation` returns it. */
export interface MomentView {
  /** Why, in the words of the hub. */
  readonly summary: string;
  readonly outcome: 'ran' | 'did_not_run' | 'not_triggered';
  readonly cause: string;
  readonly at: string;
  /** When it happened the last time, if it happened more than once. */
  readonly last_at?: string;
  readonly count: number;
  readonly trigger?: JsonObject;
  /** The conditions that did not hold, each with what it saw. */
  readonly conditions?: readonly Json[];
  readonly value?: Json;
  readonly unit?: string;
  readonly facts: JsonObject;
}

/** Returns why an automation ran or did not run, in one sentence. What this page has no words for is said in those of the hub. */
export function whyWords(moment: MomentView, names: HomeNames): string {
  const { cause } = moment;
  const reason = cause.startsWith('condition_') ? conditionsReason(moment, names) : reasonWords(moment, names);
  if (reason === undefined) return moment.summary;
  return sentenceWith(reason, moment);
}

/** Returns the sentence of one moment or of several, of which `reason` is that of the last. */
function sentenceWith(reason: string, { at, last_at: last, cause, count, outcome }: MomentView): string {
  const key = outcome !== 'ran' ? outcome : SENTENCES.has(cause) ? 'ran_so' : 'ran_until';
  if (count <= 1 || last === undefined) return text(`why.${key}`, { when: whenWords(at), reason });
  return text(`why.${key}_again`, { count, from: momentWords(at), to: momentWords(last), reason });
}

/** Causes of runs whose text says how the run went; the texts of the others say why it stopped. */
const SENTENCES: ReadonlySet<string> = new Set(['running', 'waits_for_approval', 'waits_for_answer', 'done', 'done_with_errors']);

/** Returns the reason of a cause; undefined if the page has no words for it, or if the hub left out what it is about. */
function reasonWords(moment: MomentView, names: HomeNames): string | undefined {
  const { cause, facts } = moment;
  const key = `why.cause_${cause === 'given_up' && facts.given_up === 'hub_stopped' ? 'hub_stopped' : cause}`;
  if (!hasText(key) || (moment.outcome === 'not_triggered' && !moment.trigger)) return undefined;
  return text(key, reasonValues(moment, names));
}

/** Returns everything that the text of a cause may name. */
function reasonValues({ trigger = {}, facts, unit, value }: MomentView, names: HomeNames): Readonly<Record<string, string>> {
  const shown = facts.value ?? value;
  return {
    ...plainFacts(facts),
    ...plainFacts(trigger),
    what: isJsonObject(trigger) && typeof trigger.type === 'string' ? triggerWords(trigger as unknown as TriggerView, names) : '',
    sensor: String(trigger.sensor_name ?? trigger.sensor_id ?? ''),
    device: String(trigger.device_name ?? trigger.device_id ?? ''),
    value: shown === undefined ? text('words.unknown') : seenValue(shown, unit ?? facts.unit),
    tool: toolWords(facts),
    ...times(facts),
  };
}

/** Returns the facts that are single values, in words. */
function plainFacts(facts: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, fact]) =>
      typeof fact === 'object' ? [] : [[name, typeof fact === 'string' ? fact : valueWords(fact)]],
    ),
  );
}

function times(facts: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ['from', 'to', 'until', 'next', 'at'].flatMap((name) => {
      const fact = facts[name];
      return typeof fact === 'string' && !Number.isNaN(Date.parse(fact)) ? [[name, momentWords(fact)]] : [[name, text('words.unknown')]];
    }),
  );
}

function toolWords({ tool, asked }: JsonObject): string {
  const name = typeof tool === 'string' ? tool : typeof asked === 'string' ? asked : '';
  return humanWords(name.replace(/^[a-z0-9_-]+:|@.*$/g, ''));
}

function conditionsReason({ conditions }: MomentView, names: HomeNames): string | undefined {
  const reasons = objectsOf(conditions).map((one) => conditionReason(one, names));
  return reasons.length === 0 ? undefined : reasons.reduce((first, second) => text('automations.and', { first, second }));
}

function conditionReason({ condition, seen, isNegated, isUnknown }: JsonObject, names: HomeNames): string {
  const words = conditionWords(condition as unknown as ConditionView, names);
  const found = objectOf(seen);
  if (isUnknown === true) return unknownWords(words, found);
  const saw = seenWords(found);
  const key = isNegated === true ? 'why.held' : 'why.did_not_hold';
  return saw === undefined ? text(key, { condition: words }) : text(`${key}_seen`, { condition: words, seen: saw });
}

function unknownWords(condition: string, { problem, age_seconds: age }: JsonObject): string {
  const key = `why.problem_${String(problem)}`;
  if (!hasText(key)) return text('why.unknown', { condition });
  return text('why.unknown_because', { condition, problem: text(key, { age: valueWords(age ?? null) }) });
}

/** Returns what a condition saw; undefined if nothing can be shown. */
function seenWords({ value, unit, minutes, home }: JsonObject): string | undefined {
  if (typeof minutes === 'number') return sawWords(`${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`);
  if (Array.isArray(home)) return home.length === 0 ? text('why.saw_nobody') : text('why.saw_home', { people: home.join(', ') });
  return value === undefined || value === null ? undefined : sawWords(seenValue(value, unit));
}

function sawWords(seen: string): string {
  return text('why.saw', { seen });
}

function seenValue(value: Json, unit: Json | undefined): string {
  return typeof value === 'number' ? withUnit(valueWords(value), unit) : valueWords(value);
}
