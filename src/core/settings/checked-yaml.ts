import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { AtmoError } from '../errors.ts';
import type { JsonSchema } from '../json.ts';
import { pointerKeys } from '../json-pointer.ts';
import { neededSchema } from './needed-schema.ts';

/**
 * Parses YAML (or JSON, its subset) and checks it against a JSON Schema; defaults of the schema are filled in.
 * Throws CONFIG_INVALID whose message names file, line, what is wrong and what is allowed.
 */
export function parseCheckedYaml(text: string, file: string, schema: JsonSchema): unknown {
  const { document, lines, value } = parsed(text, file);
  const validate = new Ajv2020(OPTIONS).compile(neededSchema(schema, value));
  if (validate(value)) return value;
  const error = validate.errors?.[0];
  const path = pointerKeys(error?.instancePath ?? '');
  const unknownKey: unknown = error?.params.additionalProperty;
  const line = lineAt(document, lines, typeof unknownKey === 'string' ? [...path, unknownKey] : path);
  throw invalid(file, line, (error && missingKey(error, path)) ?? describe(path, error?.message ?? 'is not allowed', error?.params ?? {}));
}

/** The lines of places in a YAML text that `parseCheckedYaml` took, for mistakes that a schema cannot tell. */
export function yamlLines(text: string): (path: readonly (string | number)[]) => number {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  return (path) => lineAt(document, lines, path);
}

function parsed(text: string, file: string) {
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
    const mistake = document.errors[0];
    if (mistake) throw invalid(file, lines.linePos(mistake.pos[0]).line, mistake.message.split('\n')[0] ?? 'not YAML');
    return { document, lines, value: (document.toJS() ?? {}) as unknown };
  } catch (error) {
    // Aliases without end and nesting without end are thrown as errors of other classes.
    if (error instanceof AtmoError) throw error;
    throw invalid(file, 1, error instanceof Error ? (error.message.split('\n')[0] ?? 'not YAML') : 'not YAML');
  }
}

/** The nearest place that there is, outwards. */
function lineAt(document: Document.Parsed, lines: LineCounter, path: readonly (string | number)[]): number {
  const node = document.getIn(path, true);
  if (isNode(node)) return lines.linePos(node.range?.[0] ?? 0).line;
  return path.length === 0 ? 1 : lineAt(document, lines, path.slice(0, -1));
}

/**
 * The schemas are our own, and tests hold them against the schema of schemas: that one takes longer to compile than they do. What was
 * compiled goes when the file was read.
 */
const OPTIONS = { useDefaults: true, allErrors: false, strict: false, verbose: true, validateSchema: false, meta: false } as const;

/** A key that is missing, with one that is not known in its place: most often the two are one, misspelled. */
function missingKey({ params, data, parentSchema }: ErrorObject, path: readonly string[]): string | undefined {
  const { missingProperty: missing }: { missingProperty?: unknown } = params;
  if (typeof missing !== 'string') return undefined;
  const known = Object.keys((parentSchema?.properties ?? {}) as object);
  const unknown = Object.keys((data ?? {}) as object).find((key) => known.length > 0 && !known.includes(key));
  return `${placeOf(path)} has no "${missing}"${unknown === undefined ? '' : `; "${unknown}" is not known there`}`;
}

const placeOf = (path: readonly string[]): string => (path.length > 0 ? path.join('.') : 'the file');

function describe(path: readonly string[], message: string, params: Readonly<Record<string, unknown>>): string {
  const where = placeOf(path);
  if (typeof params.additionalProperty === 'string') return `unknown key "${params.additionalProperty}" in ${where}`;
  if (Array.isArray(params.allowedValues)) return `${where} must be one of ${params.allowedValues.join(', ')}`;
  return `${where} ${message}`;
}

function invalid(file: string, line: number, problem: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', `${file}, line ${line}: ${problem}`, { file, line });
}
