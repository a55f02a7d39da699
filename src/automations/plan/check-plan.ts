import { invalidInput } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { isTimeZone } from '../../core/local-time.ts';
import { requireCron } from '../triggers/cron.ts';
import { type Condition, isComposite, MAX_CONDITION_DEPTH, simpleConditions } from './condition-schema.ts';
import { Expression, usesIn } from './expression.ts';
import type { AutomationPlan } from './plan-schema.ts';
import { referencesIn } from './references.ts';
import {
  type AskStep,
  allSteps,
  answersIn,
  conditionsIn,
  expressionsOf,
  isAction,
  listsIn,
  MAX_STEP_DEPTH,
  MAX_STEPS,
  type Step,
} from './step-schema.ts';
import type { ReadingTrigger, TimeTrigger, Trigger } from './trigger-schema.ts';

const HOUR_SECONDS = 3_600;
/** Names of the facts to which actions may refer, by trigger type. All triggers also have the facts in `COMMON_FACTS`. */
const FACTS: Readonly<Record<Trigger['type'], readonly string[]>> = {
  reading: ['sensor_id', 'value', 'previous', 'unit'],
  device_event: ['device_id', 'event', 'cluster', 'data'],
  reachability: ['device_id', 'reachability'],
  time: [],
  every: [],
  sun: ['event'],
  hub_start: [],
  webhook: ['name', 'body'],
  decision: ['agent_id', 'decision', 'approval_id'],
  scene: ['scene_id'],
  automation_ended: ['agent_id', 'outcome'],
  presence: ['person', 'presence'],
};
const COMMON_FACTS = ['type', 'at'];

/** Checks what the schema of a plan cannot say. Throws VALIDATION_ERROR. */
export function checkPlan(plan: AutomationPlan): void {
  for (const trigger of plan.triggers) checkTrigger(trigger, plan);
  checkSteps(plan.actions);
  for (const conditions of [plan.conditions, ...conditionsIn(plan.actions)]) checkConditions(conditions);
  checkExpressions(plan);
  checkFacts(plan);
  checkAnswers(plan);
}

function checkTrigger(trigger: Trigger, plan: AutomationPlan): void {
  if (trigger.type === 'reading') checkReadingTrigger(trigger);
  if (trigger.type === 'time') checkTimeTrigger(trigger);
  if (trigger.type === 'every') checkInterval(trigger.seconds, plan);
}

function checkInterval(seconds: number, { cooldownMs, maxRunsPerHour }: AutomationPlan): void {
  if (seconds * 1000 < cooldownMs) throw invalidInput('cooldown_seconds is longer than the seconds of a trigger of type every');
  if (HOUR_SECONDS / seconds <= maxRunsPerHour) return;
  throw invalidInput(`Every ${seconds} s is more often than max_runs_per_hour (${maxRunsPerHour}) allows; raise one of them`);
}

function checkTimeTrigger({ at, cron, days, time_zone: timeZone }: TimeTrigger): void {
  if ((at === undefined) === (cron === undefined)) throw invalidInput('A trigger of type time has exactly one of at, cron');
  if (cron !== undefined && days) throw invalidInput('days goes together with at only; a cron expression names its days itself');
  if (cron !== undefined) requireCron(cron);
  checkTimeZone(timeZone);
}

function checkReadingTrigger(trigger: ReadingTrigger): void {
  requireOne(trigger, ['above', 'below', 'equals', 'changes']);
  if (trigger.changes && trigger.for_seconds !== undefined) throw invalidInput('for_seconds does not go together with changes');
  if (trigger.hysteresis !== undefined && trigger.above === undefined && trigger.below === undefined) {
    throw invalidInput('hysteresis goes together with above or below only');
  }
}

function checkConditions(conditions: readonly Condition[]): void {
  if (depthOfConditions(conditions) > MAX_CONDITION_DEPTH) {
    throw invalidInput(`Conditions are nested more than ${MAX_CONDITION_DEPTH} deep; write them flatter`);
  }
  for (const condition of simpleConditions(conditions)) {
    if (condition.type === 'reading') requireOne(condition, ['above', 'below', 'equals']);
    if (condition.type === 'time') checkTimeZone(condition.time_zone);
    if (condition.type === 'sun' && condition.after === undefined && condition.before === undefined) {
      throw invalidInput('A condition of type sun has after, before or both');
    }
  }
}

function depthOfConditions(conditions: readonly Condition[]): number {
  return 1 + Math.max(-1, ...conditions.map((condition) => (isComposite(condition) ? depthOfConditions(condition.conditions) : 0)));
}

function requireOne(comparison: object, names: readonly string[]): void {
  if (names.filter((name) => name in comparison).length === 1) return;
  throw invalidInput(`A comparison of a reading has exactly one of ${names.join(', ')}`);
}

function checkTimeZone(name: string | undefined): void {
  if (name === undefined || isTimeZone(name)) return;
  throw invalidInput(`There is no time zone ${JSON.stringify(name.slice(0, 40))}; write an IANA name such as Europe/Berlin`);
}

function checkSteps(steps: readonly Step[]): void {
  if (depthOfSteps(steps) > MAX_STEP_DEPTH) throw invalidInput(`Steps are nested more than ${MAX_STEP_DEPTH} deep; write them flatter`);
  const all = allSteps(steps);
  if (all.length > MAX_STEPS) throw invalidInput(`The automation has ${all.length} steps; at most ${MAX_STEPS} are allowed`);
  for (const step of all) checkStep(step);
}

function depthOfSteps(steps: readonly Step[]): number {
  return 1 + Math.max(-1, ...steps.map((step) => Math.max(0, ...listsIn(step).map(depthOfSteps))));
}

function checkStep(step: Step): void {
  if (isAction(step)) return;
  if (step.type === 'repeat' && (step.count === undefined) === (step.while === undefined)) {
    throw invalidInput('A step of type repeat has exactly one of count, while');
  }
  if (step.type === 'ask') checkAsk(step);
  if (step.type === 'set_flag' && step.for_seconds !== undefined && step.until !== undefined) {
    throw invalidInput('A step of type set_flag has at most one of for_seconds, until');
  }
}

function checkAsk({ on_timeout: onTimeout, timeout_answer: answer, answers }: AskStep): void {
  if ((onTimeout === 'answer') !== (answer !== undefined))
    throw invalidInput('timeout_answer goes together with on_timeout: answer, and only with it');
  if (answer !== undefined && !answers.includes(answer)) throw invalidInput(`timeout_answer is one of the answers: ${answers.join(', ')}`);
}

/** Checks that each answer which is used is one for which a step asks. Before the steps, there is no answer yet. */
function checkAnswers({ conditions, actions }: AutomationPlan): void {
  const asked = new Set(answersIn(actions).keys());
  const used = [...referencesIn(actions as unknown as Json, 'answer'), ...usesIn(expressionsOf({ conditions: [], actions }), 'answers')];
  requireKnown(new Set(used), asked, 'answers');
  requireKnown(usesIn(expressionsOf({ conditions, actions: [] }), 'answers'), new Set(), 'answers');
}

/** Checks that each trigger has the facts to which the actions refer, and that some trigger has those that expressions use. */
function checkFacts(plan: AutomationPlan): void {
  const { triggers, actions } = plan;
  const used = referencesIn(actions as unknown as Json, 'trigger');
  const factsOf = (type: Trigger['type']) => [...COMMON_FACTS, ...FACTS[type]];
  for (const { type } of triggers) {
    const missing = used.values().find((name) => !factsOf(type).includes(name));
    if (missing === undefined) continue;
    throw invalidInput(`A trigger of type ${type} has no ${JSON.stringify(missing.slice(0, 40))}; it has ${factsOf(type).join(', ')}`);
  }
  const all = new Set(triggers.flatMap(({ type }) => factsOf(type)));
  requireKnown(usesIn(expressionsOf(plan), 'trigger'), all, 'trigger');
}

function checkExpressions(plan: AutomationPlan): void {
  const all = expressionsOf(plan);
  for (const text of all) Expression.parse(text);
  requireKnown(usesIn(all, 'params'), new Set(Object.keys(plan.parameters)), 'params');
}

function requireKnown(used: ReadonlySet<string>, known: ReadonlySet<string>, root: string): void {
  const missing = used.values().find((name) => !known.has(name));
  if (missing === undefined) return;
  throw invalidInput(`It uses ${root}.${missing.slice(0, 40)}; there is ${[...known].join(', ') || 'none'}`);
}
