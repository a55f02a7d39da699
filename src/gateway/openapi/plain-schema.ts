import type { JsonSchema } from '../../core/json.ts';
import { mapSchema } from '../../tools/schema/schema-walk.ts';

const plain = new WeakMap<JsonSchema, JsonSchema>();

/** A schema for other programs, made once for each: without the keywords `x-…` that only the hub reads. */
export function plainSchema(schema: JsonSchema): JsonSchema {
  const known = plain.get(schema);
  if (known) return known;
  const made = mapSchema(schema, (child) => ({
    ...Object.fromEntries(Object.entries(child).filter(([keyword]) => !keyword.startsWith('x-'))),
    ...(isFree(child) && { additionalProperties: true }),
  }));
  plain.set(schema, made);
  return made;
}

/** It is what JSON Schema says of it anyway; generators of clients take an object without members for one that has none. */
function isFree({ type, properties, additionalProperties }: JsonSchema): boolean {
  return type === 'object' && properties === undefined && additionalProperties === undefined;
}
