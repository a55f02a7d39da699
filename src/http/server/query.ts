import { AtmoError } from '../../core/errors.ts';
import type { JsonObject, JsonSchema } from '../../core/json.ts';

/** A query parameter, with its parser and its schema for OpenAPI. */
export interface QueryField<T> {
  readonly description: string;
  readonly schema: JsonSchema;
  /** Parses the value. Returns undefined if the value is invalid. A relative time is counted back from `nowMs`. */
  parse(text: string, nowMs: number): T | undefined;
}

/** The query parameters of a route by name. */
export type QuerySpec = Readonly<Record<string, QueryField<unknown>>>;
/** The parsed query parameters. Omitted parameters are absent. */
export type QueryOf<Spec extends QuerySpec> = {
  readonly [Name in keyof Spec]?: Spec[Name] extends QueryField<infer T> ? T : never;
};

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d|w)$/.exec(text);
  const unitMs = UNITS_MS[match?.[2] ?? ''];
  return unitMs === undefined ? undefined : Number(match?.[1]) * unitMs;
}

const DAYS_AGO: ReadonlyMap<string, number> = new Map([
  ['today', 0],
  ['yesterday', 1],
]);

/** Returns local midnight (in the machine's time zone) of the day `daysAgo` days ago, in milliseconds since 1970. */
function startOfDay(nowMs: number, daysAgo: number): number {
  const day = new Date(nowMs);
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - daysAgo);
  return day.getTime();
}

/**
 * Parses a time: ISO 8601, a duration before now (such as `24h`), or the start of `today` or `yesterday`. Returns milliseconds since 1970.
 * Returns undefined if the text is invalid.
 */
export function parseTime(text: string, nowMs: number): number | undefined {
  const daysAgo = DAYS_AGO.get(text);
  if (daysAgo !== undefined) return startOfDay(nowMs, daysAgo);
  const agoMs = parseDuration(text);
  if (agoMs !== undefined) return nowMs - agoMs;
  const atMs = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** Functions that declare query parameters. */
export const field = {
  text: (description: string): QueryField<string> => ({
    description,
    schema: { type: 'string', maxLength: 256 },
    parse: (text) => (text.length <= 256 ? text : undefined),
  }),
  integer: (description: string, minimum: number, maximum: number): QueryField<number> => ({
    description,
    schema: { type: 'integer', minimum, maximum },
    parse(text) {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= minimum && value <= maximum ? value : undefined;
    },
  }),
  flag: (description: string): QueryField<boolean> => ({
    description,
    schema: { type: 'boolean' },
    parse: (text) => FLAGS.get(text),
  }),
  choice: <const T extends string>(description: string, choices: readonly T[]): QueryField<T> => ({
    description,
    schema: { type: 'string', enum: choices },
    parse: (text) => choices.find((choice) => choice === text),
  }),
  /** A duration such as `500ms`, `30s`, `5m`, `24h`, `7d` or `2w`. The parsed value is in milliseconds. */
  duration: (description: string): QueryField<number> => ({
    description: `${description}, such as 30s, 5m, 24h or 7d`,
    schema: { type: 'string', pattern: '^\\d{1,9}(ms|s|m|h|d|w)$' },
    parse: (text) => parseDuration(text) || undefined,
  }),
  /** A time in a format of `parseTime`. The parsed value is in milliseconds since 1970. */
  time: (description: string): QueryField<number> => ({
    description: `${description}: ISO 8601, or a duration before now such as 24h`,
    schema: { type: 'string' },
    parse: parseTime,
  }),
};

/** Parses a query with the fields of `spec`. Throws a VALIDATION_ERROR that names every unknown, repeated or malformed parameter. */
export function parseQuery(search: URLSearchParams, spec: QuerySpec, nowMs: number): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  const mistakes: JsonObject[] = [];
  for (const [name, text] of search) {
    const known = Object.hasOwn(spec, name) ? spec[name] : undefined;
    const value = known?.parse(text, nowMs);
    if (!known) mistakes.push({ parameter: name, message: `unknown; known are ${Object.keys(spec).join(', ') || 'none'}` });
    else if (name in values) mistakes.push({ parameter: name, message: 'given more than once' });
    else if (value === undefined) mistakes.push({ parameter: name, message: `${JSON.stringify(text)} is not ${wanted(known)}` });
    else values[name] = value;
  }
  if (mistakes.length === 0) return values;
  const text = mistakes.map((mistake) => `${mistake.parameter}: ${mistake.message}`).join('; ');
  throw new AtmoError('VALIDATION_ERROR', `The query is not valid: ${text}`, { problems: mistakes });
}

function wanted({ schema, description }: QueryField<unknown>): string {
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.join(', ')}`;
  if (schema.type === 'boolean') return 'true or false';
  if (schema.type === 'integer') return `a whole number from ${schema.minimum} to ${schema.maximum}`;
  return `what it takes: ${description}`;
}
