import type { JsonSchema } from '../../../src/core/json.ts';
import { isSchemaObject, visitSchema } from '../../../src/tools/schema/schema-walk.ts';

/**
 * Why one of the common model servers or clients would refuse a request with this schema of parameters: written from what OpenAI,
 * Anthropic, Gemini and VS Code refuse, apart from the code that makes the schemas.
 */
export function schemaMistakes(schema: JsonSchema): readonly string[] {
  const mistakes: string[] = [];
  if (schema.type !== 'object' || !isSchemaObject(schema.properties)) mistakes.push('the root is no object with properties');
  for (const keyword of ['anyOf', 'oneOf', 'allOf', 'not', 'enum']) if (keyword in schema) mistakes.push(`${keyword} at the root`);
  visitSchema(schema, (part, pointer) => mistakes.push(...mistakesOf(part).map((mistake) => `${pointer}: ${mistake}`)));
  return mistakes;
}

/** The same for the schema of an answer, of which a server only checks that each part is one. */
export function answerMistakes(schema: JsonSchema): readonly string[] {
  const mistakes: string[] = [];
  visitSchema(schema, (part, pointer) => {
    if (Array.isArray(part.type)) mistakes.push(`${pointer}: a list of types`);
    if (part.type === 'array' && !isSchemaObject(part.items)) mistakes.push(`${pointer}: a list without items`);
  });
  return mistakes;
}

function mistakesOf(schema: JsonSchema): readonly string[] {
  const own = Object.keys(schema).filter((keyword) => keyword.startsWith('x-'));
  const { type, items, properties } = schema;
  return [
    ...own.map((keyword) => `our own ${keyword}`),
    ...(Array.isArray(type) ? ['a list of types'] : []),
    ...(type === undefined && !Array.isArray(schema.anyOf) ? ['neither a type nor anyOf'] : []),
    ...(Array.isArray(schema.oneOf) ? ['oneOf'] : []),
    ...(type === 'array' && !isSchemaObject(items) ? ['a list without items'] : []),
    ...(type === 'object' && !isSchemaObject(properties) ? ['an object without properties'] : []),
  ];
}

/** A schema as adapters leave it that know no branches: of `anyOf` they keep the members of the objects among them. */
export function withoutBranches({ anyOf, oneOf, ...rest }: JsonSchema): JsonSchema {
  const branches = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list : [])).filter(isSchemaObject);
  const objects = branches.filter(({ type, properties }) => type === 'object' || isSchemaObject(properties));
  const members = objects.map((branch) => withoutBranches(branch).properties).filter(isSchemaObject);
  const properties = Object.assign({}, rest.properties, ...members) as JsonSchema;
  const reduced = Object.entries(properties).map(([name, part]) => [name, isSchemaObject(part) ? withoutBranches(part) : part]);
  return {
    ...rest,
    ...(objects.length > 0 && { type: rest.type ?? 'object' }),
    ...(reduced.length > 0 && { properties: Object.fromEntries(reduced) }),
    ...(isSchemaObject(rest.items) && { items: withoutBranches(rest.items) }),
  };
}
