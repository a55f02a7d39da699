import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { type Document, isDocument, isMap, isNode, isScalar, LineCounter, stringify } from 'yaml';
import { nearestTexts } from '../edit-distance.ts';
import { AtmoError } from '../errors.ts';
import { isJsonObject, type Json, type JsonSchema, pointerKeys, valueAt } from '../json.ts';
import { oncePerText } from '../lifecycle.ts';
import { escapeAllHidden, WRITTEN_LINE } from '../untrusted-text.ts';
import { boundedDocument, type YamlBounds } from './bounded-yaml.ts';

/** A file of the owner may have any number of parts. */
const OWN_FILE: YamlBounds = { maxTokens: Number.POSITIVE_INFINITY };

/** Parses YAML (or JSON), checks it against a JSON Schema and fills in defaults. Throws CONFIG_INVALID with file, line and mistake. */
export function parseCheckedYaml(text: string, file: string, schema: JsonSchema): unknown {
  const { document, lines, value } = parsed(text, file, OWN_FILE);
  const validate = validatorOf(JSON.stringify(relevantSchema(schema, value)));
  if (validate(value)) return value;
  const [error] = validate.errors ?? [];
  if (error === undefined) throw invalid(file, 1, 'the file is not allowed');
  const path = pointerKeys(error.instancePath);
  const key = wrongKey(error);
  const line = key === undefined ? lineAt(document, lines, path) : lineOfKey(document, lines, path, key);
  throw invalid(file, line, missingKey(error, path) ?? describe(error, path, schema));
}

/** A parsed YAML text, with the lines of its parts. */
export interface LocatedYaml {
  readonly value: unknown;
  /** Returns the line of the value at `path`. If that value does not exist, returns the line of its nearest ancestor. */
  lineOf(path: readonly (string | number)[]): number;
}

/** Parses YAML (or JSON) for a caller that checks each record itself. Throws CONFIG_INVALID with file and line. */
export function locatedYaml(text: string, file: string, bounds = OWN_FILE): LocatedYaml {
  const { document, lines, value } = parsed(text, file, bounds);
  return { value, lineOf: (path) => lineAt(document, lines, path) };
}

/** Returns a value as YAML in blocks, as people write it. */
export function yamlText(value: Json): string {
  return stringify(value, { lineWidth: 0 });
}

function parsed(text: string, file: string, bounds: YamlBounds) {
  const lines = new LineCounter();
  try {
    const document = boundedDocument(text, lines, bounds);
    if (!isDocument(document)) throw invalid(file, lines.linePos(document.offset).line, yamlMistake(document.message));
    return { document, lines, value: (document.toJS() ?? {}) as unknown };
  } catch (error) {
    // An AtmoError is the one that is thrown above. Endless aliases make the parser throw other errors.
    if (error instanceof AtmoError) throw error;
    throw invalid(file, 1, error instanceof Error ? (error.message.split('\n')[0] ?? 'not YAML') : 'not YAML');
  }
}

/** Returns the parser's message without its position and excerpt. */
function yamlMistake(message: string): string {
  const words = (message.split('\n')[0] ?? 'not YAML').replace(/ at line \d+, column \d+:?$/, '');
  return words.startsWith('Tabs') ? `${words}; use spaces` : words;
}

/** Returns the key that the error is about: an unknown key, or a key with a forbidden name. Returns undefined for other errors. */
function wrongKey({ params, propertyName }: ErrorObject): string | undefined {
  const unknown: unknown = params.additionalProperty;
  return typeof unknown === 'string' ? unknown : propertyName;
}

/** Returns the line of a key; its value may begin on a later line. */
function lineOfKey(document: Document.Parsed, lines: LineCounter, path: readonly string[], name: string): number {
  const map = document.getIn(path, true);
  const key = isMap(map) ? map.items.map((pair) => pair.key).find((node) => isScalar(node) && String(node.value) === name) : undefined;
  return isScalar(key) ? lines.linePos(key.range?.[0] ?? 0).line : lineAt(document, lines, [...path, name]);
}

function lineAt(document: Document.Parsed, lines: LineCounter, path: readonly (string | number)[]): number {
  const node = document.getIn(path, true);
  if (isNode(node)) return lines.linePos(node.range?.[0] ?? 0).line;
  return path.length === 0 ? 1 : lineAt(document, lines, path.slice(0, -1));
}

/** Options of the validator. It does not validate the schemas, because that takes longer than compiling them. The tests do it. */
const OPTIONS = {
  useDefaults: true,
  allErrors: false,
  strict: false,
  verbose: true,
  validateSchema: false,
  meta: false,
  // A pattern cannot tell every text that `new URL` throws at, such as one with the port 65536.
  formats: { uri: URL.canParse },
} as const;

/** The rules are read at each change of their file, mostly with the same keys. Compiling takes longer than everything else about a file. */
const validatorOf = oncePerText((schema) => new Ajv2020(OPTIONS).compile(JSON.parse(schema) as JsonSchema), { maxKept: 32 });

/** Returns a message for a missing key; undefined for other errors. The message also names an unknown key, as a likely misspelling. */
function missingKey({ params, data, parentSchema }: ErrorObject, path: readonly string[]): string | undefined {
  const { missingProperty: missing }: { missingProperty?: unknown } = params;
  if (typeof missing !== 'string') return undefined;
  const known = Object.keys((parentSchema?.properties ?? {}) as object);
  const unknown = Object.keys((data ?? {}) as object).find((key) => known.length > 0 && !known.includes(key));
  return `${dottedPath(path)} has no "${missing}"${unknown === undefined ? '' : `; "${unknown}" is not known there`}`;
}

const dottedPath = (path: readonly string[]): string => (path.length > 0 ? path.join('.') : 'the file');

function describe(error: ErrorObject, path: readonly string[], schema: JsonSchema): string {
  const { params, propertyName } = error;
  const where = dottedPath(path);
  if (typeof params.additionalProperty === 'string') return `unknown key "${params.additionalProperty}" in ${where}${hint(error, schema)}`;
  if (propertyName !== undefined) return `the name "${propertyName}" in ${where} ${error.message ?? 'is not allowed'}`;
  if (Array.isArray(params.allowedValues)) return `${where} must be one of ${params.allowedValues.join(', ')}`;
  if (params.pattern === WRITTEN_LINE) return `${where} holds characters that nobody sees: ${escapeAllHidden(String(error.data))}`;
  if (params.format === 'uri') return `${where} is not a valid address; check its host, and its port, which is at most 65535`;
  if (error.keyword === 'type') return `${where} must be ${TYPE_WORDS[String(params.type)] ?? params.type}`;
  return `${where} ${error.message ?? 'is not allowed'}`;
}

/** Returns a hint about an unknown key: the most similar allowed key, or else all allowed keys. `schema` must be the whole schema. */
function hint({ params, schemaPath }: ErrorObject, schema: JsonSchema): string {
  const beside = valueAt(schema as Json, decodeURIComponent(schemaPath.slice(1, schemaPath.lastIndexOf('/'))));
  const known = Object.keys((isJsonObject(beside) && beside.properties) || {});
  const [near] = nearestTexts(String(params.additionalProperty), known, 1);
  if (near !== undefined) return `; did you mean "${near}"?`;
  return known.length === 0 ? '' : `; allowed: ${known.join(', ')}`;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  object: 'a mapping of keys to values',
  array: 'a list',
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

function invalid(file: string, line: number, problem: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', `${file}, line ${line}: ${problem}`, { file, line });
}

/**
 * Returns the part of a schema that matters for a value. A property that the value lacks is omitted, unless it is required or has a
 * default. Validation has the same result as with the whole schema, but compiling takes much less time and memory.
 */
export function relevantSchema(schema: JsonSchema, value: unknown): JsonSchema {
  const { properties, required, additionalProperties } = schema;
  if (!isJsonObject(value)) return schema;
  const known: Readonly<Record<string, unknown>> = isSchema(properties) ? properties : {};
  const named: readonly unknown[] = Array.isArray(required) ? required : [];
  const met = Object.entries(known).flatMap(([name, part]) => {
    if (Object.hasOwn(value, name)) return [[name, partOf(part, value[name])]];
    if (isSchema(part) && 'default' in part) return [[name, partOf(part, part.default)]];
    // Required properties stay, because their names help to find which key is misspelt.
    return named.includes(name) ? [[name, {}]] : [];
  });
  const hasMore = Object.keys(value).some((name) => !Object.hasOwn(known, name));
  return {
    ...schema,
    ...(isSchema(properties) && { properties: Object.fromEntries(met) as JsonSchema }),
    ...(isSchema(additionalProperties) && !hasMore && { additionalProperties: {} }),
  };
}

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;

const partOf = (part: unknown, value: unknown): unknown => (isSchema(part) ? relevantSchema(part, value) : part);
