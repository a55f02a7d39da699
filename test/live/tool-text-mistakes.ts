import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';

/** What a home has, as its tools may name it. */
export interface NamedHome {
  /** Names of devices, areas and parts of devices: text that people and devices wrote. */
  readonly foreign: readonly string[];
  /** Ids of devices and sensors. */
  readonly ids: ReadonlySet<string>;
  /** Names of tools, without namespace. */
  readonly tools: ReadonlySet<string>;
}

/** What a model reads of a tool. */
export interface ReadTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly examples: readonly JsonObject[];
}

/** Parameters that name something of the home. */
const NAMES_THING = /^(device|sensor|camera)(_id)?s?$|^(area|location|room)s?$|^recipient$/;
/** `<device id>`: nobody takes it for a name, and a call with it is refused. */
const PLACEHOLDER = /<[a-z][^<>]*>/;
const validator = new SchemaValidator();

/**
 * What the texts of a tool do wrong before a model: examples that its own schema refuses, devices, areas and tools that the home does
 * not have, and text of others outside of quotation marks.
 */
export function textMistakes(tool: ReadTool, home: NamedHome): readonly string[] {
  const told = (where: string, problems: readonly string[]) => problems.map((problem) => `${tool.name} ${where}: ${problem}`);
  return [
    ...told('title', unquoted(tool.title ?? '', home)),
    ...told('description', [
      ...textProblems(tool.description, home),
      ...writtenExamples(tool.description).flatMap((example) => exampleProblems(example, tool.parameters, home)),
    ]),
    ...tool.examples.flatMap((example) => told('example', exampleProblems(example, tool.parameters, home))),
    ...parametersIn(tool.parameters).flatMap(({ name, schema }) => told(name, parameterProblems(name, schema, home))),
  ];
}

/** The same for a text that stands alone, such as the title of a sensor. */
export function textProblems(text: string, home: NamedHome): readonly string[] {
  const things = [...text.matchAll(/\b(?:device|sensor):[a-z]+:([^\s,;."')]+)/g)].map(([, resource = '']) => resource);
  const sensors = [...text.matchAll(/(?<![\w/.<:-])[a-z]+(?:-[a-z]+)+\/[a-z_]+\b/g)].map(([id]) => id);
  const absent = [...things, ...sensors].filter((id) => !isOfHome(id, home));
  return [...absent.map((id) => `names ${id}, which nobody has`), ...unquoted(text, home)];
}

function unquoted(text: string, { foreign }: NamedHome): readonly string[] {
  const outside = text.replaceAll(/"[^"]*"/g, '""');
  return foreign
    .filter((name) => new RegExp(`(?<!\\p{L})${name.replaceAll(/[^\p{L}\p{N} ]/gu, '\\$&')}(?!\\p{L})`, 'u').test(outside))
    .map((name) => `does not quote ${name}`);
}

function parameterProblems(name: string, schema: JsonObject, home: NamedHome): readonly string[] {
  const text = typeof schema.description === 'string' ? schema.description : '';
  const [, sample] = /\bsuch as "?([^,;."]+)/i.exec(text) ?? [];
  const isInvented = NAMES_THING.test(name) && sample !== undefined && !isOfHome(sample, home);
  const written = [...writtenExamples(text), ...(Array.isArray(schema.examples) ? schema.examples : [])];
  return [
    ...textProblems(text, home),
    ...(isInvented ? [`names ${sample}, which nobody has`] : []),
    ...written.flatMap((example: Json) => valueProblems(example, schema, home)),
  ];
}

function exampleProblems(example: Json, parameters: JsonObject, home: NamedHome): readonly string[] {
  return valueProblems(example, parameters, home);
}

function valueProblems(value: Json, schema: JsonObject, home: NamedHome): readonly string[] {
  const checked = validator.check({ type: 'object', properties: { value: schema }, required: ['value'] }, { value });
  const refusals = checked.isValid ? [] : [`${JSON.stringify(value)} is refused: ${checked.problems[0]?.message}`];
  return [...refusals, ...inventions(value, '', home)];
}

/** Devices, areas, sensors and tools that an example names and the home does not have. */
function inventions(value: Json, key: string, home: NamedHome): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => inventions(item, key, home));
  if (isJsonObject(value)) return Object.entries(value).flatMap(([name, member]) => inventions(member, name, home));
  if (typeof value !== 'string') return [];
  if (NAMES_THING.test(key)) return isOfHome(value, home) ? [] : [`names ${value}, which nobody has`];
  if (key === 'tool')
    return PLACEHOLDER.test(value) || home.tools.has(value.split(':').at(-1) ?? '') ? [] : [`calls ${value}, which is no tool`];
  return key === 'permissions' ? textProblems(value, home) : [];
}

function isOfHome(name: string, { foreign, ids }: NamedHome): boolean {
  if (PLACEHOLDER.test(name) || name === '*' || name.startsWith('@type/') || ids.has(name)) return true;
  return foreign.some((own) => own.toLowerCase() === name.trim().toLowerCase());
}

/** What stands behind `Example:` in a text; it has to be JSON. */
function writtenExamples(text: string): readonly Json[] {
  return [...text.matchAll(/\bExample: /g)].map(({ index }) => jsonAt(text.slice(index + 'Example: '.length)));
}

function jsonAt(text: string): Json {
  for (let end = text.length; end > 0; end--) {
    try {
      return JSON.parse(text.slice(0, end)) as Json;
    } catch {
      // A shorter text may be the whole of it.
    }
  }
  throw new TypeError(`The example is no JSON: ${text}`);
}

/** Every schema with a name in it, at any depth. */
function parametersIn(schema: JsonObject): readonly { readonly name: string; readonly schema: JsonObject }[] {
  const own = isJsonObject(schema.properties) ? Object.entries(schema.properties) : [];
  const inner = Object.entries(schema).flatMap(([key, value]) => {
    if (key === 'properties' || key === 'examples' || key === 'default') return [];
    return [value].flat().flatMap((child: Json) => (isJsonObject(child) ? parametersIn(child) : []));
  });
  return [...own.flatMap(([name, child]) => (isJsonObject(child) ? [...namedSchemas(name, child), ...parametersIn(child)] : [])), ...inner];
}

/** What an array holds goes by the name of the array. */
function namedSchemas(name: string, schema: JsonObject): readonly { readonly name: string; readonly schema: JsonObject }[] {
  return [{ name, schema }, ...(isJsonObject(schema.items) ? namedSchemas(name, schema.items) : [])];
}
