import { AtmoError } from '../../../core/errors.ts';
import { isWrittenVisibly, visibleLine, visibleText } from '../../../core/foreign-text.ts';
import { isJsonObject, type Json } from '../../../core/json.ts';
import { lintDefinition } from '../../../tools/definition/definition-lint.ts';
import { normalizeDefinition } from '../../../tools/definition/normalize-definition.ts';
import type { ToolDefinition } from '../../../tools/definition/tool-definition.ts';
import { parseToolName } from '../../../tools/definition/tool-name.ts';
import { harmlessSchema } from '../../../tools/schema/harmless-schema.ts';
import type { SchemaValidator } from '../../../tools/schema/schema-validator.ts';
import { ALIAS_TAG, type OfferedTool } from '../announce/offered-definition.ts';

/** Members that are read by people and models only: they may be cut and cleaned without a change of meaning. */
const PROSE_LIMITS: Readonly<Record<string, number>> = { description: 2_000, $comment: 200 };
const LINE_LIMITS: Readonly<Record<string, number>> = { title: 200, author: 100, area: 64 };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The definition that another hub offers, as JSON text of its public form (source 000 §2). It passes what every definition
 * of this hub passes, its schemas end every check soon, and its prose is cleaned of hidden characters and bounded: it will stand before people and models.
 * The tool of a device comes with its other names. VALIDATION_ERROR or PAYLOAD_TOO_LARGE says why there is none.
 */
export function readRemoteDefinition(bytes: Uint8Array, validator: SchemaValidator): OfferedTool {
  const { definition: told, aliases } = withoutAliases(normalizeDefinition(cleaned(parse(bytes), '')));
  const definition = { ...told, parameters: harmlessSchema(told.parameters), returns: harmlessSchema(told.returns) };
  const { maxMemoryBytes, maxFuel } = definition.execution;
  // What it says that it keeps to is kept there: scripts count their steps, processes their memory.
  const bounded = maxMemoryBytes === undefined ? undefined : 'process';
  const isolation = maxFuel === undefined ? bounded : 'script';
  // Examples stay unchecked: a pattern and an example of one maker can keep a processor busy for hours.
  const plain = { ...definition, metadata: { ...definition.metadata, examples: [] } };
  const problem = lintDefinition(plain, validator, isolation).find(({ severity }) => severity === 'error');
  if (problem) throw new AtmoError('VALIDATION_ERROR', `${problem.pointer} ${problem.message}`, { pointer: problem.pointer });
  return { definition: withDevicePermission(definition), ...(aliases.length > 0 && { aliases }) };
}

/** Tools of this namespace act on devices of the hub that announces them. */
const MATTER = 'matter';
/** Other names of one tool; those beyond are the oldest. */
const MAX_ALIASES = 64;
const STRICTEST = 'admin:device';

/** Takes the other names out of the tags; only those of a device's tool count, since nothing else is renamed. */
function withoutAliases(definition: ToolDefinition): Required<OfferedTool> {
  const { metadata } = definition;
  const isName = (tag: string) => tag.startsWith(ALIAS_TAG);
  const isBare = (name: string) => parseToolName(name)?.name === name;
  const names = metadata.tags.filter(isName).map((tag) => tag.slice(ALIAS_TAG.length));
  const aliases = metadata.device === undefined ? [] : names.filter(isBare).slice(0, MAX_ALIASES);
  return { definition: { ...definition, metadata: { ...metadata, tags: metadata.tags.filter((tag) => !isName(tag)) } }, aliases };
}

/**
 * Who may see and call a device's tool is decided by its device: permissions that leave the device out, or ask for less than the
 * tool's effects need, would widen what an agent sees. Such a tool is the administrators' alone.
 */
function withDevicePermission(definition: ToolDefinition): ToolDefinition {
  const { namespace, requires, metadata } = definition;
  if (namespace !== MATTER) return definition;
  const about = metadata.device ?? '{device_id}';
  const actions = isHarmless(definition) ? ['read', 'control'] : ['control'];
  const enough = [STRICTEST, `${STRICTEST}:${about}`, ...actions.map((action) => `device:${action}:${about}`)];
  // The hub's own tools of a network, such as that which commissions, are administration and belong to no device yet.
  const isAdministration = metadata.device === undefined && requires.permissions.some((permission) => permission.startsWith('admin:'));
  if (isAdministration || requires.permissions.some((permission) => enough.includes(permission))) return definition;
  return { ...definition, requires: { ...requires, permissions: [...requires.permissions, STRICTEST] } };
}

function isHarmless({ execution, metadata }: ToolDefinition): boolean {
  return !execution.hasSideEffects && !metadata.isDangerous;
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
  const line = LINE_LIMITS[key];
  if (line !== undefined) return visibleLine(value, line);
  const prose = PROSE_LIMITS[key];
  if (prose !== undefined) return visibleText(value, prose);
  // A name, choice or pattern means what it says byte for byte: it is whole or it is not taken.
  if (isWrittenVisibly(value)) return value;
  throw new AtmoError('VALIDATION_ERROR', 'A name or value of the definition has hidden characters');
}
