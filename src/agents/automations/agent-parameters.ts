import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import type { AgentParameter } from './automation-config.ts';
import { PARAMETERS_SCHEMA } from './automation-schema.ts';

/** Parameters by name, checked; VALIDATION_ERROR for bounds on a text and for a value outside its own bounds. */
export function parseParameters(config: JsonObject, validator: SchemaValidator): ReadonlyMap<string, AgentParameter> {
  const checked = validator.parameters(PARAMETERS_SCHEMA, config.parameters ?? {});
  const parameters = new Map(Object.entries(checked).map(([name, value]) => [name, value as unknown as AgentParameter]));
  for (const [name, parameter] of parameters) checkParameter(name, parameter, parameter.value);
  return parameters;
}

/** The configuration with one parameter set to `value`, and what it was. NOT_FOUND when it is not declared. */
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
