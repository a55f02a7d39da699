import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { isTimeZone } from '../triggers/local-time.ts';
import { parseParameters } from './agent-parameters.ts';
import type { Action, AutomationPlan, Condition, ReadingTrigger, Trigger } from './automation-config.ts';
import { EXTERNAL_SCHEMA, PLAN_SCHEMA } from './automation-schema.ts';
import { fillReferences, referencesIn } from './reference.ts';

const MAX_CONFIG_LENGTH = 16_384;
const HOUR_SECONDS = 3_600;
/** What an action may refer to, beside what every trigger tells. */
const FACTS: Readonly<Record<Trigger['type'], readonly string[]>> = {
  reading: ['sensor_id', 'value', 'previous', 'unit'],
  device_event: ['device_id', 'event', 'cluster', 'data'],
  reachability: ['device_id', 'reachability'],
  time: [],
  every: [],
};
/** What an agent is about stays what its author wrote: `adjust_threshold` changes values only. */
const WRITTEN_OUT = ['type', 'sensor_id', 'device_id', 'event', 'cluster', 'tool'];
const COMMON_FACTS = ['type', 'at'];

interface CheckedPlan {
  readonly trigger: readonly Trigger[];
  readonly conditions: readonly Condition[];
  readonly actions: readonly Action[];
  readonly cooldown_seconds: number;
  readonly max_runs_per_hour: number;
}

/** The plan of an automation's configuration as its parameters stand now; VALIDATION_ERROR or PAYLOAD_TOO_LARGE says what is wrong. */
export function parseAutomation(config: JsonObject, validator: SchemaValidator): AutomationPlan {
  checkLength(config);
  const parameters = parseParameters(config, validator);
  const { parameters: _, ...rest } = asList(config);
  for (const part of [rest.trigger, rest.conditions, rest.actions]) requireWrittenOut(part);
  const filled = fillReferences(rest, 'param', (name) => {
    const parameter = parameters.get(name);
    if (parameter) return parameter.value;
    throw invalid(`The parameter ${JSON.stringify(name.slice(0, 40))} is used and not declared under parameters`);
  });
  const plan = validator.parameters(PLAN_SCHEMA, filled) as unknown as CheckedPlan;
  checkTriggers(plan);
  checkConditions(plan.conditions);
  checkFacts(plan);
  return {
    triggers: plan.trigger,
    conditions: plan.conditions,
    actions: plan.actions,
    cooldownMs: plan.cooldown_seconds * 1000,
    maxRunsPerHour: plan.max_runs_per_hour,
  };
}

/** Checks what an external agent was given. */
export function checkExternalConfig(config: JsonObject, validator: SchemaValidator): void {
  checkLength(config);
  parseParameters(validator.parameters(EXTERNAL_SCHEMA, config), validator);
}

function checkLength(config: JsonObject): void {
  const { length } = JSON.stringify(config);
  if (length <= MAX_CONFIG_LENGTH) return;
  throw new AtmoError('PAYLOAD_TOO_LARGE', `The config has ${length} characters of JSON; ${MAX_CONFIG_LENGTH} are allowed`);
}

function asList(config: JsonObject): JsonObject {
  return isJsonObject(config.trigger) ? { ...config, trigger: [config.trigger] } : config;
}

function requireWrittenOut(items: Json | undefined): void {
  for (const item of Array.isArray(items) ? items.filter(isJsonObject) : []) {
    const name = WRITTEN_OUT.find((member) => isJsonObject(item[member]));
    if (name !== undefined) throw invalid(`${name} has to be written out; it cannot be a parameter`);
  }
}

function checkTriggers(plan: CheckedPlan): void {
  for (const trigger of plan.trigger) {
    if (trigger.type === 'reading') checkReadingTrigger(trigger);
    if (trigger.type === 'time') checkTimeZone(trigger.time_zone);
    if (trigger.type !== 'every') continue;
    if (trigger.seconds < plan.cooldown_seconds) throw invalid('cooldown_seconds is longer than the seconds of a trigger of type every');
    if (HOUR_SECONDS / trigger.seconds > plan.max_runs_per_hour) {
      throw invalid(
        `Every ${trigger.seconds} s is more often than max_runs_per_hour (${plan.max_runs_per_hour}) allows; raise one of them`,
      );
    }
  }
}

function checkReadingTrigger(trigger: ReadingTrigger): void {
  requireOne(trigger, ['above', 'below', 'equals', 'changes']);
  if (trigger.changes && trigger.for_seconds !== undefined) throw invalid('for_seconds does not go together with changes');
  if (trigger.hysteresis !== undefined && trigger.above === undefined && trigger.below === undefined) {
    throw invalid('hysteresis goes together with above or below only');
  }
}

function checkConditions(conditions: readonly Condition[]): void {
  for (const condition of conditions) {
    if (condition.type === 'reading') requireOne(condition, ['above', 'below', 'equals']);
    else checkTimeZone(condition.time_zone);
  }
}

function requireOne(comparison: object, names: readonly string[]): void {
  if (names.filter((name) => name in comparison).length === 1) return;
  throw invalid(`A comparison of a reading has exactly one of ${names.join(', ')}`);
}

function checkTimeZone(name: string | undefined): void {
  if (name === undefined || isTimeZone(name)) return;
  throw invalid(`There is no time zone ${JSON.stringify(name.slice(0, 40))}; write an IANA name such as Europe/Berlin`);
}

/** Whichever trigger fires, it has to tell what the actions ask for. */
function checkFacts(plan: CheckedPlan): void {
  const used = referencesIn(plan.actions as unknown as Json, 'trigger');
  for (const { type } of plan.trigger) {
    const told = [...COMMON_FACTS, ...FACTS[type]];
    const missing = [...used].find((name) => !told.includes(name));
    if (missing === undefined) continue;
    throw invalid(`A trigger of type ${type} tells no ${JSON.stringify(missing.slice(0, 40))}; it tells ${told.join(', ')}`);
  }
}

function invalid(message: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', message);
}
