import {
  type ClusterModel,
  Conformance,
  ElementTag,
  type FieldModel,
  FieldValue,
  Metatype,
  type Model,
  Scope,
  type ValueModel,
} from '@matter/model';
import { present } from '../../core/json.ts';
import { boundOf, type IntegerRange, integerRange, proseLimits, type Unit, unitOf } from './value-limits.ts';

interface ShapeBase extends Partial<Unit> {
  readonly description?: string;
  readonly isNullable: boolean;
}

/** A boolean, a float, or `any`. `any` is a value without a model, such as an attribute of an unknown manufacturer cluster. */
interface PlainShape extends ShapeBase {
  readonly kind: 'boolean' | 'float' | 'any';
}

/** An integer in a range. */
export interface IntegerShape extends ShapeBase, IntegerRange {
  readonly kind: 'integer';
}

/** One of the named values of an enum. */
export interface EnumShape extends ShapeBase {
  readonly kind: 'enum';
  readonly values: readonly { readonly name: string; readonly value: number }[];
  /** True if numbers without a name are accepted. A device that is newer than the model may send such numbers. */
  readonly isOpen: boolean;
}

/** A set of flags and bit fields. */
export interface BitmapShape extends ShapeBase {
  readonly kind: 'bitmap';
  /** Flags (one bit wide) and bit fields (several bits wide). */
  readonly bits: readonly { readonly name: string; readonly width: number }[];
}

/** A text or an octet string of limited length. */
export interface OctetsShape extends ShapeBase {
  readonly kind: 'text' | 'bytes';
  /** Length in octets; for a text, octets of UTF-8 (Core §7.19.1.2). */
  readonly minBytes: number;
  readonly maxBytes?: number;
}

/** A list of limited length. */
export interface ListShape extends ShapeBase {
  readonly kind: 'list';
  readonly entry: ValueShape;
  readonly minItems: number;
  readonly maxItems?: number;
}

interface FieldShape {
  /** Name in camelCase, the same in JSON and in matter.js. */
  readonly name: string;
  readonly isRequired: boolean;
  readonly shape: ValueShape;
}

/** A struct, or the fields of a command or event. */
export interface StructShape extends ShapeBase {
  readonly kind: 'struct';
  readonly fields: readonly FieldShape[];
}

/** The type of an attribute or field in the Matter data model. The hub derives the JSON Schema and the JSON conversion from it. */
export type ValueShape = PlainShape | IntegerShape | EnumShape | BitmapShape | OctetsShape | ListShape | StructShape;

/** The cluster of a value, and the direction in which the value is sent. */
export interface ShapeContext {
  readonly cluster: ClusterModel;
  readonly scope: Scope;
  /** `in`: values from callers. `out`: values from a device, which may have newer enum values and the fabric index. */
  readonly direction: 'in' | 'out';
}

// Maximum nesting of types; no standard type nests deeper. The limit ends the recursion if a manufacturer's type contains itself.
const MAX_DEPTH = 8;
// Id of the FabricIndex field: every fabric-scoped struct has it, and the device sets it (Core §7.19.1).
const FABRIC_INDEX_FIELD = 0xfe;

/** Returns the context for the shapes of one cluster. */
export function shapeContext(cluster: ClusterModel, direction: 'in' | 'out'): ShapeContext {
  return { cluster, scope: Scope(cluster as Model), direction };
}

/** Returns the shape of an attribute, field or list entry. */
export function shapeOfModel(model: ValueModel, context: ShapeContext, depth = 0): ValueShape {
  const base: ShapeBase = present({
    isNullable: model.nullable,
    description: model.description,
    ...unitOf(model, context.cluster.name),
  });
  if (depth > MAX_DEPTH) return { ...base, kind: 'any' };
  switch (model.effectiveMetatype) {
    case Metatype.boolean:
      return { ...base, kind: 'boolean' };
    case Metatype.integer:
      return integerShape(model, context, { ...base, depth });
    case Metatype.float:
      return { ...base, kind: 'float' };
    case Metatype.enum:
      return enumShape(model, context, base);
    case Metatype.bitmap:
      return bitmapShape(model, context, base);
    case Metatype.string:
      return { ...base, kind: 'text', ...lengths(model) };
    case Metatype.bytes:
      return { ...base, kind: 'bytes', ...lengths(model) };
    case Metatype.array:
      return listShape(model, context, base, depth);
    case Metatype.object:
      return { ...structOf(model, context, depth + 1), ...base };
    default:
      return { ...base, kind: 'any' };
  }
}

/** Returns the fields of a struct, command or event. Leaves out the fields that the features of the device do not allow. */
export function structOf(model: ValueModel, context: ShapeContext, depth = 0): StructShape {
  const fields = membersOf(model, context, { tags: [ElementTag.Field], conformance: 'conformant' })
    .filter((field) => !field.isDeprecated && !field.isDisallowed)
    .filter((field) => field.id !== FABRIC_INDEX_FIELD || context.direction === 'out')
    .map((field) => fieldShape(field, context, depth));
  return { kind: 'struct', isNullable: false, fields };
}

function fieldShape(field: ValueModel, context: ShapeContext, depth: number): FieldShape {
  return {
    name: field.propertyName,
    isRequired: field.id !== FABRIC_INDEX_FIELD && isRequired(field, context),
    shape: shapeOfModel(field, context, depth),
  };
}

// Limits that depend on attributes apply only to values from callers: a report outside the device's own limits is accepted.
function integerShape(model: ValueModel, context: ShapeContext, base: ShapeBase & { readonly depth: number }): IntegerShape {
  const { depth, ...rest } = base;
  const { liveMin, liveMax, ...range } = { ...integerRange(model), ...proseLimits(context.cluster.name, model.name) };
  const live = context.direction === 'in' && depth === 0 ? present({ liveMin, liveMax }) : {};
  return { ...rest, kind: 'integer', ...range, ...live };
}

function isRequired(field: ValueModel, context: ShapeContext): boolean {
  // If a conformance compares values ("OperationalStateID >= 128"), matter.js treats the field as mandatory for every value.
  if (/[<>=]/.test(String(field.effectiveConformance))) return false;
  return field.effectiveConformance.applicabilityFor(context.scope) === Conformance.Applicability.Mandatory;
}

function isAllowed(member: ValueModel, context: ShapeContext): boolean {
  return member.effectiveConformance.applicabilityFor(context.scope) !== Conformance.Applicability.None;
}

// Reads members through Scope. Scope includes the values that a derived cluster adds to an inherited type, such as mode tags.
function membersOf(model: ValueModel, context: ShapeContext, options?: Scope.MemberOptions): readonly FieldModel[] {
  return [...context.scope.membersOf(model as Model, options)] as unknown as readonly FieldModel[];
}

function enumShape(model: ValueModel, context: ShapeContext, base: ShapeBase): EnumShape | IntegerShape {
  const allowed = namedValues(model);
  const values = membersOf(model, context)
    .filter((member) => isAllowed(member, context) && (allowed === undefined || allowed.has(member.propertyName)))
    .flatMap((member) => (member.effectiveId === undefined ? [] : [{ name: member.name, value: member.effectiveId }]));
  if (values.length > 0) return { ...base, kind: 'enum', values, isOpen: context.direction === 'out' };
  // The model lists no values if their meaning depends on another attribute, as for OnOff's EffectVariant. Then any number is allowed.
  const is16Bits = model.type === 'enum16' || model.primitiveBase?.name === 'uint16';
  const max = is16Bits ? 0xffffn : 0xffn;
  return { ...base, kind: 'integer', min: 0n, max: model.nullable ? max - 1n : max, isWide: false };
}

/** Returns the values that a constraint such as `add, modify` allows for an enum; undefined without such a constraint. */
function namedValues(model: ValueModel): ReadonlySet<string> | undefined {
  const constraint = model.effectiveConstraint;
  const names = (constraint.parts ?? [constraint]).map((part) => FieldValue.referenced(part.value as FieldValue | undefined));
  return names.every((name) => name !== undefined) ? new Set(names) : undefined;
}

function bitmapShape(model: ValueModel, context: ShapeContext, base: ShapeBase): BitmapShape {
  const bits = membersOf(model, context)
    .filter((member) => isAllowed(member, context))
    .map((member) => ({ name: bitName(member), width: bitWidth(member) }));
  return { ...base, kind: 'bitmap', bits };
}

// Returns the name of a bit: its title if it has one, as in matter.js, else its own name.
function bitName(member: FieldModel): string {
  const words = (member.title ?? member.name)
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .trim()
    .split(' ');
  return words.length === 1 && member.title === undefined ? member.propertyName : camelCase(words);
}

function camelCase(words: readonly string[]): string {
  return words.map((word, index) => (index === 0 ? word.charAt(0).toLowerCase() : word.charAt(0).toUpperCase()) + word.slice(1)).join('');
}

function bitWidth(member: ValueModel): number {
  const { min, max } = member.effectiveConstraint;
  return typeof min === 'number' && typeof max === 'number' ? max - min + 1 : 1;
}

function listShape(model: ValueModel, context: ShapeContext, base: ShapeBase, depth: number): ValueShape {
  const constraint = model.effectiveConstraint;
  const exact = boundOf(constraint.value, model);
  const min = exact ?? boundOf(constraint.min, model) ?? 0n;
  const max = exact ?? boundOf(constraint.max, model);
  const entry = model.listEntry;
  return {
    ...base,
    kind: 'list',
    entry: entry === undefined ? { kind: 'any', isNullable: false } : shapeOfModel(entry, context, depth + 1),
    minItems: Number(min),
    ...(max !== undefined && { maxItems: Number(max) }),
  };
}

function lengths(model: ValueModel): { minBytes: number; maxBytes?: number } {
  const parts = model.effectiveConstraint.parts ?? [model.effectiveConstraint];
  const exact = parts.map((part) => boundOf(part.value, model)).filter((value) => value !== undefined);
  const lows = [...exact, ...parts.flatMap((part) => boundOf(part.min, model) ?? [])].map(Number);
  const highs = [...exact, ...parts.flatMap((part) => boundOf(part.max, model) ?? [])].map(Number);
  return { minBytes: lows.length > 0 ? Math.min(...lows) : 0, ...(highs.length > 0 && { maxBytes: Math.max(...highs) }) };
}
