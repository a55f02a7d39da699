import type { JsonSchema } from '../../../core/json.ts';
import { isSchemaObject } from '../../../tools/schema/schema-walk.ts';

const MAX_CHOICES = 8;

/** The parameters of a tool in one line, such as `brightness: 0..100 %, seconds?: number s`; `?` marks what may be left out. */
export function argumentHint({ properties, required }: JsonSchema): string {
  if (!isSchemaObject(properties)) return '';
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties)
    .map(([name, schema]) => `${name}${needed.has(name) ? '' : '?'}: ${isSchemaObject(schema) ? valueHint(schema) : 'any'}`)
    .join(', ');
}

function valueHint(schema: JsonSchema): string {
  const unit = typeof schema['x-unit'] === 'string' ? ` ${schema['x-unit']}` : '';
  if (Array.isArray(schema.enum)) return choices(schema.enum);
  if (schema.minimum !== undefined && schema.maximum !== undefined) return `${schema.minimum}..${schema.maximum}${unit}`;
  return `${typeof schema.type === 'string' ? schema.type : 'any'}${unit}`;
}

function choices(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_CHOICES).map(String).join('|');
  return values.length > MAX_CHOICES ? `${shown}|…` : shown;
}
