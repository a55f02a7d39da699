import type { AttributeDescription } from '../../core/devices/device-model.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { ChoicesEntry, ValueEntry } from '../files/profile-format.ts';
import { type ConversionContext, type Converter, propertiesOf, rawKind } from '../values/converter.ts';
import { type ConverterName, converterOf, memberOf } from '../values/converters.ts';
import { orNullSchema } from '../values/human-schema.ts';
import type { ClusterView } from './cluster-view.ts';

/** A value of a device, with its conversion. */
export interface CompiledValue {
  readonly name: string;
  readonly title: string;
  readonly description?: string;
  readonly kind?: string;
  readonly unit: string;
  readonly endpoint: number;
  readonly cluster: string;
  readonly attribute: string;
  /** The device does not report changes, so a cached value may be wrong. */
  readonly hasToBeAsked: boolean;
  /** Schema of the human value, null included. */
  readonly schema: JsonSchema;
  toHuman(raw: Json): Json;
  /** True when the raw value is the wanted one, within the resolution of the device. */
  shows(raw: Json, wanted: Json): boolean;
}

interface Conversion {
  readonly convert?: ConverterName;
  readonly unit?: string;
  readonly choices?: ChoicesEntry;
}

/** The converter that an entry names, else the one for its kind of value; one `member` of a bitmap is a flag. */
export function chooseConverter(entry: Conversion & { readonly member?: string }, schema: JsonSchema): Converter {
  if (entry.convert !== undefined) return converterOf(entry.convert);
  if (entry.choices !== undefined) return converterOf('choice');
  const kind = rawKind(schema);
  if (kind === 'bitmap') return converterOf(entry.member === undefined ? 'flags' : 'flag');
  const usual: Partial<Record<typeof kind, ConverterName>> = { enum: 'enum', integer: 'count', number: 'measured', text: 'text' };
  return converterOf(usual[kind] ?? 'same');
}

/** A value of a capability on one cluster of a device; undefined where the device lacks the attribute. */
export function compileValue(name: string, entry: ValueEntry, view: ClusterView): CompiledValue | undefined {
  const attribute = view.attribute(entry.attribute);
  if (!attribute) return undefined;
  const { schema, isFlag } = rawSchema(attribute, entry.member);
  const converter = chooseConverter(entry, schema);
  const unit = converter.unit ?? entry.unit ?? deviceUnit(attribute);
  const isReplaced = entry.readingUnless !== undefined && view.attribute(entry.readingUnless) !== undefined;
  const context = (): ConversionContext => ({
    schema,
    unit,
    ...(entry.member !== undefined && { member: entry.member }),
    ...(entry.choices !== undefined && { choices: view.choices(entry.choices) }),
    ...(entry.rename !== undefined && { rename: entry.rename }),
  });
  const toHuman = (raw: Json): Json => {
    const own = entry.member === undefined || isFlag ? raw : memberOf(raw, entry.member);
    return own === null || own === undefined ? null : converter.toHuman(own, context());
  };
  return {
    name,
    title: entry.title,
    unit,
    endpoint: view.endpoint,
    cluster: view.name,
    attribute: attribute.name,
    hasToBeAsked: attribute.changesOmitted,
    ...(entry.description !== undefined && { description: entry.description }),
    ...(entry.kind !== undefined && !isReplaced && { kind: entry.kind }),
    schema: valueSchema(entry, unit, openSchema(converter, context())),
    toHuman,
    shows: (raw, wanted) =>
      entry.countsDown
        ? isLeft(toHuman(raw), wanted)
        : toHuman(raw) === wanted || (entry.member === undefined && sameRaw(converter, raw, { wanted, context })),
  };
}

function rawSchema(attribute: AttributeDescription, member: string | undefined): { readonly schema: JsonSchema; readonly isFlag: boolean } {
  if (member === undefined) return { schema: attribute.schema, isFlag: false };
  if (rawKind(attribute.schema) === 'bitmap') return { schema: attribute.schema, isFlag: true };
  const found = memberOf(propertiesOf(attribute.schema) as JsonObject, member);
  return { schema: (found ?? {}) as JsonSchema, isFlag: false };
}

/** The schema without limits and names, which reported values may exceed. */
function openSchema(converter: Converter, context: ConversionContext): JsonSchema {
  const { minimum: _low, maximum: _high, enum: _names, ...schema } = converter.schema(context) as Record<string, unknown>;
  return schema;
}

function valueSchema(entry: ValueEntry, unit: string, schema: JsonSchema): JsonSchema {
  const description = `${entry.description ?? entry.title}${unit === '' ? '' : ` in ${unit}`}; null when not known`;
  return { ...orNullSchema(schema), description, ...(unit !== '' && { 'x-unit': unit }) };
}

/** The unit of the attribute itself, unless it has a scale. */
function deviceUnit(attribute: AttributeDescription): string {
  return (attribute.scale ?? 1) === 1 ? (attribute.unit ?? '') : '';
}

function isLeft(left: Json, wanted: Json): boolean {
  return typeof left === 'number' && left > 0 && left <= Number(wanted);
}

function sameRaw(converter: Converter, raw: Json, asked: { wanted: Json; context: () => ConversionContext }): boolean {
  if (raw === null || asked.wanted === null) return raw === asked.wanted;
  const wanted = converter.toRaw(asked.wanted, asked.context());
  return JSON.stringify(inOrder(wanted)) === JSON.stringify(inOrder(raw));
}

/** A device may report a list in another order than it was written. */
function inOrder(raw: Json): Json {
  return Array.isArray(raw) ? raw.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : raw;
}
