import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { RARE } from '../../tools/definition/define-tool.ts';
import type { Category, RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { toMcp } from '../../tools/formats/model-apis.ts';
import { copyJsonObject, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import { isSchemaObject, mapSchema } from '../../tools/schema/schema-walk.ts';
import { hasSecrets } from '../../tools/schema/secrets.ts';

/** MCP forms of tools. Each is made once, since definitions never change. */
const forms = new WeakMap<RegisteredTool, JsonObject>();

/** Returns a tool as MCP lists it: with an icon, an example, and units in its descriptions. `name` is the tool's name for models. */
export function toolForm(tool: RegisteredTool, name: string): JsonObject {
  const known = forms.get(tool);
  if (known?.name === name) return known;
  const { definition } = tool;
  const parameters = withUnitsInWords(definition.parameters);
  const { annotations, inputSchema, ...form } = toMcp({ ...definition, description: descriptionOf(tool), parameters }, name);
  // The title is omitted here because the form already contains it.
  const { title: _, ...hints } = annotations;
  const mirrored = withHeaders(inputSchema, definition.parameters);
  const made = copyJsonObject(
    { ...form, inputSchema: mirrored, annotations: hints, icons: iconsOf(definition.metadata.category) },
    RESULT_LIMITS,
  );
  forms.set(tool, made);
  return made;
}

/** Returns a tool in a short form, without icons, output schema and parameters that are needed rarely, to save tokens. */
export function shortToolForm(tool: RegisteredTool, name: string): JsonObject {
  const { icons: _, outputSchema: __, ...form } = toolForm(tool, name);
  const { inputSchema } = form;
  return isJsonObject(inputSchema) ? { ...form, inputSchema: withoutRare(inputSchema, tool.definition.parameters) } : form;
}

function withoutRare(inputSchema: JsonObject, { properties: declared = {} }: JsonSchema): JsonObject {
  const { properties } = inputSchema;
  if (!isJsonObject(properties) || !isSchemaObject(declared)) return inputSchema;
  const shown = Object.entries(properties).filter(([name]) => {
    const { [name]: parameter } = declared;
    return !(isSchemaObject(parameter) && parameter[RARE] === true);
  });
  return { ...inputSchema, properties: Object.fromEntries(shown) };
}

/** Returns the parameter schema of a tool if clients repeat its arguments in headers. Returns undefined for other tools. */
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
 * Adds the names of `Mcp-Param-…` headers to parameters (SEP-2243). Clients of MCP 2026-07-28 repeat these arguments in headers, so that
 * proxies can read them. Secrets get no header. Invalid header names are omitted, because clients would ignore the whole tool.
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

/** Returns the description. Adds the tool's first example of arguments, if it has one. */
function descriptionOf({ definition }: RegisteredTool): string {
  const [example] = definition.metadata.examples;
  if (!example || Object.keys(example.params).length === 0) return definition.description;
  return `${definition.description} Example: ${JSON.stringify(example.params)}`;
}

/** Returns the schema with units in its descriptions, because models do not read `x-unit`. */
function withUnitsInWords(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (child) => {
    const { 'x-unit': unit, description = '' } = child;
    if (typeof unit !== 'string' || typeof description !== 'string' || saysUnit(description, unit)) return child;
    return { ...child, description: `${description}${description === '' ? 'In' : ', in'} ${unit}` };
  });
}

const WORDS: Readonly<Record<string, string>> = { '%': 'percent', s: 'second', K: 'kelvin', '°': 'degree', '°C': 'celsius' };

/** Returns whether a description already contains the unit, as in `0 to 100 %`. */
function saysUnit(description: string, unit: string): boolean {
  const word = WORDS[unit];
  const parts = description.split(/[\s,;().]+/);
  return parts.includes(unit) || (word !== undefined && description.toLowerCase().includes(word));
}

/** SVG paths of the icons, on a canvas of 24 by 24. */
const STROKES: Readonly<Record<Category, string>> = {
  sensing: 'M10 14V4a2 2 0 014 0v10a4 4 0 11-4 0z',
  acting: 'M12 3v8M7 6a8 8 0 1010 0',
  communicating: 'M4 5h16v11H9l-5 4z',
  querying: 'M10 4a6 6 0 100 12 6 6 0 000-12zM15 15l5 5',
  computing: 'M6 6h12v12H6zM9 2v4M15 2v4M9 18v4M15 18v4',
  managing: 'M4 7h16M4 12h16M4 17h16',
};

const icons = new Map(Object.entries(STROKES).map(([category, path]) => [category, [iconOf(path)]]));

/** Returns the `icons` of a tool, one for its category. The icon is embedded, so that clients need not fetch it. */
function iconsOf(category: Category): readonly JsonObject[] {
  return icons.get(category) ?? [];
}

function iconOf(path: string): JsonObject {
  const svg = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='%23789' stroke-width='2'><path d='${path}'/></svg>`;
  return {
    src: `data:image/svg+xml,${svg.replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll(' ', '%20')}`,
    mimeType: 'image/svg+xml',
  };
}
