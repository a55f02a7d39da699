import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonSchema } from '../../core/json.ts';

const TYPES = { int: 'integer', float: 'number', bool: 'boolean', string: 'string', enum: 'string' } as const;
const TEXT = /^(?<optional>optional )?(?<type>int|float|bool|string|enum)(?: ?\[(?<range>[^\]]*)\])?(?: ?= ?(?<standard>.+))?$/;
const RANGE = /^\s*(?<min>-?\d+(?:\.\d+)?)\s*(?:-|\.\.)\s*(?<max>-?\d+(?:\.\d+)?)\s*$/;

/** A parameter's type as an object, such as `{"type": "int", "min": 0, "max": 254}` or `{"type": "enum", "values": [...]}`. */
interface ShorthandObject {
  readonly type: keyof typeof TYPES;
  readonly min?: number;
  readonly max?: number;
  readonly default?: Json;
  readonly values?: readonly string[];
}

/** A parameter's type in a few characters: `int [0-100]`, `enum [heat, cool]`, `optional float [0..1] = 0.5`. */
export type Shorthand = string | ShorthandObject;

/**
 * Returns the JSON Schema of a shorthand. `isOptional` is separate, because JSON Schema lists required members in the enclosing object.
 * Throws CONFIG_INVALID if the shorthand is malformed.
 */
export function schemaOfShorthand(shorthand: Shorthand): { readonly schema: JsonSchema; readonly isOptional: boolean } {
  if (typeof shorthand !== 'string') return { schema: schemaOf(shorthand), isOptional: false };
  const groups = TEXT.exec(shorthand.trim())?.groups;
  const type = groups?.type as ShorthandObject['type'] | undefined;
  if (!groups || type === undefined) throw notShorthand(shorthand);
  const standard = groups.standard === undefined ? {} : { default: defaultOf(type, groups.standard) };
  return { schema: schemaOf({ type, ...rangeOf(type, groups.range, shorthand), ...standard }), isOptional: groups.optional !== undefined };
}

/** Returns a schema narrowed by a shorthand. It has the tighter bounds, the names that occur in both, and the shorthand's default. */
export function narrowed(schema: JsonSchema, shorthand: Shorthand): JsonSchema {
  const { minimum, maximum, enum: names, default: standard } = schemaOfShorthand(shorthand).schema as Record<string, Json | undefined>;
  const own = schema as { minimum?: number; maximum?: number; enum?: readonly string[] };
  const low = typeof minimum === 'number' ? Math.max(minimum, own.minimum ?? minimum) : own.minimum;
  const high = typeof maximum === 'number' ? Math.min(maximum, own.maximum ?? maximum) : own.maximum;
  const both = Array.isArray(names) ? (own.enum?.filter((name) => names.includes(name)) ?? names) : own.enum;
  // If the range of the shorthand does not overlap the device's range, only the device's range applies.
  if (low !== undefined && high !== undefined && low > high) return schema;
  return {
    ...schema,
    ...(low !== undefined && { minimum: low }),
    ...(high !== undefined && { maximum: high }),
    ...(both !== undefined && both.length > 0 && { enum: both }),
    ...(standard !== undefined && { default: standard }),
  };
}

function schemaOf(shorthand: ShorthandObject): JsonSchema {
  return {
    type: TYPES[shorthand.type],
    ...(shorthand.min !== undefined && { minimum: shorthand.min }),
    ...(shorthand.max !== undefined && { maximum: shorthand.max }),
    ...(shorthand.values && { enum: shorthand.values }),
    ...(shorthand.default !== undefined && { default: shorthand.default }),
  };
}

function rangeOf(type: ShorthandObject['type'], range: string | undefined, shorthand: string): Partial<ShorthandObject> {
  if (type === 'enum') {
    const values = (range ?? '').split(',').map((name) => name.trim());
    if (values.some((name) => name === '')) throw notShorthand(shorthand);
    return { values };
  }
  if (range === undefined) return {};
  const bounds = RANGE.exec(range)?.groups;
  if (!bounds || (type !== 'int' && type !== 'float')) throw notShorthand(shorthand);
  return { min: Number(bounds.min), max: Number(bounds.max) };
}

function defaultOf(type: ShorthandObject['type'], text: string): Json {
  if (type === 'int' || type === 'float') return Number(text);
  return type === 'bool' ? text.trim() === 'true' : text.trim();
}

function notShorthand(shorthand: string): AtmoError {
  return new AtmoError(
    'CONFIG_INVALID',
    `${JSON.stringify(shorthand)} is no parameter shorthand; write for example "int [0-100]", "float [0-1] = 0.5", "optional string", "enum [heat, cool]"`,
  );
}
