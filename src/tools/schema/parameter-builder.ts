import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import { GIVEN_NAME } from './given-names.ts';

declare const valueType: unique symbol;

/** A parameter's schema with the type that its values have. */
export interface Parameter<T, Presence extends 'required' | 'optional' = 'required' | 'optional'> {
  readonly schema: JsonSchema;
  readonly presence: Presence;
  readonly [valueType]?: T;
  /** May be left out; the handler then gets `undefined`. */
  optional(): Parameter<T | undefined, 'optional'>;
}

/** Parameters by name. */
export type Shape = Readonly<Record<string, Parameter<unknown>>>;

type ValueOf<P> = P extends Parameter<infer T, infer _> ? T : never;
type OptionalKeys<S extends Shape> = { [K in keyof S]: undefined extends ValueOf<S[K]> ? K : never }[keyof S];

/** What a handler gets for a shape: defaults are filled in, so only `.optional()` members may be absent. */
export type ValuesOf<S extends Shape> = { readonly [K in Exclude<keyof S, OptionalKeys<S>>]: ValueOf<S[K]> } & {
  readonly [K in OptionalKeys<S>]?: Exclude<ValueOf<S[K]>, undefined>;
};

/** Said in full: models guess what a schema without a type means. */
const ANY_TYPE = ['string', 'number', 'boolean', 'object', 'array', 'null'];

interface Wording<T> {
  readonly description: string;
  readonly title?: string;
  /** Filled in when the caller leaves the parameter out. */
  readonly default?: T;
  readonly examples?: readonly T[];
  /** Never shown in audit, events and approvals. */
  readonly secret?: boolean;
  /** Holds calls of other tools: members whose names say that they are secret are never shown either. */
  readonly secretMembers?: boolean;
}

interface TextRules extends Wording<string> {
  /** It is what people call something from now on: kept as one line without hidden characters. */
  readonly isGivenName?: boolean;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: 'uri' | 'email' | 'date-time' | 'date' | 'time' | 'ipv4' | 'ipv6' | 'hostname';
  /** The text stands for bytes: they travel as such where messages can hold them. */
  readonly contentEncoding?: 'base64';
  /** Several kinds of text, each told apart by what it is. */
  readonly anyOf?: readonly (Pick<TextRules, 'format' | 'contentEncoding' | 'description'> & { readonly type: 'string' })[];
}

interface NumberRules extends Wording<number> {
  readonly minimum?: number;
  readonly maximum?: number;
  /** For people and messages, such as `%` or `°C`. */
  readonly unit?: string;
}

interface ListRules<T> extends Wording<readonly T[]> {
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Builds parameters whose types the handler of `defineTool` knows (source 000 §2, decorator syntax). */
export const p = {
  string: (rules: TextRules) => parameter<string>({ type: 'string', ...keywords(rules) }),
  integer: (rules: NumberRules) => parameter<number>({ type: 'integer', ...keywords(rules) }),
  number: (rules: NumberRules) => parameter<number>({ type: 'number', ...keywords(rules) }),
  boolean: (rules: Wording<boolean>) => parameter<boolean>({ type: 'boolean', ...keywords(rules) }),
  enum: <const T extends string>(values: readonly T[], rules: Wording<T>) =>
    parameter<T>({ type: 'string', enum: values, ...keywords(rules) }),
  array: <T>(items: Parameter<T>, rules: ListRules<T>) =>
    parameter<readonly T[]>({ type: 'array', items: items.schema, ...keywords(rules) }),
  object: <S extends Shape>(shape: S, rules: Wording<ValuesOf<S>>) =>
    parameter<ValuesOf<S>>({ ...objectSchema(shape), ...keywords(rules) }),
  /** An object whose members are not known beforehand. */
  record: (rules: Wording<JsonObject>) => parameter<JsonObject>({ type: 'object', ...keywords(rules) }),
  /** Any JSON value. */
  json: (rules: Wording<Json>) => parameter<Json>({ type: ANY_TYPE, ...keywords(rules) }),
};

/** The JSON Schema of a shape: unknown members are refused, members without default or `.optional()` are required. */
export function objectSchema(shape: Shape): JsonSchema {
  const entries = Object.entries(shape);
  const required = entries
    .filter(([, { presence, schema }]) => presence === 'required' && schema.default === undefined)
    .map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** The helper of source 004 ("tool schema rules"): an object schema from JSON Schema properties. */
export function createJsonSchema(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[] = []): JsonSchema {
  return { type: 'object', properties, required };
}

function parameter<T>(schema: JsonSchema): Parameter<T, 'required'> {
  return { schema, presence: 'required', optional: () => ({ ...parameter<T | undefined>(schema), presence: 'optional' }) };
}

function keywords(rules: object): JsonSchema {
  const { secret, secretMembers, isGivenName, unit, ...rest } = rules as {
    readonly isGivenName?: boolean;
    readonly secret?: boolean;
    readonly secretMembers?: boolean;
    readonly unit?: string;
  };
  return {
    ...rest,
    ...(secret === true && { 'x-secret': true }),
    ...(secretMembers === true && { 'x-secret-members': true }),
    ...(isGivenName === true && { [GIVEN_NAME]: true }),
    ...(unit !== undefined && { 'x-unit': unit }),
  };
}
