import { PARAMETERS_SCHEMA, PLAN_SCHEMA, WRITTEN_OUT } from '../src/automations/plan/plan-schema.ts';
import { isJsonObject, type Json, objectOf } from '../src/core/json.ts';

/** Members in which nothing is replaced: what callers write there is theirs, or has to be written out. */
const KEPT: ReadonlySet<string> = new Set([...WRITTEN_OUT, 'params', 'parameters', 'conditions', 'actions', 'otherwise', 'while']);
const REFERENCE = { $ref: '#/$defs/reference' };

/** Returns the JSON Schema (draft 2020-12) by which editors check the file of an automation, as the text of docs/automation.schema.json. */
export function automationJsonSchema(): string {
  const plan = objectOf(JSON.parse(JSON.stringify(PLAN_SCHEMA)));
  const { trigger, ...members } = objectOf(plan.properties);
  const one = withReferences(objectOf(trigger).items ?? {});
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://atmosphere.dev/schemas/automation/v1',
    title: 'Automation',
    description: 'What an automation of the hub does: docs/automations.md',
    ...plan,
    properties: {
      $schema: { type: 'string' },
      parameters: PARAMETERS_SCHEMA,
      trigger: { anyOf: [{ ...objectOf(trigger), items: one }, one] },
      ...objectOf(withReferences(without(members, 'parameters'))),
    },
    $defs: {
      ...objectOf(withReferences(plan.$defs ?? {})),
      reference: {
        type: 'object',
        required: ['param'],
        additionalProperties: false,
        properties: {
          param: { type: 'string', ...objectOf(PARAMETERS_SCHEMA.propertyNames), description: 'A parameter of the automation' },
        },
      },
    },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** Returns a schema in which the members of objects that are numbers, texts or truth values may also be a reference to a parameter. */
function withReferences(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map((item: Json) => withReferences(item));
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]): [string, Json] => [
      key,
      key === 'properties' && isJsonObject(value) ? membersOf(value) : key === 'if' ? value : withReferences(value),
    ]),
  );
}

function membersOf(properties: Readonly<Record<string, Json>>): Json {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]): [string, Json] => [name, memberOf(name, schema)]));
}

function memberOf(name: string, schema: Json): Json {
  if (!isJsonObject(schema)) return schema;
  const isValue = (typeof schema.type === 'string' && schema.type !== 'array' && schema.type !== 'object') || Array.isArray(schema.type);
  if (KEPT.has(name)) return name === 'params' ? schema : withReferences(schema);
  return isValue || schema.enum !== undefined ? { anyOf: [schema, REFERENCE] } : withReferences(schema);
}

function without(members: Readonly<Record<string, Json>>, name: string): Json {
  return Object.fromEntries(Object.entries(members).filter(([key]) => key !== name));
}
