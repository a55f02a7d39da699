import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../core/json.ts';
import { isSchemaObject, visitSchema } from './schema-walk.ts';

/** What stands for a secret parameter in audit, events and approvals. */
export const SECRET_MASK = '[secret]';

const secretive = new WeakMap<JsonSchema, boolean>();

/** Parameters with every value whose schema says `x-secret: true` replaced by `mask(value)`. */
export function maskSecrets(schema: JsonSchema, params: JsonObject, mask: (value: Json) => string = () => SECRET_MASK): JsonObject {
  if (!hasSecrets(schema)) return params;
  const masked = maskValue(schema, params, mask);
  return isJsonObject(masked) ? masked : {};
}

function hasSecrets(schema: JsonSchema): boolean {
  const known = secretive.get(schema);
  if (known !== undefined) return known;
  let found = false;
  visitSchema(schema, (child) => {
    found ||= child['x-secret'] === true;
  });
  secretive.set(schema, found);
  return found;
}

function maskValue(schema: unknown, value: Json, mask: (value: Json) => string): Json {
  if (!isSchemaObject(schema)) return value;
  if (schema['x-secret'] === true) return mask(value);
  if (Array.isArray(value)) return value.map((item: Json) => maskValue(schema.items, item, mask));
  if (!isJsonObject(value)) return value;
  const properties = isSchemaObject(schema.properties) ? schema.properties : {};
  const members = Object.entries(value).map(([key, item]): [string, Json] => [key, maskValue(properties[key], item, mask)]);
  return Object.fromEntries(members);
}
