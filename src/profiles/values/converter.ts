import type { Json, JsonSchema } from '../../core/json.ts';

/** Kinds of raw values, by the JSON Schema of an attribute or field. */
export type RawKind = 'boolean' | 'integer' | 'number' | 'enum' | 'bitmap' | 'octets' | 'text' | 'list' | 'struct' | 'any';

/** A name that a device gives to one of its modes, inputs or levels. */
export interface Choice {
  /** Raw Matter value. */
  readonly id: Json;
  /** Name in `[a-z0-9_]`, unique among the choices. */
  readonly name: string;
}

/** What a converter may use in addition to the value. */
export interface ConversionContext {
  readonly schema: JsonSchema;
  /** Raw limits that the device reports. The narrower of these and the schema's limits apply. */
  readonly min?: number;
  readonly max?: number;
  readonly unit?: string;
  /** Name of a flag of a bitmap. */
  readonly member?: string;
  readonly choices?: readonly Choice[];
  /** Plain words for names of the Matter model. */
  readonly rename?: Readonly<Record<string, string>>;
}

/** Converts raw Matter values to human units and back. It is never called with `null`. */
export interface Converter {
  /** Unit of the human value, if the converter defines it. */
  readonly unit?: string;
  /** Kinds of raw values that it converts. */
  readonly takes: readonly RawKind[];
  toHuman(raw: Json, context: ConversionContext): Json;
  /** Throws VALIDATION_ERROR if the value has no raw form. */
  toRaw(human: Json, context: ConversionContext): Json;
  /** Schema of the human value, with bounds. */
  schema(context: ConversionContext): JsonSchema;
}

/** Returns the properties of an object schema; an empty object for any other schema. */
export function propertiesOf({ properties = {} }: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return properties as Record<string, JsonSchema>;
}

/** Returns the names of the required members of an object schema. */
export function requiredOf({ required }: JsonSchema): readonly string[] {
  return Array.isArray(required) ? required : [];
}

/** Returns the kind of value that a raw schema describes, ignoring whether the value may be null. */
export function rawKind(schema: JsonSchema): RawKind {
  if (enumNames(schema).length > 0) return 'enum';
  const types = typesOf(schema);
  if (types.includes('boolean')) return 'boolean';
  if (types.includes('integer')) return 'integer';
  if (types.includes('number')) return 'number';
  if (types.includes('array')) return 'list';
  if (types.includes('object')) return objectKind(schema);
  if (types.includes('string')) return schema.contentEncoding === undefined ? 'text' : 'octets';
  return 'any';
}

/** Returns the names of an enum's schema, even if the schema also allows unnamed numbers. */
export function enumNames(schema: JsonSchema): readonly string[] {
  return [schema, ...branchesOf(schema)]
    .flatMap((branch) => (Array.isArray(branch.enum) ? branch.enum : []))
    .filter((name) => typeof name === 'string');
}

/** Returns whether the raw value may be null. */
export function isNullable(schema: JsonSchema): boolean {
  return (
    typesOf(schema).includes('null') || [schema, ...branchesOf(schema)].some((one) => Array.isArray(one.enum) && one.enum.includes(null))
  );
}

/** Returns a raw value as a number; integers beyond 2^53 arrive as decimal text. */
export function numberOf(raw: Json): number {
  return typeof raw === 'string' ? Number(raw) : (raw as number);
}

/** Returns the lowest and highest raw number within the limits of both the schema and the device. */
export function rawBounds(context: ConversionContext): { readonly min: number; readonly max: number } {
  const ranges = [context.schema, ...branchesOf(context.schema)];
  const stated = (keyword: string): number | undefined => ranges.map((one) => one[keyword]).find((bound) => typeof bound === 'number');
  const min = stated('minimum') ?? Number.NEGATIVE_INFINITY;
  const max = stated('maximum') ?? Number.POSITIVE_INFINITY;
  const narrow = { min: Math.max(min, context.min ?? min), max: Math.min(max, context.max ?? max) };
  // If the device's limits allow no value, they are wrong. Then only the range of the Matter type applies.
  return narrow.min <= narrow.max ? narrow : { min, max };
}

function branchesOf(schema: JsonSchema): readonly JsonSchema[] {
  return [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? (list as JsonSchema[]) : []));
}

function typesOf(schema: JsonSchema): readonly unknown[] {
  const own = schema.type;
  return [...(Array.isArray(own) ? own : [own]), ...branchesOf(schema).flatMap(typesOf)];
}

function objectKind(schema: JsonSchema): RawKind {
  const members = Object.values(propertiesOf(schema));
  const isFlagOrField = (member: JsonSchema): boolean => member.type === 'boolean' || member.type === 'integer';
  const hasFlag = members.some((member) => member.type === 'boolean');
  return hasFlag && schema.required === undefined && members.every(isFlagOrField) ? 'bitmap' : 'struct';
}
