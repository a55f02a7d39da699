import type { Effect } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { givenName } from '../../core/untrusted-text.ts';
import { trustedSchema } from '../schema/schema-validator.ts';
import { isSchemaObject, visitSchema } from '../schema/schema-walk.ts';
import { INVOCATION_POLICY } from './invocation-policy.ts';
import {
  type CallerRights,
  DESTRUCTIVE,
  type RegisteredTool,
  type Restorable,
  type SkippedMember,
  type ToolContext,
  type ToolDefinition,
} from './tool-definition.ts';
import { toolId } from './tool-names.ts';

type Metadata = ToolDefinition['metadata'];

/** The declaration of a tool in TypeScript. Absent fields get a default value. */
export interface ToolDeclaration<S extends Shape> {
  readonly name: string;
  /** Default: `core`. */
  readonly namespace?: string;
  /** Default: `1.0.0`. */
  readonly version?: string;
  readonly title: string;
  readonly description: string;
  readonly category: Metadata['category'];
  readonly parameters: S;
  /** Schema of the result; default: any JSON value. */
  readonly returns?: JsonSchema;
  readonly capabilities?: readonly string[];
  readonly permissions?: readonly string[];
  /** Whether the tool changes anything. False only for tools that read or compute. */
  readonly hasSideEffects: boolean;
  readonly isIdempotent?: boolean;
  readonly isAsyncAllowed?: boolean;
  readonly isDangerous?: boolean;
  /** Set if a call permanently replaces or ends something. Not needed if the tool's name or `isDangerous` already says so. */
  readonly isDestructive?: true;
  /** Number of different persons who must approve a dangerous call; default: 1. */
  readonly approvalsNeeded?: number;
  /** What the audit log stores of a call besides hashes; default: parameters and result, with masked secrets. */
  readonly audit?: Partial<Metadata['audit']>;
  readonly needsNetwork?: boolean;
  /** True for a tool that sends parts of its result with `context.progress`. */
  readonly isStreamSupported?: boolean;
  /** Set if calls should run on a hub with a GPU. If no such hub has the tool, a hub without a GPU runs it. */
  readonly isGpuPreferred?: boolean;
  readonly determinism?: ToolDefinition['execution']['determinism'];
  /** Default: the hub's time limit. */
  readonly timeoutMs?: number;
  readonly retries?: number;
  /** Maximum length of the parameters' JSON text in bytes, at most 16 MiB; default: the hub's limit. Set for tools that accept files. */
  readonly maxParamsBytes?: number;
  readonly preferLocal?: boolean;
  readonly hopLimit?: number;
  /** Ids, names or capabilities of the hubs that may run the tool; default: all hubs. */
  readonly nodeAffinity?: readonly string[];
  readonly tags?: readonly string[];
  readonly area?: string;
  readonly examples?: Metadata['examples'];
  /** Names of tools in the namespace whose rules hold for this tool as well. */
  readonly ruledLike?: readonly string[];
  readonly effects?: (params: ValuesOf<S>) => readonly Effect[];
  readonly canonicalize?: (params: ValuesOf<S>, caller: CallerRights) => JsonObject;
  readonly skips?: (params: ValuesOf<S>, caller: CallerRights) => readonly SkippedMember[];
  readonly restorable?: (params: ValuesOf<S>) => Restorable | undefined;
}

/** Returns a tool from its declaration. The types of the handler's parameters are inferred from `parameters`. */
export function defineTool<const S extends Shape>(
  declaration: ToolDeclaration<S>,
  handler: (params: ValuesOf<S>, context: ToolContext) => Promise<Json>,
): RegisteredTool {
  const definition = definitionOf(declaration);
  const { effects, ruledLike, skips, restorable } = declaration;
  const canonicalize = canonicalizerOf(declaration, definition.parameters);
  // The cast is safe. The validator has checked the parameters against the schema, and `ValuesOf` has the types of that schema.
  const typed = (params: JsonObject) => params as unknown as ValuesOf<S>;
  return {
    id: toolId(definition),
    definition,
    handler: async (params, context) => handler(typed(params), context),
    ...(ruledLike && { ruledLike }),
    ...(effects && { effects: (params: JsonObject) => effects(typed(params)) }),
    ...(canonicalize && { canonicalize }),
    ...(restorable && { restorable: (params: JsonObject) => restorable(typed(params)) }),
    ...(skips && { skips: (params: JsonObject, caller: CallerRights) => skips(typed(params), caller) }),
  };
}

/** Returns a function that first normalizes names given by people, and then applies the tool's own `canonicalize`. */
function canonicalizerOf<S extends Shape>({ canonicalize }: ToolDeclaration<S>, schema: JsonSchema): RegisteredTool['canonicalize'] {
  const named = hasGivenNames(schema) ? (params: JsonObject) => withGivenNames(schema, params) : undefined;
  if (!canonicalize) return named;
  return (params, caller) => canonicalize((named ? named(params) : params) as unknown as ValuesOf<S>, caller);
}

function definitionOf<S extends Shape>(declaration: ToolDeclaration<S>): ToolDefinition {
  const network = declaration.needsNetwork ?? false;
  return {
    name: declaration.name,
    namespace: declaration.namespace ?? 'core',
    version: declaration.version ?? '1.0.0',
    description: declaration.description,
    parameters: trustedSchema(objectSchema(declaration.parameters)),
    returns: trustedSchema(declaration.returns ?? {}),
    requires: {
      capabilities: declaration.capabilities ?? [],
      permissions: declaration.permissions ?? [],
      network,
      gpu: false,
      gpuPreferred: declaration.isGpuPreferred ?? false,
    },
    execution: executionOf(declaration),
    routing: {
      preferLocal: declaration.preferLocal ?? false,
      nodeAffinity: declaration.nodeAffinity ?? [],
      hopLimit: declaration.hopLimit ?? 3,
      preferGpu: declaration.isGpuPreferred ?? false,
    },
    metadata: {
      title: declaration.title,
      category: declaration.category,
      tags: [...(declaration.tags ?? []), ...(declaration.isDestructive ? [DESTRUCTIVE] : [])],
      author: 'atmosphere-edge',
      ...(declaration.area !== undefined && { area: declaration.area }),
      examples: declaration.examples ?? [],
      createdBy: 'system',
      isDangerous: declaration.isDangerous ?? false,
      ...(declaration.approvalsNeeded !== undefined && { approvalsNeeded: declaration.approvalsNeeded }),
      audit: { logParams: true, logResult: true, notifyAdmins: declaration.isDangerous ?? false, ...declaration.audit },
    },
  };
}

function executionOf<S extends Shape>(declaration: ToolDeclaration<S>): ToolDefinition['execution'] {
  return {
    timeoutMs: declaration.timeoutMs ?? INVOCATION_POLICY.timeoutMs,
    ...(declaration.timeoutMs === undefined && { isTimeoutDefault: true as const }),
    retries: declaration.retries ?? (declaration.needsNetwork ? INVOCATION_POLICY.retries : 0),
    isIdempotent: declaration.isIdempotent ?? !declaration.hasSideEffects,
    isAsyncAllowed: declaration.isAsyncAllowed ?? false,
    isStreamSupported: declaration.isStreamSupported ?? false,
    hasSideEffects: declaration.hasSideEffects,
    determinism: declaration.determinism ?? 'nondeterministic',
    ...(declaration.maxParamsBytes !== undefined && { maxParamsBytes: declaration.maxParamsBytes }),
  };
}

declare const valueType: unique symbol;

/** The schema of a parameter, and the type of its values. */
export interface Parameter<T, Presence extends 'required' | 'optional' = 'required' | 'optional'> {
  readonly schema: JsonSchema;
  readonly presence: Presence;
  readonly [valueType]?: T;
  /** Returns an optional copy of the parameter. The handler gets `undefined` if the caller omits the parameter. */
  optional(): Parameter<T | undefined, 'optional'>;
}

/** Parameters by name. */
export type Shape = Readonly<Record<string, Parameter<unknown>>>;

type ValueOf<P> = P extends Parameter<infer T, infer _> ? T : never;
type OptionalKeys<S extends Shape> = { [K in keyof S]: undefined extends ValueOf<S[K]> ? K : never }[keyof S];

/** The type of the values that a handler gets. Defaults are filled in, so only parameters with `.optional()` can be undefined. */
export type ValuesOf<S extends Shape> = { readonly [K in Exclude<keyof S, OptionalKeys<S>>]: ValueOf<S[K]> } & {
  readonly [K in OptionalKeys<S>]?: Exclude<ValueOf<S[K]>, undefined>;
};

/** All JSON types. A schema for any value lists all of them, because models misread a schema without a type. */
const ANY_TYPE = ['string', 'number', 'boolean', 'object', 'array', 'null'];

interface Wording<T> {
  readonly description: string;
  readonly title?: string;
  /** Value that is used if the caller omits the parameter. */
  readonly default?: T;
  readonly examples?: readonly T[];
  /** True if the value must never be shown in the audit log, events or approvals. */
  readonly secret?: boolean;
  /** True if callers need the parameter rarely. Short lists of tools omit it; the tool's own description has it. */
  readonly isRare?: boolean;
  /** True if the value contains parameters for another tool. A field of the value is then masked if its name suggests a secret. */
  readonly secretMembers?: boolean;
}

interface TextRules extends Wording<string> {
  /** True if the text is a new name from a person. The name is stored on one line, without hidden characters. */
  readonly isGivenName?: boolean;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: 'uri' | 'email' | 'date-time' | 'date' | 'time' | 'ipv4' | 'ipv6' | 'hostname';
  /** Set if the text is base64. Message formats that support binary values, such as CBOR, contain the decoded bytes instead. */
  readonly contentEncoding?: 'base64';
  /** Alternative formats that the text can have. */
  readonly anyOf?: readonly (Pick<TextRules, 'format' | 'contentEncoding' | 'description'> & { readonly type: 'string' })[];
}

interface NumberRules extends Wording<number> {
  readonly minimum?: number;
  readonly maximum?: number;
  /** Unit of the number, such as `%` or `°C`, for people and messages. */
  readonly unit?: string;
}

interface ListRules<T> extends Wording<readonly T[]> {
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Functions that declare the parameters of a tool. `defineTool` infers the types of the handler's parameters from them. */
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
  /** Declares an object that may have any fields. */
  record: (rules: Wording<JsonObject>) => parameter<JsonObject>({ type: 'object', ...keywords(rules) }),
  /** Declares a parameter for any JSON value. */
  json: (rules: Wording<Json>) => parameter<Json>({ type: ANY_TYPE, ...keywords(rules) }),
};

/** Returns the JSON Schema of a shape. It refuses undeclared fields, and requires every field without a default or `.optional()`. */
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

/** Returns an object schema from JSON Schema properties. */
export function createJsonSchema(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[] = []): JsonSchema {
  return { type: 'object', properties, required };
}

/** Schema of a text in a result. */
export const TEXT = { type: 'string' } as const;
/** Schema of a list of texts in a result. */
export const TEXTS = { type: 'array', items: TEXT } as const;
/** Schema of a list of objects in a result. */
export const OBJECTS = { type: 'array', items: { type: 'object' } } as const;
/** Schema of an integer in a result. */
export const INTEGER = { type: 'integer' } as const;
/** Schema of a time in a result, as an ISO 8601 text. */
export const INSTANT = { type: 'string', format: 'date-time' } as const;

/** Returns the schema of a result object. All members are required, except the members named in `optional`. */
export function resultSchema<const Properties extends Readonly<Record<string, JsonSchema>>>(
  properties: Properties,
  optional: readonly (keyof Properties)[] = [],
) {
  return { type: 'object', required: Object.keys(properties).filter((name) => !optional.includes(name)), properties } as const;
}

function parameter<T>(schema: JsonSchema): Parameter<T, 'required'> {
  return { schema, presence: 'required', optional: () => ({ ...parameter<T | undefined>(schema), presence: 'optional' }) };
}

function keywords(
  rules: Pick<TextRules, 'isGivenName'> & Pick<Wording<unknown>, 'secret' | 'secretMembers' | 'isRare'> & Pick<NumberRules, 'unit'>,
) {
  const { secret, secretMembers, isGivenName, isRare, unit, ...rest } = rules;
  return {
    ...rest,
    ...(secret === true && { 'x-secret': true }),
    ...(secretMembers === true && { 'x-secret-members': true }),
    ...(isGivenName === true && { [GIVEN_NAME]: true }),
    ...(isRare === true && { [RARE]: true }),
    ...(unit !== undefined && { 'x-unit': unit }),
  };
}

/** Schema keyword of a parameter that short lists of tools omit. */
export const RARE = 'x-rare';

/** Schema keyword of a text that is a new name given by a person. */
export const GIVEN_NAME = 'x-given-name';

/** Returns whether a schema contains a text with `isGivenName` at any depth. */
function hasGivenNames(schema: JsonSchema): boolean {
  let found = false;
  visitSchema(schema, (child) => {
    found ||= child[GIVEN_NAME] === true;
  });
  return found;
}

/** Returns the parameters with normalized names. Throws VALIDATION_ERROR for a name without a visible character. */
function withGivenNames(schema: JsonSchema, params: JsonObject): JsonObject {
  const kept = normalizeNames(schema, params, '');
  return isJsonObject(kept) ? kept : params;
}

function normalizeNames(schema: unknown, value: Json, pointer: string): Json {
  if (!isSchemaObject(schema)) return value;
  if (typeof value === 'string') return schema[GIVEN_NAME] === true ? normalizeName(schema, value, pointer) : value;
  if (Array.isArray(value)) return value.map((item: Json, index) => normalizeNames(schema.items, item, `${pointer}/${index}`));
  if (!isJsonObject(value)) return value;
  const { properties } = schema;
  if (!isSchemaObject(properties)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normalizeNames(properties[key], item, `${pointer}/${key}`)]));
}

function normalizeName({ minLength, maxLength }: JsonSchema, text: string, pointer: string): string {
  const name = givenName(text, typeof maxLength === 'number' ? maxLength : undefined);
  const mayBeEmpty = minLength === undefined && text.trim() === '';
  if (name !== '' || mayBeEmpty) return name;
  throw new AtmoError('VALIDATION_ERROR', `${pointer.slice(1)} has no character that anybody sees; give a name that can be read`, {
    pointer,
  });
}
