import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../../core/json.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import { toMcp } from '../../../tools/forms/tool-export.ts';
import { copyJsonObject, RESULT_LIMITS } from '../../../tools/schema/plain-json.ts';
import { isSchemaObject, mapSchema } from '../../../tools/schema/schema-walk.ts';
import { hasSecrets } from '../../../tools/schema/secret-params.ts';
import { iconsOf } from './tool-icons.ts';

/** Definitions never change, so that each is turned into its form once. */
const forms = new WeakMap<RegisteredTool, JsonObject>();

/** A tool as MCP lists it: units and an example in words, all four annotations, an icon. `name` is the model-facing one. */
export function toolForm(tool: RegisteredTool, name: string): JsonObject {
  const known = forms.get(tool);
  if (known?.name === name) return known;
  const { definition } = tool;
  const parameters = withUnitsInWords(definition.parameters);
  const { annotations, inputSchema, ...form } = toMcp({ ...definition, description: descriptionOf(tool), parameters }, name);
  // The title stands beside them already.
  const { title: _, ...hints } = annotations;
  const mirrored = withHeaders(inputSchema, definition.parameters);
  const made = copyJsonObject(
    { ...form, inputSchema: mirrored, annotations: hints, icons: iconsOf(definition.metadata.category) },
    RESULT_LIMITS,
  );
  forms.set(tool, made);
  return made;
}

/** The same in few tokens: without icons, and without the schema of an answer that explains itself. */
export function shortToolForm(tool: RegisteredTool, name: string): JsonObject {
  const { icons: _, outputSchema: __, ...form } = toolForm(tool, name);
  return form;
}

/** The schema of a tool whose arguments a client mirrors in headers; undefined for all others. */
export function mirroredSchema(tool: RegisteredTool, name: string): JsonObject | undefined {
  const { inputSchema } = toolForm(tool, name);
  const properties = isJsonObject(inputSchema) && isJsonObject(inputSchema.properties) ? inputSchema.properties : {};
  const isMirrored = Object.values(properties).some((property) => isJsonObject(property) && HEADER in property);
  return isMirrored && isJsonObject(inputSchema) ? inputSchema : undefined;
}

const HEADER = 'x-mcp-header';
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,64}$/;
const MIRRORED_TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];

/**
 * The names of the headers `Mcp-Param-…` in which a client of 2026-07-28 repeats arguments (SEP-2243), for those who pass its requests
 * on. Clients leave out a whole tool for one name that cannot be; a secret is repeated nowhere.
 */
function withHeaders(inputSchema: JsonObject, { properties: declared = {} }: JsonSchema): JsonObject {
  const { properties } = inputSchema;
  if (!isJsonObject(properties) || !isSchemaObject(declared)) return inputSchema;
  const taken = new Set<string>();
  const mirrored = Object.entries(properties).map(([name, property]): [string, Json] => {
    const { [name]: parameter } = declared;
    const header = isSchemaObject(parameter) && !hasSecrets(parameter) ? parameter[HEADER] : undefined;
    if (typeof header !== 'string' || !HEADER_NAME.test(header) || taken.has(header.toLowerCase())) return [name, property];
    if (!isJsonObject(property) || !MIRRORED_TYPES.includes(property.type)) return [name, property];
    taken.add(header.toLowerCase());
    return [name, { ...property, [HEADER]: header }];
  });
  return { ...inputSchema, properties: Object.fromEntries(mirrored) };
}

/** The description with an example of the arguments where it gives none yet. */
function descriptionOf({ definition }: RegisteredTool): string {
  const [example] = definition.metadata.examples;
  if (!example || Object.keys(example.params).length === 0) return definition.description;
  return `${definition.description} Example: ${JSON.stringify(example.params)}`;
}

/** `x-unit` is ours: a model learns the unit from the description. */
function withUnitsInWords(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (child) => {
    const { 'x-unit': unit, description = '' } = child;
    if (typeof unit !== 'string' || typeof description !== 'string' || saysUnit(description, unit)) return child;
    return { ...child, description: `${description}${description === '' ? 'In' : ', in'} ${unit}` };
  });
}

const WORDS: Readonly<Record<string, string>> = { '%': 'percent', s: 'second', K: 'kelvin', '°': 'degree', '°C': 'celsius' };

/** By itself, as in `0 to 100 %`, or as a word. */
function saysUnit(description: string, unit: string): boolean {
  const word = WORDS[unit];
  const parts = description.split(/[\s,;().]+/);
  return parts.includes(unit) || (word !== undefined && description.toLowerCase().includes(word));
}
