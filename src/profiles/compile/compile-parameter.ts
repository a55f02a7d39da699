import { snakeCase } from '../../core/devices/matter-names.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import type { OfferedEntry, ParamEntry } from '../files/profile-format.ts';
import type { ConversionContext } from '../values/converter.ts';
import { type Bounds, sampleOf, withinReason } from '../values/human-schema.ts';
import { narrowed } from '../values/parameter-shorthand.ts';
import { type ClusterView, chooseConverter } from './cluster-view.ts';

/** A raw field or attribute that a parameter may fill. */
interface RawSlot {
  /** Name as the device's description spells it; a dotted path for a member of a struct. */
  readonly name: string;
  readonly schema: JsonSchema;
}

/** A parameter of a tool, compiled for one device. */
export interface CompiledParam {
  readonly name: string;
  readonly slot: RawSlot;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  readonly example: Json | undefined;
  /** True if a value beyond the device's limits is set to the limit. Otherwise the call is rejected. */
  readonly isMovedToLimits: boolean;
  /** The bounds of the schema in raw units; undefined if the schema has no bounds. */
  readonly rawBounds: Bounds | undefined;
  toRaw(human: Json): Json;
  toHuman(raw: Json): Json;
}

interface ParamContext {
  readonly slot: RawSlot;
  readonly view: ClusterView;
}

/** Returns a parameter of a capability, compiled for one cluster of a device. */
export function compileParam(name: string, entry: ParamEntry, place: ParamContext): CompiledParam {
  const converter = chooseConverter(entry, place.slot.schema);
  const { min: _min, max: _max, ...unlimited } = contextOf(entry, place);
  const context = entry.toLimits ? unlimited : contextOf(entry, place);
  const allowed = withoutNull(converter.schema(context));
  const wide = entry.offered === undefined ? allowed : onlyOffered(allowed, entry.offered, place.view);
  const unit = converter.unit ?? entry.unit ?? '';
  const bare = withinReason(entry.narrow === undefined ? wide : narrowed(wide, entry.narrow), unit);
  const wished = entry.example ?? entry.default;
  const example = wished !== undefined && fits(wished, bare) ? wished : sampleOf(bare);
  const schema: JsonSchema = {
    ...bare,
    description: describe(entry, unit, { schema: bare, example }),
    ...(unit !== '' && { 'x-unit': unit }),
    ...(entry.secret && { 'x-secret': true }),
    ...(entry.default !== undefined && { default: entry.default }),
  };
  const toRaw = (human: Json): Json => {
    const raw = converter.toRaw(human, contextOf(entry, place));
    return entry.toLimits && typeof raw === 'number' ? withinLimits(raw, entry, place.view) : raw;
  };
  const isRequired = entry.optional !== true && schema.default === undefined;
  return {
    name,
    slot: place.slot,
    schema,
    isRequired,
    example,
    isMovedToLimits: entry.toLimits === true,
    rawBounds: rawBoundsOf(schema, toRaw),
    toRaw,
    toHuman: (raw) => converter.toHuman(raw, contextOf(entry, place)),
  };
}

function rawBoundsOf(schema: JsonSchema, toRaw: (human: Json) => Json): Bounds | undefined {
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number };
  if (minimum === undefined || maximum === undefined) return undefined;
  const [min = 0, max = 0] = [Number(toRaw(minimum)), Number(toRaw(maximum))].sort((a, b) => a - b);
  return { min, max };
}

function withinLimits(raw: number, { limits = {} }: ParamEntry, view: ClusterView): number {
  const [min, max] = [view.limit(limits, 'min') ?? raw, view.limit(limits, 'max') ?? raw];
  return Math.min(Math.max(raw, min), max);
}

/** Returns the context of a conversion. Each call makes a new one, because the device's limits and names can change. */
function contextOf(entry: ParamEntry, { slot, view }: ParamContext): ConversionContext {
  const min = entry.limits && view.limit(entry.limits, 'min');
  const max = entry.limits && view.limit(entry.limits, 'max');
  return {
    schema: slot.schema,
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(entry.choices !== undefined && { choices: view.choices(entry.choices) }),
    ...(entry.rename !== undefined && { rename: entry.rename }),
  };
}

/** Returns the object schema of a tool's parameters. */
export function parametersOf(params: readonly CompiledParam[]): JsonSchema {
  const required = params.filter((param) => param.isRequired).map((param) => param.name);
  return {
    type: 'object',
    properties: Object.fromEntries(params.map((param) => [param.name, param.schema])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** Returns an example with a value for each required parameter. Returns undefined if a required parameter has no example. */
export function exampleOf(params: readonly CompiledParam[]): JsonObject | undefined {
  const required = params.filter((param) => param.isRequired);
  if (required.some((param) => param.example === undefined)) return undefined;
  return Object.fromEntries(required.flatMap((param) => (param.example === undefined ? [] : [[param.name, param.example]])));
}

function describe(entry: ParamEntry, unit: string, facts: { readonly schema: JsonSchema; readonly example: Json | undefined }): string {
  const { minimum, maximum } = facts.schema as { minimum?: number; maximum?: number };
  const range = minimum !== undefined && maximum !== undefined ? `${minimum} to ${maximum}${unit === '' ? '' : ` ${unit}`}` : unit;
  const sample = entry.secret || facts.example === undefined ? '' : ` Example: ${JSON.stringify(facts.example)}`;
  return `${entry.description.replace(/\.$/, '')}${range === '' ? '' : `, ${range}`}.${sample}`;
}

function withoutNull(schema: JsonSchema): JsonSchema {
  const names = schema.enum;
  const types = schema.type;
  return {
    ...schema,
    ...(Array.isArray(names) && { enum: names.filter((name) => name !== null) }),
    ...(Array.isArray(types) && { type: types.filter((type) => type !== 'null')[0] }),
  };
}

function fits(example: Json, schema: JsonSchema): boolean {
  if (typeof example === 'number') {
    const { minimum = example, maximum = example } = schema as { minimum?: number; maximum?: number };
    return example >= minimum && example <= maximum;
  }
  return !Array.isArray(schema.enum) || schema.enum.includes(example);
}

/**
 * Limits the schema of a name, or of a list of names, to the names that the device offers. An `offered` entry that depends on an attribute
 * has no effect until the device has reported this attribute.
 */
function onlyOffered(schema: JsonSchema, offered: OfferedEntry | readonly OfferedEntry[], view: ClusterView): JsonSchema {
  return [offered].flat().reduce<JsonSchema>((left, entry) => withNames(left, (name) => isOffered(name, entry, view)), schema);
}

function withNames(schema: JsonSchema, isOffered: (name: string) => boolean): JsonSchema {
  if (isJsonObject(schema.items as Json)) return { ...schema, items: withNames(schema.items as JsonSchema, isOffered) };
  const names = (Array.isArray(schema.enum) ? schema.enum : []).filter((name) => isOffered(String(name)));
  // If no name remains, the device's report is wrong. Then any name is allowed, and the device itself refuses wrong names.
  return names.length === 0 ? schema : { ...schema, enum: names };
}

function isOffered(name: string, entry: OfferedEntry, view: ClusterView): boolean {
  if (typeof entry === 'string') return namesIn(view.live(entry))?.includes(name) ?? true;
  if ('cluster' in entry) return view.hasNeighbour(entry.cluster) || !entry.names.includes(name);
  const value = view.live(entry.from);
  return entry.names[typeof value === 'string' ? snakeCase(value) : '']?.includes(name) ?? true;
}

/** Returns the names in an attribute that is a list (`SupportedRinses`) or a bitmap (`RockSupport`). */
function namesIn(offer: Json | undefined): readonly string[] | undefined {
  if (Array.isArray(offer)) return offer.map((name) => snakeCase(String(name)));
  if (!isJsonObject(offer)) return undefined;
  return Object.entries(offer).flatMap(([name, isOffered]) => (isOffered === true ? [snakeCase(name)] : []));
}
