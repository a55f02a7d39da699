import type { JsonSchema } from '../../core/json.ts';
import { mapSchema } from '../../tools/schema/schema-walk.ts';

const plain = new WeakMap<JsonSchema, JsonSchema>();

/** A tool's schema for other programs: without the keywords `x-…` that only the hub reads. Made once for each. */
export function plainSchema(schema: JsonSchema): JsonSchema {
  const known = plain.get(schema);
  if (known) return known;
  const made = mapSchema(schema, (child) => Object.fromEntries(Object.entries(child).filter(([keyword]) => !keyword.startsWith('x-'))));
  plain.set(schema, made);
  return made;
}
