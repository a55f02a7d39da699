import { AtmoError } from '../../../core/errors.ts';
import { isJsonObject, type Json } from '../../../core/json.ts';
import { lintDefinition } from '../../../tools/definition/definition-lint.ts';
import { normalizeDefinition } from '../../../tools/definition/normalize-definition.ts';
import type { ToolDefinition } from '../../../tools/definition/tool-definition.ts';
import { harmlessSchema } from '../../../tools/schema/harmless-schema.ts';
import type { SchemaValidator } from '../../../tools/schema/schema-validator.ts';
import { isPlainText, plainText } from './plain-text.ts';

/** Members that are read by people and models only: they may be cut and cleaned without a change of meaning. */
const PROSE_LIMITS: Readonly<Record<string, number>> = { description: 2_000, title: 200, author: 100, area: 64, $comment: 200 };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The definition that another hub offers, as JSON text of its public form (source 000 §2). It passes what every definition
 * of this hub passes, its schemas end every check soon, and its prose is cleaned of control characters and bounded: it will stand before people and models.
 * VALIDATION_ERROR or PAYLOAD_TOO_LARGE says why there is none.
 */
export function readRemoteDefinition(bytes: Uint8Array, validator: SchemaValidator): ToolDefinition {
  const told = normalizeDefinition(cleaned(parse(bytes), ''));
  const definition = { ...told, parameters: harmlessSchema(told.parameters), returns: harmlessSchema(told.returns) };
  const { maxMemoryBytes, maxFuel } = definition.execution;
  // What it says that it keeps to is kept there: scripts count their steps, processes their memory.
  const bounded = maxMemoryBytes === undefined ? undefined : 'process';
  const isolation = maxFuel === undefined ? bounded : 'script';
  // Examples stay unchecked: a pattern and an example of one maker can keep a processor busy for hours.
  const plain = { ...definition, metadata: { ...definition.metadata, examples: [] } };
  const problem = lintDefinition(plain, validator, isolation).find(({ severity }) => severity === 'error');
  if (problem) throw new AtmoError('VALIDATION_ERROR', `${problem.pointer} ${problem.message}`, { pointer: problem.pointer });
  return definition;
}

function parse(bytes: Uint8Array): Json {
  try {
    return JSON.parse(utf8.decode(bytes)) as Json;
  } catch (error) {
    throw new AtmoError('VALIDATION_ERROR', 'The definition is not JSON in UTF-8', {}, { cause: error });
  }
}

/** `key` is the member that holds the value. */
function cleaned(value: Json, key: string): Json {
  if (typeof value === 'string') return cleanedText(value, key);
  if (Array.isArray(value)) return value.map((item: Json) => cleaned(item, key === 'tags' ? 'title' : ''));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [cleanedText(name, ''), cleaned(item, name)]));
}

function cleanedText(value: string, key: string): string {
  const limit = PROSE_LIMITS[key];
  if (limit !== undefined) return plainText(value, limit);
  // A name, choice or pattern means what it says byte for byte: it is whole or it is not taken.
  if (isPlainText(value)) return value;
  throw new AtmoError('VALIDATION_ERROR', 'A name or value of the definition has control characters');
}
