import { AtmoError } from '../../core/errors.ts';
import { givenName } from '../../core/foreign-text.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { isSchemaObject, visitSchema } from './schema-walk.ts';

/** Marks a text as what somebody calls something from now on. */
export const GIVEN_NAME = 'x-given-name';

/** True where a schema has such a text, however deep. */
export function hasGivenNames(schema: JsonSchema): boolean {
  let found = false;
  visitSchema(schema, (child) => {
    found ||= child[GIVEN_NAME] === true;
  });
  return found;
}

/** The parameters with the names in them as they are kept. VALIDATION_ERROR for a name of which nobody would see anything. */
export function withGivenNames(schema: JsonSchema, params: JsonObject): JsonObject {
  const kept = keptIn(schema, params, '');
  return isJsonObject(kept) ? kept : params;
}

function keptIn(schema: unknown, value: Json, pointer: string): Json {
  if (!isSchemaObject(schema)) return value;
  if (typeof value === 'string') return schema[GIVEN_NAME] === true ? keptName(schema, value, pointer) : value;
  if (Array.isArray(value)) return value.map((item: Json, index) => keptIn(schema.items, item, `${pointer}/${index}`));
  if (!isJsonObject(value)) return value;
  const { properties } = schema;
  if (!isSchemaObject(properties)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, keptIn(properties[key], item, `${pointer}/${key}`)]));
}

function keptName({ minLength, maxLength }: JsonSchema, text: string, pointer: string): string {
  const name = givenName(text, typeof maxLength === 'number' ? maxLength : undefined);
  const mayBeEmpty = minLength === undefined && text.trim() === '';
  if (name !== '' || mayBeEmpty) return name;
  throw new AtmoError('VALIDATION_ERROR', `${pointer.slice(1)} has no character that anybody sees; give a name that can be read`, {
    pointer,
  });
}
