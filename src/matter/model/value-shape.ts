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
import { unitOf } from './units.ts';
import { boundOf, integerRange, type LimitExpression, proseLimits } from './value-limits.ts';

interface ShapeBase {
  readonly description?: string;
  readonly isNullable: boolean;
  /** What one unit of `value * scale` is. */
  readonly unit?: string;
  readonly scale?: number;
}

export interface BooleanShape extends ShapeBase {
  readonly kind: 'boolean';
}

export interface IntegerShape extends ShapeBase {
  readonly kind: 'integer';
  readonly min: bigint;
  readonly max: bigint;
  /** More than 53 bits wide: matter.js wants a bigint, JSON may carry a decimal string. */
  readonly isWide: boolean;
  /** Limits that depend on what the device's other attributes say. */
  readonly liveMin?: LimitExpression;
  readonly liveMax?: LimitExpression;
}

export interface FloatShape extends ShapeBase {
  readonly kind: 'float';
}

export interface EnumShape extends ShapeBase {
  readonly kind: 'enum';
  readonly values: readonly { readonly name: string; readonly value: number }[];
  /** What a device says may be newer than the model: numbers without a name are let through. */
  readonly isOpen: boolean;
}

export interface BitmapShape extends ShapeBase {
  readonly kind: 'bitmap';
  /** A flag is one bit wide, a field several. */
  readonly bits: readonly { readonly name: string; readonly width: number }[];
}

export interface TextShape extends ShapeBase {
  readonly kind: 'text';
  /** Octets of UTF-8 (Core §7.19.1.2). */
  readonly minBytes: number;
  readonly maxBytes?: number;
}

export interface BytesShape extends ShapeBase {
  readonly kind: 'bytes';
  readonly minBytes: number;
  readonly maxBytes?: number;
}

export interface ListShape extends ShapeBase {
  readonly kind: 'list';
  readonly entry: ValueShape;
  readonly minItems: number;
  readonly maxItems?: number;
}

interface FieldShape {
  /** camelCase, the same in JSON and in matter.js. */
  readonly name: string;
  readonly isRequired: boolean;
  readonly shape: ValueShape;
}

export interface StructShape extends ShapeBase {
  readonly kind: 'struct';
  readonly fields: readonly FieldShape[];
}

/** A value of which the model says nothing, such as an attribute of an unknown manufacturer cluster. */
export interface AnyShape extends ShapeBase {
  readonly kind: 'any';
}

/**
 * What values an attribute or a field has: read once from the Matter data model, the one origin of both its JSON Schema
 * and its conversion between JSON and matter.js.
 */
export type ValueShape =
  | BooleanShape
  | IntegerShape
  | FloatShape
  | EnumShape
  | BitmapShape
  | TextShape
  | BytesShape
  | ListShape
  | StructShape
  | AnyShape;

/** Where in a cluster a value stands. */
export interface ShapeContext {
  readonly cluster: ClusterModel;
  readonly scope: Scope;
  /** `in`: what callers may send; `out`: what a device may say, so newer enum values pass and the fabric index is kept. */
  readonly direction: 'in' | 'out';
}

// No standard type nests deeper; the bound keeps a manufacturer's recursive model from looping.
const MAX_DEPTH = 8;
// Every fabric-scoped struct has this field; the device fills it in (Core §7.19.1).
const FABRIC_INDEX_FIELD = 0xfe;
type Base = Pick<ValueShape, 'description' | 'isNullable' | 'unit' | 'scale'>;

/** The context for reading shapes out of one cluster, already narrowed to what a device supports. */
export function shapeContext(cluster: ClusterModel, direction: 'in' | 'out'): ShapeContext {
  return { cluster, scope: Scope(cluster as Model), direction };
}

/** The shape of an attribute, field or list entry. */
export function shapeOfModel(model: ValueModel, context: ShapeContext, depth = 0): ValueShape {
  const base: Base = {
    isNullable: model.nullable,
    ...(model.description !== undefined && { description: model.description }),
    ...unitOf(model, context.cluster.name),
  };
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

/** The fields of a struct, command or event that this device's features allow. */
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

// Live limits are of use where callers choose a value; a device that reports outside its own limits is still heard.
function integerShape(model: ValueModel, context: ShapeContext, base: Base & { readonly depth: number }): IntegerShape {
  const { depth, ...rest } = base;
  const { liveMin, liveMax, ...range } = { ...integerRange(model), ...proseLimits(context.cluster.name, model.name) };
  if (context.direction === 'out' || depth > 0) return { ...rest, kind: 'integer', ...range };
  return { ...rest, kind: 'integer', ...range, ...(liveMin !== undefined && { liveMin }), ...(liveMax !== undefined && { liveMax }) };
}

function isRequired(field: ValueModel, context: ShapeContext): boolean {
  // A conformance that compares values ("OperationalStateID >= 128") claims to be mandatory whatever the value is.
  if (/[<>=]/.test(String(field.effectiveConformance))) return false;
  return field.effectiveConformance.applicabilityFor(context.scope) === Conformance.Applicability.Mandatory;
}

function isAllowed(member: ValueModel, context: ShapeContext): boolean {
  return member.effectiveConformance.applicabilityFor(context.scope) !== Conformance.Applicability.None;
}

// Scope knows the values that a derived cluster adds to an inherited type, such as the mode tags; `members` does not.
function membersOf(model: ValueModel, context: ShapeContext, options?: Scope.MemberOptions): readonly FieldModel[] {
  return [...context.scope.membersOf(model as Model, options)] as unknown as readonly FieldModel[];
}

function enumShape(model: ValueModel, context: ShapeContext, base: Base): EnumShape | IntegerShape {
  const allowed = namedValues(model);
  const values = membersOf(model, context)
    .filter((member) => isAllowed(member, context) && (allowed === undefined || allowed.has(member.propertyName)))
    .flatMap((member) => (member.effectiveId === undefined ? [] : [{ name: member.name, value: member.effectiveId }]));
  if (values.length > 0) return { ...base, kind: 'enum', values, isOpen: context.direction === 'out' };
  // An enum8 whose values another attribute decides, such as OnOff's EffectVariant.
  return { ...base, kind: 'integer', ...plainEnumRange(model) };
}

function plainEnumRange(model: ValueModel): Pick<IntegerShape, 'min' | 'max' | 'isWide'> {
  const is16Bits = model.type === 'enum16' || model.primitiveBase?.name === 'uint16';
  const max = is16Bits ? 0xffffn : 0xffn;
  return { min: 0n, max: model.nullable ? max - 1n : max, isWide: false };
}

/** A constraint such as `add, modify` on an enum: the only values that are allowed here. */
function namedValues(model: ValueModel): ReadonlySet<string> | undefined {
  const constraint = model.effectiveConstraint;
  const names = (constraint.parts ?? [constraint]).map((part) => FieldValue.referenced(part.value as FieldValue | undefined));
  return names.every((name) => name !== undefined) ? new Set(names) : undefined;
}

function bitmapShape(model: ValueModel, context: ShapeContext, base: Base): BitmapShape {
  const bits = membersOf(model, context)
    .filter((member) => isAllowed(member, context))
    .map((member) => ({ name: bitName(member), width: bitWidth(member) }));
  return { ...base, kind: 'bitmap', bits };
}

// A bit with a title goes by it, as in matter.js.
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

function listShape(model: ValueModel, context: ShapeContext, base: Base, depth: number): ValueShape {
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
