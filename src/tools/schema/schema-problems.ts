import type { ErrorObject } from 'ajv/dist/2020.js';
import { nearestTexts } from '../../core/edit-distance.ts';
import type { Json, JsonSchema } from '../../core/json.ts';
import { describeType } from './plain-json.ts';
import { atPointer, isSchemaObject, pointerSegment } from './schema-walk.ts';
import { exampleOf, rangeOf } from './schema-wording.ts';

/** One thing that is wrong with a value. Messages repeat no value that may be a secret. */
export interface SchemaProblem {
  /** JSON pointer (RFC 6901) of the member, empty for the whole. */
  readonly pointer: string;
  readonly message: string;
  readonly allowed?: string;
  readonly example?: Json;
}

const MAX_PROBLEMS = 20;
/** A hostile body makes tens of thousands of errors; nobody reads more than the first. */
const MAX_CONSIDERED = 200;
/** Keywords that only say that one of their branches failed; the branches' own errors follow beside them. */
const COMPOUND = new Set(['if', 'allOf', '$ref']);

/** ajv's errors as problems that a person can act on; the schema is the annotated one, for examples and titles. */
export function describeProblems(schema: JsonSchema, value: Json, allErrors: readonly ErrorObject[]): readonly SchemaProblem[] {
  const errors = allErrors.slice(0, MAX_CONSIDERED);
  const branching = errors.filter((error) => error.keyword === 'anyOf' || error.keyword === 'oneOf');
  const telling = errors.filter((error) => !COMPOUND.has(error.keyword) && !isWithinBranch(error, branching));
  const problems = telling.map((error) => describeError(schema, value, error));
  const unique = new Map(problems.map((problem) => [`${problem.pointer} ${problem.message}`, problem]));
  return [...unique.values()].slice(0, MAX_PROBLEMS);
}

/** All problems in one human sentence. */
export function summarize(problems: readonly SchemaProblem[]): string {
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

/** How long a text may be says nothing of its form; a long expression says less of it than the description does. */
function formOf({ pattern, description }: JsonSchema): string | undefined {
  if (typeof pattern === 'string' && pattern.length <= MAX_FORM) return rangeOf({ pattern });
  return typeof description === 'string' ? description.slice(0, MAX_WORDS) : undefined;
}

const MAX_WORDS = 120;

/** Of a text without a list of values or a form, its length says least: what it is stands in its description. */
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
  const allowed = rangeOf(part);
  const example = exampleOf(part);
  return { pointer, message, ...(allowed !== undefined && { allowed }), ...(example !== undefined && { example }) };
}

/** A number that has to be whole, with itself: that it is a number is right. A secret one is not repeated. */
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

/** The schema object that holds the keyword which failed. */
function schemaBeside(schema: JsonSchema, error: ErrorObject): JsonSchema {
  return objectAt(schema, error.schemaPath.slice(1, error.schemaPath.lastIndexOf('/')));
}

function objectAt(schema: JsonSchema, pointer: string): JsonSchema {
  const found = atPointer(schema, decodeURIComponent(pointer));
  return isSchemaObject(found) ? found : {};
}
