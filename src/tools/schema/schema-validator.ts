import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { isBase64 } from '../../codec/base64.ts';
import { canonicalJson } from '../../codec/canonical-json.ts';
import { sha256Hex } from '../../codec/hashes.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema, pointerSegment } from '../../core/json.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import { copyJson, DEFAULT_JSON_LIMITS, describeType, type JsonLimits, measuredCopy } from './plain-json.ts';
import { ALSO_ACCEPTED, atPointer, isSchemaObject, mapSchema } from './schema-walk.ts';

/** The checked value with its defaults, or the mistakes in it. */
export type CheckResult =
  | { readonly isValid: true; readonly value: Json }
  | { readonly isValid: false; readonly problems: readonly SchemaProblem[] };

interface ValidatorOptions {
  readonly limits?: JsonLimits;
  /** Maximum number of cached compiled schemas. The least recently used schema is removed first. */
  readonly maxCompiled?: number;
  /** Number of compilations after which the hub starts with a new ajv instance, since ajv never frees compiled code. */
  readonly rotateAfter?: number;
}

/** If value length times schema length is above this limit, only the first mistake is reported. Otherwise all mistakes are reported. */
const MAX_COST_OF_ALL_ERRORS = 40_000_000;

/** Checks values against JSON Schemas (draft 2020-12). Schemas that differ only in annotations share their compiled code. */
export class SchemaValidator {
  readonly #limits: JsonLimits;
  readonly #maxCompiled: number;
  readonly #rotateAfter: number;
  readonly #compiled = new Map<string, ValidateFunction>();
  readonly #ajvs = new Map<string, Ajv2020>();
  #compilations = 0;

  constructor(options: ValidatorOptions = {}) {
    this.#limits = options.limits ?? DEFAULT_JSON_LIMITS;
    this.#maxCompiled = options.maxCompiled ?? 500;
    this.#rotateAfter = options.rotateAfter ?? 500;
  }

  /** Returns the number of cached schemas and the number of compilations since the start. */
  get stats(): { readonly kept: number; readonly compilations: number } {
    return { kept: this.#compiled.size, compilations: this.#compilations };
  }

  /** Checks a copy of the value and fills in defaults. Never converts a text to a number. Throws PAYLOAD_TOO_LARGE above the limits. */
  check(schema: JsonSchema, value: unknown, limits = this.#limits): CheckResult {
    const { copy, size } = measuredCopy(value, limits);
    const validate = this.#validatorOf(schema, lengthOf(schema) * size > MAX_COST_OF_ALL_ERRORS ? 'first' : 'all');
    if (validate(copy)) return { isValid: true, value: copy };
    return { isValid: false, problems: describeProblems(schema, copy, validate.errors ?? []) };
  }

  /** Returns the parameters with their defaults. Throws VALIDATION_ERROR if they are invalid; `details` lists the mistakes. */
  parameters(schema: JsonSchema, value: unknown, limits = this.#limits): JsonObject {
    const result = this.check(schema, value, limits);
    if (!result.isValid)
      throw new AtmoError('VALIDATION_ERROR', summarize(result.problems), { problems: result.problems.map((problem) => ({ ...problem })) });
    if (!isJsonObject(result.value)) throw new AtmoError('VALIDATION_ERROR', 'The parameters have to be a JSON object');
    return result.value;
  }

  /** Compiles a schema before its first use. Throws VALIDATION_ERROR if the schema cannot be compiled. */
  compile(schema: JsonSchema): void {
    this.#validatorOf(schema, 'all');
  }

  #validatorOf(schema: JsonSchema, told: ErrorScope): ValidateFunction {
    const key = `${told} ${schemaKey(schema)}`;
    const known = this.#compiled.get(key);
    if (known) this.#compiled.delete(key);
    const validate = known ?? this.#compile(schema, told);
    this.#compiled.set(key, validate);
    const oldest = this.#compiled.keys().next().value;
    if (this.#compiled.size > this.#maxCompiled && oldest !== undefined) this.#compiled.delete(oldest);
    return validate;
  }

  #compile(schema: JsonSchema, told: ErrorScope): ValidateFunction {
    if (this.#compilations % this.#rotateAfter === 0) this.#ajvs.clear();
    this.#compilations++;
    const meta = !isTrustedSchema(schema);
    const form = `${told} ${meta}`;
    const ajv = this.#ajvs.get(form) ?? createAjv(told, meta);
    this.#ajvs.set(form, ajv);
    const rules = withoutAnnotations(schema);
    try {
      if (meta) metaSchema().validateSchema(rules, true);
      return ajv.compile(rules);
    } catch (error) {
      throw new AtmoError(
        'VALIDATION_ERROR',
        `The JSON Schema cannot be used: ${error instanceof Error ? error.message : 'unknown reason'}`,
      );
    }
  }
}

/** The validator of this process. What it has compiled serves every part of it that meets the same schema. */
export const sharedValidator = new SchemaValidator();

/** Whether all mistakes of a value are reported, or only the first one. */
type ErrorScope = 'all' | 'first';

let compiledMetaSchema: Ajv2020 | undefined;

/** Returns the meta-schema validator. It is compiled when the first untrusted schema needs it, because this takes 0.14 s and 4 MB. */
function metaSchema(): Ajv2020 {
  compiledMetaSchema ??= createAjv('all', true);
  return compiledMetaSchema;
}

function createAjv(told: ErrorScope, meta: boolean): Ajv2020 {
  const options: Options = {
    validateSchema: false,
    allErrors: told === 'all',
    useDefaults: true,
    coerceTypes: false,
    strict: false,
    logger: false,
  };
  const ajv = new Ajv2020({ ...options, meta });
  addFormats.default(ajv);
  // In the specification, contentEncoding restricts nothing. Here the text must be valid base64, so that a URI does not pass as base64.
  ajv.removeKeyword('contentEncoding');
  ajv.addKeyword({
    keyword: 'contentEncoding',
    schemaType: 'string',
    type: 'string',
    validate: (encoding: string, text: string) => encoding !== 'base64' || isBase64(text),
  });
  return ajv;
}

const ANNOTATIONS = new Set(['$schema', '$id', '$comment', 'title', 'description', 'examples', 'deprecated', 'readOnly', 'writeOnly']);

/** Removes titles, descriptions, examples and `x-` keywords from a schema. The schemas in `x-also` become alternatives in `anyOf`. */
function withoutAnnotations(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (child) => {
    const { default: fallback, ...rules } = Object.fromEntries(
      Object.entries(child).filter(([keyword]) => !ANNOTATIONS.has(keyword) && !keyword.startsWith('x-')),
    );
    const also: unknown = child[ALSO_ACCEPTED];
    return { ...(Array.isArray(also) ? { anyOf: [rules, ...also] } : rules), ...(fallback !== undefined && { default: fallback }) };
  });
}

/** Returns the SHA-256 (hex) of a schema. Schemas that differ only in annotations or member order have the same hash (RFC 8785). */
const schemaKey = oncePerObject((schema: JsonSchema) =>
  sha256Hex(canonicalJson(copyJson(withoutAnnotations(schema), { maxSize: 1_000_000, maxDepth: 64 }))),
);

const lengthOf = oncePerObject((schema: JsonSchema) => JSON.stringify(schema).length);

const trusted = new WeakSet<JsonSchema>();

/** Marks a schema as part of this program. The hub does not check it at each start, since tests check it and its examples. */
export function trustedSchema(schema: JsonSchema): JsonSchema {
  trusted.add(schema);
  return schema;
}

/** Returns whether `trustedSchema` marked this schema object. A copy of a marked schema is not marked. */
export const isTrustedSchema = (schema: JsonSchema): boolean => trusted.has(schema);

/** A mistake in a value. Its message never quotes a value that may be secret. */
interface SchemaProblem {
  /** JSON pointer (RFC 6901) of the wrong member; empty for the whole value. */
  readonly pointer: string;
  readonly message: string;
  readonly allowed?: string;
  readonly example?: Json;
}

const MAX_PROBLEMS = 20;
/** Maximum number of mistakes that are processed. A hostile body can have tens of thousands, and people read only the first. */
const MAX_CONSIDERED = 200;
/** Keywords whose error only says that a subschema failed. The list of errors also has the subschema's own errors. */
const COMPOUND = new Set(['if', 'allOf', '$ref']);

/** Converts ajv's errors to mistakes that people can correct. `schema` still has the annotations, which provide examples and titles. */
function describeProblems(schema: JsonSchema, value: Json, allErrors: readonly ErrorObject[]): readonly SchemaProblem[] {
  const errors = allErrors.slice(0, MAX_CONSIDERED);
  const branching = errors.filter((error) => error.keyword === 'anyOf' || error.keyword === 'oneOf');
  const telling = errors.filter((error) => !COMPOUND.has(error.keyword) && !isWithinBranch(error, branching));
  const problems = telling.map((error) => describeError(schema, value, error));
  const unique = new Map(problems.map((problem) => [`${problem.pointer} ${problem.message}`, problem]));
  return [...unique.values()].slice(0, MAX_PROBLEMS);
}

function summarize(problems: readonly SchemaProblem[]): string {
  const [first, ...rest] = problems;
  if (!first) return 'The value does not fit its schema';
  const allowed = first.allowed === undefined ? '' : `; allowed: ${first.allowed}`;
  const example = first.example === undefined ? '' : `, for example ${JSON.stringify(first.example)}`;
  const more = rest.length === 0 ? '' : ` (and ${rest.length} more, see details)`;
  return `${first.message}${allowed}${example}${more}`;
}

function isWithinBranch(error: ErrorObject, branching: readonly ErrorObject[]): boolean {
  return branching.some((parent) => error !== parent && error.schemaPath.startsWith(`${parent.schemaPath}/`));
}

function describeError(schema: JsonSchema, value: Json, error: ErrorObject): SchemaProblem {
  if (error.keyword === 'required') return describeMissing(schema, error);
  if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') return describeUnknown(schema, error);
  const part = schemaBeside(schema, error);
  const found = atPointer(value, error.instancePath);
  const told = `${fieldName(error.instancePath)} ${fractionOf(part, error, found) ?? explain(error, found)}`;
  const form = error.keyword === 'pattern' ? formOf(part) : undefined;
  return { ...problem(part, error.instancePath, told), ...(form !== undefined && { allowed: form }) };
}

function describeMissing(schema: JsonSchema, error: ErrorObject): SchemaProblem {
  const name = String(error.params.missingProperty);
  const pointer = `${error.instancePath}/${pointerSegment(name)}`;
  const part = atPointer(schemaBeside(schema, error), `/properties/${pointerSegment(name)}`);
  return problem(isSchemaObject(part) ? part : {}, pointer, `${fieldName(pointer)} is missing${whatItIs(part)}`);
}

const MAX_FORM = 80;

/** Describes the required form of a text: by its pattern if that is short, else by its description. */
function formOf({ pattern, description }: JsonSchema): string | undefined {
  if (typeof pattern === 'string' && pattern.length <= MAX_FORM) return describeRange({ pattern });
  return typeof description === 'string' ? description.slice(0, MAX_WORDS) : undefined;
}

const MAX_WORDS = 120;

/** Returns ` (<description>)` for the schema of a text, or an empty text if `enum`, `const`, `pattern` or `format` describes the values. */
function whatItIs(part: unknown): string {
  if (!isSchemaObject(part) || part.type !== 'string' || typeof part.description !== 'string') return '';
  const isToldByAllowed = [part.enum, part.const, part.pattern, part.format].some((keyword) => keyword !== undefined);
  return isToldByAllowed ? '' : ` (${part.description.split('\n', 1)[0]?.slice(0, MAX_WORDS)})`;
}

function describeUnknown(schema: JsonSchema, error: ErrorObject): SchemaProblem {
  const name = String(error.params.additionalProperty ?? error.params.unevaluatedProperty);
  const known = Object.keys(objectAt(schemaBeside(schema, error), '/properties'));
  const [near] = nearestTexts(name, known, 1);
  const hint = near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`;
  return {
    pointer: `${error.instancePath}/${pointerSegment(name)}`,
    message: `${fieldName(`/${pointerSegment(name)}`)} is not known${hint}`,
    allowed: known.length === 0 ? 'no parameters' : known.join(', '),
  };
}

function problem(part: JsonSchema, pointer: string, message: string): SchemaProblem {
  const allowed = describeRange(part);
  const example = describeExample(part);
  return { pointer, message, ...(allowed !== undefined && { allowed }), ...(example !== undefined && { example }) };
}

/** Returns the message for a number that must be an integer. It does not quote a secret number. */
function fractionOf(part: JsonSchema, { keyword, params }: ErrorObject, value: unknown): string | undefined {
  if (keyword !== 'type' || params.type !== 'integer' || typeof value !== 'number') return undefined;
  const shown = part['x-secret'] === true ? 'what it is' : String(value);
  return `has to be a whole number, not ${shown}`;
}

function explain(error: ErrorObject, value: unknown): string {
  if (error.keyword === 'type') return `has to be ${typeWords(error.params.type)}, not ${describeType(value)}`;
  if (error.keyword === 'enum' || error.keyword === 'const') return 'is not one of the allowed values';
  if (error.keyword === 'minimum' || error.keyword === 'exclusiveMinimum') return 'is too small';
  if (error.keyword === 'maximum' || error.keyword === 'exclusiveMaximum') return 'is too large';
  if (error.keyword === 'format') return `is not a valid ${error.params.format}`;
  if (error.keyword === 'pattern') return 'does not have the required form';
  if (error.keyword === 'contentEncoding') return 'is not valid base64';
  if (error.keyword === 'anyOf' || error.keyword === 'oneOf') return 'fits none or more than one of the allowed forms';
  return (error.message ?? 'does not fit its schema').replace('must NOT', 'must not');
}

function typeWords(type: unknown): string {
  const words = (Array.isArray(type) ? type : String(type).split(',')).map((word: string) => TYPE_WORDS[word] ?? word);
  return words.join(' or ');
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

function fieldName(pointer: string): string {
  if (pointer === '') return 'The value';
  const path = pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  return `Parameter ${JSON.stringify(path.slice(0, 80))}`;
}

/** Returns the subschema that contains the failed keyword. */
function schemaBeside(schema: JsonSchema, error: ErrorObject): JsonSchema {
  return objectAt(schema, error.schemaPath.slice(1, error.schemaPath.lastIndexOf('/')));
}

function objectAt(schema: JsonSchema, pointer: string): JsonSchema {
  const found = atPointer(schema, decodeURIComponent(pointer));
  return isSchemaObject(found) ? found : {};
}

/** Returns the allowed values in words: a range, a list or a length. Returns undefined if every value of the type is allowed. */
function describeRange(schema: JsonSchema): string | undefined {
  if (Array.isArray(schema.enum)) return schema.enum.map((item) => JSON.stringify(item)).join(', ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const unit = typeof schema['x-unit'] === 'string' ? ` ${schema['x-unit']}` : '';
  const numbers = bounds(
    numberOf(schema.minimum) ?? numberOf(schema.exclusiveMinimum),
    numberOf(schema.maximum) ?? numberOf(schema.exclusiveMaximum),
  );
  if (numbers !== undefined) return `${numbers}${unit}`;
  const characters = bounds(numberOf(schema.minLength), numberOf(schema.maxLength));
  if (characters !== undefined) return `${characters} characters`;
  const items = bounds(numberOf(schema.minItems), numberOf(schema.maxItems));
  if (items !== undefined) return `${items} items`;
  return typeof schema.pattern === 'string' ? `text of the form ${schema.pattern}` : undefined;
}

/** Returns an example of an allowed value: one that the schema contains, or else a value in the schema's range. */
function describeExample(schema: JsonSchema): Json | undefined {
  const [given] = Array.isArray(schema.examples) ? schema.examples : [];
  const stated = [given, schema.default, Array.isArray(schema.enum) ? schema.enum[0] : undefined, schema.const].find(
    (value) => value !== undefined,
  );
  return stated === undefined ? madeExample(schema) : (stated as Json);
}

const FORMAT_EXAMPLES: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  uri: 'https://example.org/',
  email: 'someone@example.org',
};

/** Maximum width of a range whose middle serves as an example. For wider ranges, the middle would be an odd value such as 200 days. */
const WIDE = 1_000;

function madeExample(schema: JsonSchema): Json | undefined {
  if (typeof schema.format === 'string') return FORMAT_EXAMPLES[schema.format];
  if (schema.type === 'boolean') return true;
  if (schema.type !== 'number' && schema.type !== 'integer') return undefined;
  const low = numberOf(schema.minimum);
  const high = numberOf(schema.maximum);
  if (low !== undefined && high !== undefined) return high - low > WIDE ? undefined : Math.max(low, Math.floor((low + high) / 2));
  return low ?? high ?? 1;
}

function bounds(low: number | undefined, high: number | undefined): string | undefined {
  if (low === undefined && high === undefined) return undefined;
  if (low === undefined) return `at most ${high}`;
  return high === undefined ? `at least ${low}` : `${low} to ${high}`;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
