import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema, pointerSegment } from '../../core/json.ts';
import { normalizeDefinition } from '../definition/public-definition.ts';
import type { ToolDefinition } from '../definition/tool-definition.ts';
import { parseToolName, toolId } from '../definition/tool-names.ts';
import { isSchemaObject, propertiesOf, requiredOf } from '../schema/schema-walk.ts';

/** A tool in the format of the HTTP tool service. Its schemas map field names to type words. An optional field's name ends with `?`. */
export interface HdnRecord {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly input_schema: Readonly<Record<string, string>>;
  readonly output_schema: Readonly<Record<string, string>>;
  readonly permissions: readonly string[];
  readonly safety_level: 'low' | 'medium' | 'high';
  readonly created_by: 'system' | 'agent';
  readonly created_at: string;
}

const WORD_TO_TYPE: Readonly<Record<string, string>> = { int: 'integer', float: 'number', bool: 'boolean', map: 'object', list: 'array' };
const JSON_TYPES: readonly string[] = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'any'];
const TYPE_TO_WORD: Readonly<Record<string, string>> = { integer: 'int', boolean: 'bool' };

/** Converts a definition to a record. `createdAtMs` is in milliseconds since 1970. */
export function toHdnRecord(definition: ToolDefinition, createdAtMs: number): HdnRecord {
  return {
    id: toolId(definition),
    name: definition.metadata.title,
    description: definition.description,
    input_schema: flatten(definition.parameters),
    output_schema: flatten(definition.returns),
    permissions: definition.requires.permissions,
    safety_level: safetyLevel(definition),
    created_by: definition.metadata.createdBy,
    created_at: isoTime(createdAtMs),
  };
}

/** A tool that a client sends to the HTTP tool service. Its schemas can also be JSON Schemas with `type: object` and `properties`. */
export type HdnDraft = Omit<HdnRecord, 'input_schema' | 'output_schema' | 'created_at'> & {
  readonly input_schema: JsonObject;
  readonly output_schema: JsonObject;
};

/** Converts a record to a definition. Safety levels other than `low` mean side effects. A permission without `:` gets the ending `:use`. */
export function fromHdnRecord(record: HdnDraft): ToolDefinition {
  const reference = parseToolName(record.id);
  if (!reference)
    throw new AtmoError(
      'VALIDATION_ERROR',
      `The record id ${JSON.stringify(record.id)} is not a tool name: lower case letters, digits and "_", such as good_night`,
      {
        pointer: '/id',
      },
    );
  return normalizeDefinition({
    name: reference.name,
    namespace: reference.namespace ?? (record.created_by === 'agent' ? 'agent' : 'core'),
    version: reference.version ?? '1.0.0',
    title: record.name,
    description: record.description,
    parameters: unflatten(record.input_schema, '/input_schema'),
    returns: Object.keys(record.output_schema).length === 0 ? {} : unflatten(record.output_schema, '/output_schema'),
    requires: { permissions: record.permissions.map((power) => (power.includes(':') ? power : `${power}:use`)) },
    execution: { side_effects: record.safety_level !== 'low' },
    dangerous: record.safety_level === 'high',
    metadata: { created_by: record.created_by },
  });
}

function safetyLevel({ metadata, execution }: ToolDefinition): HdnRecord['safety_level'] {
  if (metadata.isDangerous) return 'high';
  return execution.hasSideEffects ? 'medium' : 'low';
}

function flatten(schema: JsonSchema): Readonly<Record<string, string>> {
  const required = requiredOf(schema);
  const words = Object.entries(propertiesOf(schema)).map(([name, property]): [string, string] => [
    required.includes(name) ? name : `${name}?`,
    typeWord(property),
  ]);
  return Object.fromEntries(words);
}

function typeWord(property: unknown): string {
  const type = isSchemaObject(property) ? property.type : undefined;
  if (type === 'array' && isSchemaObject(property)) return `${typeWord(property.items)}[]`;
  return typeof type === 'string' ? (TYPE_TO_WORD[type] ?? type) : 'any';
}

function unflatten(words: JsonObject, pointer: string): JsonObject {
  if (words.type === 'object' && isJsonObject(words.properties)) return words;
  const entries = Object.entries(words).map(([key, word]) => ({ name: key.replace(/\?$/, ''), isOptional: key.endsWith('?'), word }));
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(({ name, word }) => [name, schemaOfWord(word, `${pointer}/${pointerSegment(name)}`)])),
    required: entries.filter(({ isOptional }) => !isOptional).map(({ name }) => name),
  };
}

function schemaOfWord(word: Json, pointer: string): JsonObject {
  if (typeof word !== 'string') {
    throw new AtmoError('VALIDATION_ERROR', `${pointer} has to be the word of a type, such as string or int`, { pointer });
  }
  if (word.endsWith('[]')) return { type: 'array', items: schemaOfWord(word.slice(0, -2), pointer) };
  const type = WORD_TO_TYPE[word] ?? word;
  if (type === 'any') return {};
  if (JSON_TYPES.includes(type)) return { type };
  throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(word.slice(0, 40))} is not a type; use ${JSON_TYPES.join(', ')}`, { pointer });
}
