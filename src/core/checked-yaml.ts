import { Ajv2020 } from 'ajv/dist/2020.js';
import { isNode, LineCounter, parseDocument } from 'yaml';
import { AtmoError } from './errors.ts';
import type { JsonSchema } from './json.ts';

/**
 * Parses YAML (or JSON, its subset) and checks it against a JSON Schema; defaults of the schema are filled in.
 * Throws CONFIG_INVALID whose message names file, line, what is wrong and what is allowed.
 */
export function parseCheckedYaml(text: string, file: string, schema: JsonSchema): unknown {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const mistake = document.errors[0];
  if (mistake) throw invalid(file, lines.linePos(mistake.pos[0]).line, mistake.message.split('\n')[0] ?? 'not YAML');
  const value: unknown = document.toJS() ?? {};
  const validate = new Ajv2020({ useDefaults: true, allErrors: false, strict: false }).compile(schema);
  if (validate(value)) return value;
  const error = validate.errors?.[0];
  const path = (error?.instancePath ?? '').split('/').slice(1).map(unescapePointer);
  const unknownKey: unknown = error?.params.additionalProperty;
  const node = document.getIn(typeof unknownKey === 'string' ? [...path, unknownKey] : path, true) ?? document.getIn(path, true);
  const offset = isNode(node) ? (node.range?.[0] ?? 0) : 0;
  throw invalid(file, lines.linePos(offset).line, describe(path, error?.message ?? 'is not allowed', error?.params ?? {}));
}

const unescapePointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');

function describe(path: readonly string[], message: string, params: Readonly<Record<string, unknown>>): string {
  const where = path.length > 0 ? path.join('.') : 'the file';
  if (typeof params.additionalProperty === 'string') return `unknown key "${params.additionalProperty}" in ${where}`;
  if (Array.isArray(params.allowedValues)) return `${where} must be one of ${params.allowedValues.join(', ')}`;
  return `${where} ${message}`;
}

function invalid(file: string, line: number, problem: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', `${file}, line ${line}: ${problem}`, { file, line });
}
