import type { JsonObject, JsonSchema } from '../../../src/core/json.ts';
import { isSchemaObject, visitSchema } from '../../../src/tools/schema/schema-walk.ts';

/** What OpenAI documents of schemas in strict mode (Structured Outputs, supported schemas), by type. */
const COMMON = ['type', 'description', 'enum', 'const', 'anyOf'];
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ['pattern', 'format'],
  number: ['multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  integer: ['multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  array: ['items', 'minItems', 'maxItems'],
  object: ['properties', 'required', 'additionalProperties'],
  boolean: [],
  null: [],
};
const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const LOOKAROUND = /\(\?[=!<]/;

interface OpenAiFunction {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly strict?: boolean;
}

/** Why OpenAI would refuse a function: written from its documentation, apart from the code that makes the functions. */
export function openAiMistakes({ name, description, parameters, strict }: OpenAiFunction): readonly string[] {
  const mistakes: string[] = [];
  if (!NAME.test(name)) mistakes.push(`name ${name}`);
  if (description.length > 1_024) mistakes.push(`description of ${description.length} characters`);
  if (parameters.type !== 'object' || 'anyOf' in parameters) mistakes.push('the root is no object');
  if (strict !== true) return mistakes;
  visitSchema(parameters, (schema, pointer) => mistakes.push(...mistakesOf(schema).map((mistake) => `${pointer}: ${mistake}`)));
  return mistakes;
}

function mistakesOf(schema: JsonSchema): readonly string[] {
  const types = [schema.type ?? []].flat().map(String);
  if (types.length === 0 && !Array.isArray(schema.anyOf)) return ['neither a type nor anyOf'];
  const allowed = [...COMMON, ...types.flatMap((type) => KEYWORDS[type] ?? [])];
  return [
    ...Object.keys(schema).flatMap((keyword) => (allowed.includes(keyword) ? [] : [`unsupported ${keyword}`])),
    ...(schema.format === undefined || FORMATS.includes(String(schema.format)) ? [] : [`format ${schema.format}`]),
    ...(LOOKAROUND.test(String(schema.pattern ?? '')) ? ['pattern looks around'] : []),
    ...(types.includes('object') ? objectMistakes(schema) : []),
    ...(types.includes('array') && !isSchemaObject(schema.items) ? ['a list without items'] : []),
  ];
}

function objectMistakes({ properties, required, additionalProperties }: JsonSchema): readonly string[] {
  const names = isSchemaObject(properties) ? Object.keys(properties) : [];
  return [
    ...(additionalProperties === false ? [] : ['an open object']),
    ...(Array.isArray(required) && names.every((name) => required.includes(name)) && required.length === names.length
      ? []
      : ['members that are not required']),
  ];
}
