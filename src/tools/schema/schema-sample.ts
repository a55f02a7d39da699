import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';

/** The plainest parameters that a schema allows: defaults, first choices, lower bounds; only what is required. */
export function sampleParams(schema: JsonSchema): JsonObject {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  return Object.fromEntries(required.map((name) => [String(name), sampleValue(properties[String(name)])]));
}

function sampleValue(schema: unknown): Json {
  if (!isJsonObject(schema)) return null;
  if (schema.const !== undefined) return schema.const;
  for (const keyword of ['examples', 'enum'] as const) {
    const choices = schema[keyword];
    if (Array.isArray(choices) && choices[0] !== undefined) return choices[0];
  }
  if (schema.default !== undefined) return schema.default;
  return sampleOfType(schema);
}

function sampleOfType(schema: JsonObject): Json {
  const [type] = [schema.type].flat();
  switch (type) {
    case 'string':
      return 'a'.repeat(Math.max(1, Number(schema.minLength ?? 1)));
    case 'number':
    case 'integer':
      return Number(schema.minimum ?? 1);
    case 'boolean':
      return true;
    case 'array':
      return Array.from({ length: Number(schema.minItems ?? 0) }, () => sampleValue(schema.items));
    case 'object':
      return sampleParams(schema);
    default:
      return null;
  }
}
