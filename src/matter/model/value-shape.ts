import type { LimitExpression } from './limit-expression.ts';

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

export interface FieldShape {
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
