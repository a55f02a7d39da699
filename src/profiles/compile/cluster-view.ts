import type { AttributeDescription, ClusterDescription, CommandDescription } from '../../core/devices/device-model.ts';
import { snakeCase } from '../../core/devices/matter-names.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { plain } from '../../core/untrusted-text.ts';
import type { ChoicesEntry, LimitsEntry, ValueEntry } from '../files/profile-format.ts';
import { type Choice, type ConversionContext, type Converter, propertiesOf, rawKind } from '../values/converter.ts';
import { type ConverterName, converterOf, memberOf } from '../values/converters.ts';
import { orNullSchema } from '../values/human-schema.ts';

/** Returns the last reported value of an attribute of a device; undefined before the first report. */
export type LiveValues = (endpoint: number, cluster: string, attribute: string) => Json | undefined;

/** Live values of a device that has reported nothing yet. */
export const NO_LIVE_VALUES: LiveValues = () => undefined;

/** One cluster of an endpoint, with its last reported values. Commands and attributes are found by name in any letter case. */
export class ClusterView {
  readonly endpoint: number;
  readonly description: ClusterDescription;
  readonly #around: { readonly live: LiveValues; readonly neighbours: readonly string[] };

  /** `neighbours` are the names of all clusters of the endpoint. */
  constructor(
    endpoint: number,
    description: ClusterDescription,
    around: { readonly live: LiveValues; readonly neighbours: readonly string[] },
  ) {
    this.endpoint = endpoint;
    this.description = description;
    this.#around = around;
  }

  get name(): string {
    return this.description.name;
  }

  command(name: string): CommandDescription | undefined {
    return byName(this.description.commands, name);
  }

  attribute(name: string): AttributeDescription | undefined {
    return byName(this.description.attributes, name);
  }

  /** Returns whether the endpoint also has the given cluster. */
  hasNeighbour(cluster: string): boolean {
    return this.#around.neighbours.includes(cluster);
  }

  hasFeatures(features: readonly string[]): boolean {
    return features.every((feature) => this.description.features.includes(feature));
  }

  /** Returns the attribute's last raw value; undefined if nothing was reported or the device lacks the attribute. */
  live(attribute: string): Json | undefined {
    const found = this.attribute(attribute);
    return found && this.#around.live(this.endpoint, this.description.name, found.name);
  }

  liveNumber(attribute: string): number | undefined {
    const value = this.live(attribute);
    return typeof value === 'number' ? value : undefined;
  }

  /** Returns the last raw value of an attribute of any cluster on the same endpoint. */
  liveOf(cluster: string, attribute: string): Json | undefined {
    return this.#around.live(this.endpoint, cluster, attribute);
  }

  /** Returns the highest `min` or the lowest `max` that the device reports; undefined if it reports none. */
  limit(entry: LimitsEntry, end: 'min' | 'max'): number | undefined {
    const paths = [entry[end] ?? []].flat();
    const at = { cluster: entry.cluster ?? this.name, end };
    const count = end === 'max' && entry.below !== undefined ? this.#limitAt(entry.below, at) : undefined;
    const stated = [...paths.flatMap((path) => this.#limitAt(path, at) ?? []), ...(count === undefined ? [] : [count - 1])];
    if (stated.length === 0) return undefined;
    return end === 'min' ? Math.max(...stated) : Math.min(...stated);
  }

  /** Returns a reported limit. For a path through a list, returns the lowest `min` or the highest `max` of the list's items. */
  #limitAt(path: string, { cluster, end }: { readonly cluster: string; readonly end: 'min' | 'max' }): number | undefined {
    const [attribute = '', ...members] = path.split('.');
    const root = cluster === this.name ? this.live(attribute) : this.liveOf(cluster, attribute);
    const found = members.reduce<readonly Json[]>((at, member) => at.flat().flatMap((one) => memberOf(one, member) ?? []), [root ?? null]);
    const numbers = found.flat().filter((one) => typeof one === 'number');
    if (numbers.length === 0) return undefined;
    return end === 'min' ? Math.min(...numbers) : Math.max(...numbers);
  }

  /** Returns the modes, inputs or levels that the device lists, with their names; an empty list before the device has reported them. */
  choices(entry: ChoicesEntry): readonly Choice[] {
    const list = entry.cluster === undefined ? this.live(entry.from) : this.liveOf(entry.cluster, entry.from);
    if (!Array.isArray(list)) return [];
    const taken = new Set<string>();
    return list.map((item: Json, index) => {
      const id = entry.id === undefined ? index : (memberOf(item, entry.id) ?? index);
      return { id, name: unique(labelOf(item, entry.label) || `value_${typeof id === 'number' ? id : index}`, taken) };
    });
  }
}

/** Returns a field of an object schema by a dotted path, in any letter case. */
export function fieldAt(schema: JsonSchema, path: string): { readonly name: string; readonly schema: JsonSchema } | undefined {
  const [head = '', ...rest] = path.split('.');
  const properties = propertiesOf(schema);
  const name = Object.keys(properties).find((key) => key.toLowerCase() === head.toLowerCase());
  const found = name === undefined ? undefined : properties[name];
  if (name === undefined || found === undefined) return undefined;
  if (rest.length === 0) return { name, schema: found };
  const inner = fieldAt(found, rest.join('.'));
  return inner && { ...inner, name: `${name}.${inner.name}` };
}

function byName<Item extends { readonly name: string }>(items: readonly Item[], name: string): Item | undefined {
  const wanted = name.toLowerCase();
  return items.find((item) => item.name.toLowerCase() === wanted);
}

function labelOf(item: Json, label: string | undefined): string {
  if (label === undefined) return snakeCase(plain(String(item)));
  for (const path of label.split('|')) {
    const value = path.split('.').reduce<Json | undefined>((at, member) => (isJsonObject(at) ? memberOf(at, member) : undefined), item);
    if (typeof value === 'string' && snakeCase(plain(value)) !== '') return snakeCase(plain(value));
  }
  return '';
}

function unique(name: string, taken: Set<string>): string {
  let candidate = name;
  for (let number = 2; taken.has(candidate); number++) candidate = `${name}_${number}`;
  taken.add(candidate);
  return candidate;
}

/** A value of a device with its conversion to human units. */
export interface CompiledValue {
  readonly name: string;
  readonly title: string;
  readonly description?: string;
  readonly kind?: string;
  readonly unit: string;
  readonly endpoint: number;
  readonly cluster: string;
  readonly attribute: string;
  /** True if the device does not report changes. The hub must then read the value, because the cached value may be outdated. */
  readonly hasToBeAsked: boolean;
  /** Schema of the value in human units; it allows null. */
  readonly schema: JsonSchema;
  toHuman(raw: Json): Json;
  /** Returns whether a raw value meets `wanted`, which is in human units. Values that round to the same raw value count as equal. */
  shows(raw: Json, wanted: Json): boolean;
}

interface Conversion {
  readonly convert?: ConverterName;
  readonly unit?: string;
  readonly choices?: ChoicesEntry;
}

/** Returns the converter that the entry names. If it names none, its `choices`, its `member` and the schema determine the converter. */
export function chooseConverter(entry: Conversion & { readonly member?: string }, schema: JsonSchema): Converter {
  if (entry.convert !== undefined) return converterOf(entry.convert);
  if (entry.choices !== undefined) return converterOf('choice');
  const kind = rawKind(schema);
  if (kind === 'bitmap') return converterOf(entry.member === undefined ? 'flags' : 'flag');
  const usual: Partial<Record<typeof kind, ConverterName>> = { enum: 'enum', integer: 'count', number: 'measured', text: 'text' };
  return converterOf(usual[kind] ?? 'same');
}

/** Returns a value of a capability on one cluster of a device; undefined if the device lacks the attribute. */
export function compileValue(name: string, entry: ValueEntry, view: ClusterView): CompiledValue | undefined {
  const attribute = view.attribute(entry.attribute);
  if (!attribute) return undefined;
  const { schema, isFlag } = rawSchema(attribute, entry.member);
  const converter = chooseConverter(entry, schema);
  const unit = converter.unit ?? entry.unit ?? ((attribute.scale ?? 1) === 1 ? (attribute.unit ?? '') : '');
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

/** Returns the schema without limits and enum names, because a device may report values outside of them. */
function openSchema(converter: Converter, context: ConversionContext): JsonSchema {
  const { minimum: _low, maximum: _high, enum: _names, ...schema } = converter.schema(context) as Record<string, unknown>;
  return schema;
}

function valueSchema(entry: ValueEntry, unit: string, schema: JsonSchema): JsonSchema {
  const description = `${entry.description ?? entry.title}${unit === '' ? '' : ` in ${unit}`}; null when not known`;
  return { ...orNullSchema(schema), description, ...(unit !== '' && { 'x-unit': unit }) };
}

function isLeft(left: Json, wanted: Json): boolean {
  return typeof left === 'number' && left > 0 && left <= Number(wanted);
}

function sameRaw(converter: Converter, raw: Json, asked: { wanted: Json; context: () => ConversionContext }): boolean {
  if (raw === null || asked.wanted === null) return raw === asked.wanted;
  const wanted = converter.toRaw(asked.wanted, asked.context());
  return JSON.stringify(inOrder(wanted)) === JSON.stringify(inOrder(raw));
}

/** Returns a list sorted, and any other value unchanged. A device may report a list in another order than it was written. */
function inOrder(raw: Json): Json {
  return Array.isArray(raw) ? raw.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : raw;
}
