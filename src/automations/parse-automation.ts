import { AtmoError, invalidInput } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { isTimeZone } from '../core/local-time.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import type { Action, AgentParameter, AutomationPlan, Condition, ReadingTrigger, Trigger } from './automation-schema.ts';
import { EXTERNAL_SCHEMA, PARAMETERS_SCHEMA, PLAN_SCHEMA } from './automation-schema.ts';

const MAX_CONFIG_LENGTH = 16_384;
const HOUR_SECONDS = 3_600;
/** Names of the facts to which actions may refer, by trigger type. All triggers also have the facts in `COMMON_FACTS`. */
const FACTS: Readonly<Record<Trigger['type'], readonly string[]>> = {
  reading: ['sensor_id', 'value', 'previous', 'unit'],
  device_event: ['device_id', 'event', 'cluster', 'data'],
  reachability: ['device_id', 'reachability'],
  time: [],
  every: [],
};
/** Fields that cannot refer to a parameter. Otherwise, `adjust_threshold` could make an automation use another device or tool. */
const WRITTEN_OUT = ['type', 'sensor_id', 'device_id', 'event', 'cluster', 'tool'];
const COMMON_FACTS = ['type', 'at'];

interface CheckedPlan {
  readonly trigger: readonly Trigger[];
  readonly conditions: readonly Condition[];
  readonly actions: readonly Action[];
  readonly cooldown_seconds: number;
  readonly max_runs_per_hour: number;
}

/** Returns the plan of a configuration, with parameters filled in. Throws VALIDATION_ERROR if invalid, PAYLOAD_TOO_LARGE if too long. */
export function parseAutomation(config: JsonObject, validator: SchemaValidator): AutomationPlan {
  checkLength(config);
  const parameters = parseParameters(config, validator);
  const { parameters: _, ...rest } = isJsonObject(config.trigger) ? { ...config, trigger: [config.trigger] } : config;
  for (const part of [rest.trigger, rest.conditions, rest.actions]) requireWrittenOut(part);
  const filled = fillReferences(rest, 'param', (name) => {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (parameter) return parameter.value;
    throw invalidInput(`The parameter ${JSON.stringify(name.slice(0, 40))} is used and not declared under parameters`);
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

/** Checks the configuration of an external agent. Throws VALIDATION_ERROR if it is invalid, and PAYLOAD_TOO_LARGE if it is too long. */
export function checkExternalConfig(config: JsonObject, validator: SchemaValidator): void {
  checkLength(config);
  parseParameters(validator.parameters(EXTERNAL_SCHEMA, config), validator);
}

function checkLength(config: JsonObject): void {
  const { length } = JSON.stringify(config);
  if (length <= MAX_CONFIG_LENGTH) return;
  throw new AtmoError('PAYLOAD_TOO_LARGE', `The config has ${length} characters of JSON; ${MAX_CONFIG_LENGTH} are allowed`);
}

function requireWrittenOut(items: Json | undefined): void {
  for (const item of Array.isArray(items) ? items.filter(isJsonObject) : []) {
    const name = WRITTEN_OUT.find((member) => isJsonObject(item[member]));
    if (name !== undefined) throw invalidInput(`${name} has to be written out; it cannot be a parameter`);
  }
}

function checkTriggers(plan: CheckedPlan): void {
  for (const trigger of plan.trigger) {
    if (trigger.type === 'reading') checkReadingTrigger(trigger);
    if (trigger.type === 'time') checkTimeZone(trigger.time_zone);
    if (trigger.type !== 'every') continue;
    if (trigger.seconds < plan.cooldown_seconds)
      throw invalidInput('cooldown_seconds is longer than the seconds of a trigger of type every');
    if (HOUR_SECONDS / trigger.seconds > plan.max_runs_per_hour) {
      throw invalidInput(
        `Every ${trigger.seconds} s is more often than max_runs_per_hour (${plan.max_runs_per_hour}) allows; raise one of them`,
      );
    }
  }
}

function checkReadingTrigger(trigger: ReadingTrigger): void {
  requireOne(trigger, ['above', 'below', 'equals', 'changes']);
  if (trigger.changes && trigger.for_seconds !== undefined) throw invalidInput('for_seconds does not go together with changes');
  if (trigger.hysteresis !== undefined && trigger.above === undefined && trigger.below === undefined) {
    throw invalidInput('hysteresis goes together with above or below only');
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
  throw invalidInput(`A comparison of a reading has exactly one of ${names.join(', ')}`);
}

function checkTimeZone(name: string | undefined): void {
  if (name === undefined || isTimeZone(name)) return;
  throw invalidInput(`There is no time zone ${JSON.stringify(name.slice(0, 40))}; write an IANA name such as Europe/Berlin`);
}

/** Checks that each trigger has the facts to which the actions refer. */
function checkFacts(plan: CheckedPlan): void {
  const used = referencesIn(plan.actions as unknown as Json, 'trigger');
  for (const { type } of plan.trigger) {
    const facts = [...COMMON_FACTS, ...FACTS[type]];
    const missing = used.values().find((name) => !facts.includes(name));
    if (missing === undefined) continue;
    throw invalidInput(`A trigger of type ${type} has no ${JSON.stringify(missing.slice(0, 40))}; it has ${facts.join(', ')}`);
  }
}

/** Returns the checked parameters by name. Throws VALIDATION_ERROR if a number is outside its bounds, or a text or boolean has bounds. */
export function parseParameters(config: JsonObject, validator: SchemaValidator): Readonly<Record<string, AgentParameter>> {
  const parameters = validator.parameters(PARAMETERS_SCHEMA, config.parameters ?? {}) as Readonly<Record<string, AgentParameter>>;
  for (const [name, parameter] of Object.entries(parameters)) checkParameter(name, parameter, parameter.value);
  return parameters;
}

/** Returns the configuration with one parameter set to `value`, and the old value. Throws NOT_FOUND if the parameter is not declared. */
export function withParameter(
  config: JsonObject,
  name: string,
  value: Json,
): { readonly config: JsonObject; readonly oldValue: AgentParameter['value'] } {
  const parameters = isJsonObject(config.parameters) ? config.parameters : {};
  const parameter = Object.hasOwn(parameters, name) ? (parameters[name] as unknown as AgentParameter) : undefined;
  if (!parameter) {
    const known = Object.keys(parameters).join(', ') || 'none';
    throw new AtmoError('NOT_FOUND', `The agent has no parameter ${JSON.stringify(name.slice(0, 40))}; it declares ${known}`);
  }
  checkParameter(name, parameter, value);
  return { config: { ...config, parameters: { ...parameters, [name]: { ...parameter, value } } }, oldValue: parameter.value };
}

function checkParameter(name: string, parameter: AgentParameter, value: Json): void {
  const { minimum, maximum } = parameter;
  if (typeof value !== typeof parameter.value) throw wrong(name, `is a ${typeof parameter.value}, and stays one`);
  if (typeof value === 'string' && value.length > 256) throw wrong(name, 'has at most 256 characters');
  if (typeof value === 'number') {
    const isInside = value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity);
    if (!isInside)
      throw wrong(name, `has to lie within ${minimum ?? 'anything'} and ${maximum ?? 'anything'} ${parameter.unit ?? ''}`.trim());
  } else if (minimum !== undefined || maximum !== undefined) {
    throw wrong(name, 'has bounds, which only numbers can have');
  }
}

function wrong(name: string, problem: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `The parameter ${name} ${problem}`, { parameter: name });
}

/** Key of a reference: `{"param": "NAME"}` stands for a parameter of the agent, and `{"trigger": "NAME"}` for a fact of the trigger. */
type ReferenceKind = 'param' | 'trigger';

/** Returns a copy in which each `{"<kind>": "NAME"}` is replaced by the result of `lookUp`. Throws the error of `lookUp`. */
export function fillReferences(value: Json, kind: ReferenceKind, lookUp: (name: string) => Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => fillReferences(item, kind, lookUp));
  if (!isJsonObject(value)) return value;
  const name = referredName(value, kind);
  if (name !== undefined) return lookUp(name);
  return Object.fromEntries(Object.entries(value).map(([key, item]): [string, Json] => [key, fillReferences(item, kind, lookUp)]));
}

/** Returns the names in all references of one kind within a value. */
export function referencesIn(value: Json, kind: ReferenceKind): ReadonlySet<string> {
  const names = new Set<string>();
  fillReferences(value, kind, (name) => {
    names.add(name);
    return null;
  });
  return names;
}

function referredName(value: JsonObject, kind: ReferenceKind): string | undefined {
  const name = value[kind];
  return typeof name === 'string' && Object.keys(value).length === 1 ? name : undefined;
}
