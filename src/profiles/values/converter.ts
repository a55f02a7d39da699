import type { Json, JsonSchema } from '../../core/json.ts';

/** Kinds of raw values, by the JSON Schema of an attribute or field. */
export type RawKind = 'boolean' | 'integer' | 'number' | 'enum' | 'bitmap' | 'octets' | 'text' | 'list' | 'struct' | 'any';

/** One name that a device gives to one of its modes, inputs, levels … */
export interface Choice {
  /** Value on the wire. */
  readonly id: Json;
  /** Name in `[a-z0-9_]`, unique among the choices. */
  readonly name: string;
}

/** The facts beside the value that a converter may use. */
export interface ConversionContext {
  /** Schema of the raw value. */
  readonly schema: JsonSchema;
  /** Raw limits of the device, where it reports narrower ones. */
  readonly min?: number;
  readonly max?: number;
  readonly unit?: string;
  /** Flag of a bitmap. */
  readonly member?: string;
  readonly choices?: readonly Choice[];
  /** People's words for names of the standard. */
  readonly rename?: Readonly<Record<string, string>>;
}

/** Converts raw Matter values to human units and back. `null` never reaches it. */
export interface Converter {
  /** Unit of the human value, where the converter fixes it. */
  readonly unit?: string;
  /** Kinds of raw values that it converts. */
  readonly takes: readonly RawKind[];
  toHuman(raw: Json, context: ConversionContext): Json;
  /** Throws VALIDATION_ERROR for a value without a raw form. */
  toRaw(human: Json, context: ConversionContext): Json;
  /** Schema of the human value, with bounds. */
  schema(context: ConversionContext): JsonSchema;
}

/** Returns the members of an object schema; none for any other schema. */
export function propertiesOf({ properties = {} }: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return properties as Record<string, JsonSchema>;
}

/** Returns the names of the required members of an object schema. */
export function requiredOf({ required }: JsonSchema): readonly string[] {
  return Array.isArray(required) ? required : [];
}

/** Returns the kind of value that a raw schema describes, whether it may be null or not. */
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

/** Returns the names that the schema of an enum allows, also where it allows numbers that the model does not name. */
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

/** Returns a raw number; integers beyond 2^53 come as decimal text. */
export function numberOf(raw: Json): number {
  return typeof raw === 'string' ? Number(raw) : (raw as number);
}

/** Returns the lowest and highest raw number that the schema and the live device allow. */
export function rawBounds(context: ConversionContext): { readonly min: number; readonly max: number } {
  const ranges = [context.schema, ...branchesOf(context.schema)];
  const stated = (keyword: string): number | undefined => ranges.map((one) => one[keyword]).find((bound) => typeof bound === 'number');
  const min = stated('minimum') ?? Number.NEGATIVE_INFINITY;
  const max = stated('maximum') ?? Number.POSITIVE_INFINITY;
  const narrow = { min: Math.max(min, context.min ?? min), max: Math.min(max, context.max ?? max) };
  // Limits that leave no value are a mistake of the device; the range of the standard still holds.
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
