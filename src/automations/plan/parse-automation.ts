import { AtmoError, invalidInput } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { checkPlan } from './check-plan.ts';
import type { Condition } from './condition-schema.ts';
import { type AgentParameter, type AutomationPlan, EXTERNAL_SCHEMA, PARAMETERS_SCHEMA, PLAN_SCHEMA, WRITTEN_OUT } from './plan-schema.ts';
import { fillReferences } from './references.ts';
import type { Step } from './step-schema.ts';
import type { Trigger } from './trigger-schema.ts';

const MAX_CONFIG_LENGTH = 16_384;

interface CheckedPlan {
  readonly trigger: readonly Trigger[];
  readonly conditions: readonly Condition[];
  readonly actions: readonly Step[];
  readonly cooldown_seconds: number;
  readonly max_runs_per_hour: number;
}

/** Returns the plan of a configuration, with parameters filled in. Throws VALIDATION_ERROR if invalid, PAYLOAD_TOO_LARGE if too long. */
export function parseAutomation(config: JsonObject, validator: SchemaValidator): AutomationPlan {
  checkLength(config);
  const parameters = parseParameters(config, validator);
  const { parameters: _, ...rest } = isJsonObject(config.trigger) ? { ...config, trigger: [config.trigger] } : config;
  for (const part of [rest.trigger, rest.conditions, rest.actions]) requireWrittenOut(part);
  const filled = fillReferences(rest, {
    param: (name) => {
      const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
      if (parameter) return parameter.value;
      throw invalidInput(`The parameter ${JSON.stringify(name.slice(0, 40))} is used and not declared under parameters`);
    },
  });
  const checked = validator.parameters(PLAN_SCHEMA, filled) as unknown as CheckedPlan;
  const plan = {
    triggers: checked.trigger,
    conditions: checked.conditions,
    actions: checked.actions,
    parameters: Object.fromEntries(Object.entries(parameters).map(([name, { value }]) => [name, value])),
    cooldownMs: checked.cooldown_seconds * 1000,
    maxRunsPerHour: checked.max_runs_per_hour,
  };
  checkPlan(plan);
  return plan;
}

/** Returns the plan of a configuration; undefined if it is invalid, such as a stored one of an earlier version. */
export function planOrNone(config: JsonObject, validator: SchemaValidator): AutomationPlan | undefined {
  try {
    return parseAutomation(config, validator);
  } catch {
    return undefined;
  }
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

/** Throws VALIDATION_ERROR if a parameter stands for what has to be written out, at any depth. */
function requireWrittenOut(value: Json | undefined): void {
  if (Array.isArray(value)) for (const item of value) requireWrittenOut(item);
  if (!isJsonObject(value)) return;
  const name = WRITTEN_OUT.find((member) => isJsonObject(value[member]));
  if (name !== undefined) throw invalidInput(`${name} has to be written out; it cannot be a parameter`);
  for (const [member, item] of Object.entries(value)) (member === 'params' ? requireWrittenExpressions : requireWrittenOut)(item);
}

/**
 * Throws VALIDATION_ERROR if `expr` among the parameters of a call is a parameter of the automation instead of a text. Otherwise, a caller who
 * may only set the parameter could write the expression.
 */
function requireWrittenExpressions(value: Json): void {
  if (Array.isArray(value)) for (const item of value) requireWrittenExpressions(item);
  if (!isJsonObject(value)) return;
  if (Object.keys(value).length === 1 && isJsonObject(value.expr) && 'param' in value.expr)
    throw invalidInput('expr has to be written out; use params.NAME in the expression for a parameter');
  for (const item of Object.values(value)) requireWrittenExpressions(item);
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
