import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { copyJsonObject } from '../schema/plain-json.ts';
import { SchemaValidator } from '../schema/schema-validator.ts';
import { isLineNumber, isSecretName } from '../schema/secrets.ts';
import type { ToolAnswer, ToolQuestion } from './tool-definition.ts';

const LIMITS = { maxSize: 16_384, maxDepth: 8 };
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_FIELDS = 20;
const MAX_CHOICES = 100;
const KEY = /^[A-Za-z0-9_-]{1,64}$/;

const text = { type: 'string' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const names = { type: 'array', minItems: 1, maxItems: MAX_CHOICES, items: text } as const;
const titled = {
  type: 'array',
  minItems: 1,
  maxItems: MAX_CHOICES,
  items: { type: 'object', properties: { const: text, title: text }, required: ['const', 'title'], additionalProperties: false },
} as const;
const [aNumber, anInteger] = [numbers('number'), numbers('integer')];

/** Schema of the fields that clients can show (PrimitiveSchemaDefinition of the Model Context Protocol). */
const FIELD: JsonSchema = {
  type: 'object',
  anyOf: [
    field('string', { minLength: count, maxLength: count, format: { enum: ['email', 'uri', 'date', 'date-time'] }, default: text }),
    field('string', { enum: names, enumNames: names, default: text }, ['enum']),
    field('string', { oneOf: titled, default: text }, ['oneOf']),
    aNumber,
    anInteger,
    field('boolean', { default: { type: 'boolean' } }),
    field('array', { items: arrayOf('enum', { type: { const: 'string' }, enum: names }), ...bounds() }, ['items']),
    field('array', { items: arrayOf('anyOf', { anyOf: titled }), ...bounds() }, ['items']),
  ],
};

const validator = new SchemaValidator({ maxCompiled: 50 });

/** Checks a question and shortens its message. Throws VALIDATION_ERROR if clients cannot show the question or if it asks for a secret. */
export function checkQuestion({ key = 'answer', message, schema }: ToolQuestion): Required<ToolQuestion> {
  if (!KEY.test(key)) throw refusal('key has to be 1 to 64 letters, digits, _ or -');
  if (typeof message !== 'string' || message === '') throw refusal('message has to say what is asked');
  const copy = copyJsonObject(schema, LIMITS);
  const fields = fieldsOf(copy);
  for (const [name, kind] of Object.entries(fields)) checkField(name, kind);
  const { required = [] } = copy;
  if (!Array.isArray(required) || !required.every((name) => typeof name === 'string' && Object.hasOwn(fields, name)))
    throw refusal('schema.required has to be a list of names in schema.properties');
  return { key, message: message.slice(0, MAX_MESSAGE_LENGTH), schema: { type: 'object', properties: fields, required } };
}

/** Parses a client's answer. Drops undeclared members. Returns undefined if the answer does not match the question's schema. */
export function parseAnswer({ schema }: Pick<ToolQuestion, 'schema'>, given: Json | undefined): ToolAnswer | undefined {
  if (!isJsonObject(given)) return undefined;
  const { action, content = {} } = given;
  if (action === 'decline' || action === 'cancel') return { action };
  if (action !== 'accept' || !isJsonObject(content)) return undefined;
  const fields = fieldsOf(schema);
  const known = Object.fromEntries(Object.entries(content).filter(([name]) => Object.hasOwn(fields, name)));
  const check = validator.check({ ...schema, properties: withoutDefaults(fields) }, known);
  return check.isValid ? { action, content: known } : undefined;
}

function fieldsOf({ type, properties }: JsonSchema): JsonObject {
  if (type === 'object' && isJsonObject(properties) && Object.keys(properties).length <= MAX_FIELDS) return properties;
  throw refusal(`schema has to be {"type": "object", "properties": {…}} with at most ${MAX_FIELDS} fields`);
}

function checkField(name: string, kind: Json | undefined): void {
  const shown = JSON.stringify(name.slice(0, 64));
  const isSecret = isSecretName(name) && !(isJsonObject(kind) && isLineNumber(name, kind));
  if (isSecret) throw refusal(`${shown} is a secret, which nobody is asked for: the answer passes the caller and its model`);
  if (!validator.check(FIELD, kind).isValid) throw refusal(`${shown} is no text, number, boolean or choice as forms can show it`);
}

/** Removes `default` from the fields. Otherwise a required field that the person left empty would count as filled. */
function withoutDefaults(fields: JsonObject): JsonObject {
  const bare = (kind: Json): Json =>
    isJsonObject(kind) ? Object.fromEntries(Object.entries(kind).filter(([key]) => key !== 'default')) : kind;
  return Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, bare(kind ?? {})]));
}

function field(type: string, more: JsonObject, required: readonly string[] = []): JsonObject {
  const properties = { type: { const: type }, title: text, description: text, ...more };
  return { properties, required: ['type', ...required], additionalProperties: false };
}

function numbers(type: 'number' | 'integer'): JsonObject {
  return field(type, { minimum: { type }, maximum: { type }, default: { type } });
}

function arrayOf(keyword: string, properties: JsonObject): JsonObject {
  return { type: 'object', properties, required: [keyword], additionalProperties: false };
}

function bounds(): JsonObject {
  return { minItems: count, maxItems: count, default: { type: 'array', items: text } };
}

function refusal(what: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `The question of the tool cannot be asked: ${what}`);
}
