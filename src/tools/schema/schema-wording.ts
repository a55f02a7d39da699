import type { Json, JsonSchema } from '../../core/json.ts';

/** What a schema allows, in words: a range, a list of values, a length. Undefined when it allows anything of its type. */
export function rangeOf(schema: JsonSchema): string | undefined {
  if (Array.isArray(schema.enum)) return schema.enum.map((item) => JSON.stringify(item)).join(', ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const unit = typeof schema['x-unit'] === 'string' ? ` ${schema['x-unit']}` : '';
  const numbers = bounds(
    numberOf(schema.minimum) ?? numberOf(schema.exclusiveMinimum),
    numberOf(schema.maximum) ?? numberOf(schema.exclusiveMaximum),
  );
  if (numbers !== undefined) return `${numbers}${unit}`;
  const characters = bounds(numberOf(schema.minLength), numberOf(schema.maxLength));
  if (characters !== undefined) return `${characters} characters`;
  const items = bounds(numberOf(schema.minItems), numberOf(schema.maxItems));
  if (items !== undefined) return `${items} items`;
  return typeof schema.pattern === 'string' ? `text of the form ${schema.pattern}` : undefined;
}

/** A value that the schema allows: its own example or default, else one made from its range. */
export function exampleOf(schema: JsonSchema): Json | undefined {
  const [given] = Array.isArray(schema.examples) ? schema.examples : [];
  const stated = [given, schema.default, Array.isArray(schema.enum) ? schema.enum[0] : undefined, schema.const].find(
    (value) => value !== undefined,
  );
  return stated === undefined ? madeExample(schema) : (stated as Json);
}

const FORMAT_EXAMPLES: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  uri: 'https://example.org/',
  email: 'someone@example.org',
};

/** The middle of a wider range, such as 200 days for the life of a token, is nothing that anybody should copy. */
const WIDE = 1_000;

function madeExample(schema: JsonSchema): Json | undefined {
  if (typeof schema.format === 'string') return FORMAT_EXAMPLES[schema.format];
  if (schema.type === 'boolean') return true;
  if (schema.type !== 'number' && schema.type !== 'integer') return undefined;
  const low = numberOf(schema.minimum);
  const high = numberOf(schema.maximum);
  if (low !== undefined && high !== undefined) return high - low > WIDE ? undefined : Math.max(low, Math.floor((low + high) / 2));
  return low ?? high ?? 1;
}

function bounds(low: number | undefined, high: number | undefined): string | undefined {
  if (low === undefined && high === undefined) return undefined;
  if (low === undefined) return `at most ${high}`;
  return high === undefined ? `at least ${low}` : `${low} to ${high}`;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
