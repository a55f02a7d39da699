import { AtmoError } from '../../core/errors.ts';
import { jsonIn } from '../../core/json.ts';
import type { SerialPortConfig } from './serial-config.ts';

/** The text of a field of a line; undefined where the line does not have it. */
export type FieldsOf = (line: string) => (field: string) => string | undefined;

const PAIR = /([^\s=:,;]+)\s*[=:]\s*("[^"]*"|[^\s,;]+)/g;
const NOTHING = () => undefined;

/** How lines of a port are read. CONFIG_INVALID for a pattern that is none or names nothing. */
export function lineReader({ format, pattern }: Pick<SerialPortConfig, 'format' | 'pattern'>, setting: string): FieldsOf {
  if (format === 'json') return jsonFields;
  if (format === 'pairs') return pairFields;
  const expression = patternOf(pattern ?? '', setting);
  return (line) => {
    const groups = expression.exec(line)?.groups;
    return groups ? (field) => (Object.hasOwn(groups, field) ? groups[field] : undefined) : NOTHING;
  };
}

function patternOf(pattern: string, setting: string): RegExp {
  try {
    if (pattern.includes('(?<')) return new RegExp(pattern, 'u');
  } catch (error) {
    throw new AtmoError('CONFIG_INVALID', `${setting}.pattern: ${error instanceof Error ? error.message : 'is no regular expression'}`);
  }
  throw new AtmoError('CONFIG_INVALID', `${setting}.pattern needs named groups such as (?<temperature>-?[\\d.]+)`);
}

/** Members of objects inside have dots in their names. */
function jsonFields(line: string) {
  const root = jsonIn(line);
  return (field: string) => {
    const value = field.split('.').reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), root);
    return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string' ? String(value) : undefined;
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function pairFields(line: string) {
  const pairs = new Map([...line.matchAll(PAIR)].map(([, key = '', value = '']) => [key, value.replaceAll('"', '')]));
  return (field: string) => pairs.get(field);
}
