import type { JsonSchema } from '../../core/json.ts';

const own = new WeakSet<JsonSchema>();

/**
 * Marks a schema that this program wrote itself. Tests hold it, and the examples beside it, against what a schema from outside has to
 * prove at each start.
 */
export function ownSchema(schema: JsonSchema): JsonSchema {
  own.add(schema);
  return schema;
}

/** False for every schema that came from outside, and for copies. */
export const isOwnSchema = (schema: JsonSchema): boolean => own.has(schema);
