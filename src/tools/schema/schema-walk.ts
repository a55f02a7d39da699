import { AtmoError } from '../../core/errors.ts';
import { type JsonSchema, pointerKeys, pointerSegment } from '../../core/json.ts';

const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Schema keyword with further accepted schemas, for example for older forms of a value. The public schema omits this keyword. */
export const ALSO_ACCEPTED = 'x-also';
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', ALSO_ACCEPTED]);
const SINGLES = new Set([
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
]);

/** Returns the replacement of one schema object. `pointer` is its JSON pointer in the root schema. */
export type SchemaStep = (schema: JsonSchema, pointer: string) => JsonSchema;

/** Returns whether a schema is an object. `true` and `false` are schemas too, but they have no subschemas. */
export function isSchemaObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the members of an object schema; an empty object for any other schema. */
export function propertiesOf({ properties }: JsonSchema): JsonSchema {
  return isSchemaObject(properties) ? properties : {};
}

/** Returns the names of the required members of an object schema. */
export function requiredOf({ required }: JsonSchema): readonly unknown[] {
  return Array.isArray(required) ? required : [];
}

/** Applies `step` to a schema and to all its subschemas, parents first. Returns the result. Data in `enum` and `default` is not changed. */
export function mapSchema(schema: JsonSchema, step: SchemaStep, pointer = ''): JsonSchema {
  const stepped = step(schema, pointer);
  const entries = Object.entries(stepped).map(([keyword, value]): [string, unknown] => [
    keyword,
    mapKeyword(keyword, value, (child, path) => mapSchema(child, step, `${pointer}/${keyword}${path}`)),
  ]);
  return Object.fromEntries(entries);
}

/** Calls `visit` for every subschema with its JSON pointer. */
export function visitSchema(schema: JsonSchema, visit: (schema: JsonSchema, pointer: string) => void, pointer = ''): void {
  visit(schema, pointer);
  for (const [keyword, value] of Object.entries(schema)) {
    mapKeyword(keyword, value, (child, path) => {
      visitSchema(child, visit, `${pointer}/${keyword}${path}`);
      return child;
    });
  }
}

/** Returns the value at a JSON pointer; undefined if there is none. */
export function atPointer(root: unknown, pointer: string): unknown {
  let value = root;
  for (const key of pointerKeys(pointer)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** Returns the value of a keyword, with what `map` returns in place of each of its subschemas. `path` is its pointer below the keyword. */
function mapKeyword(keyword: string, value: unknown, map: (child: JsonSchema, path: string) => JsonSchema): unknown {
  const mapIfSchema = (child: unknown, path: string) => (isSchemaObject(child) ? map(child, path) : child);
  if (SINGLES.has(keyword)) return mapIfSchema(value, '');
  if (LISTS.has(keyword) && Array.isArray(value)) return value.map((child, index) => mapIfSchema(child, `/${index}`));
  if (!MAPS.has(keyword) || !isSchemaObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, mapIfSchema(child, `/${pointerSegment(key)}`)]));
}

/** Maximum number of visited schemas. A schema counts again for each reference to it. */
const MAX_STEPS = 8_192;
const MAX_PATTERN = 256;
const REFERENCE = /^#\/(?:\$defs|definitions)\/[^/]+$/;
/** Keywords that are refused, because the hub does not check the schemas to which they refer. */
const UNSUPPORTED_KEYWORDS = ['dependencies', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor', '$anchor'];

/**
 * Changes a schema from outside, such as from an agent or another hub, so that checking a value takes limited time. A pattern that could
 * take exponential time becomes the annotation `x-pattern`. Only the hub that runs the tool checks such a pattern. Throws VALIDATION_ERROR
 * for circular references, and for nested references with too many steps.
 */
export function boundedSchema(schema: JsonSchema): JsonSchema {
  requireBoundedReferences(schema);
  return mapSchema(schema, (child) => Object.fromEntries(Object.entries(child).map(([key, value]) => [readOnly(key, value), value])));
}

/** Throws VALIDATION_ERROR if the schema's references or patterns could make the check of a value take unlimited time. */
export function requireBoundedSchema(schema: JsonSchema): void {
  if (JSON.stringify(boundedSchema(schema)) === JSON.stringify(schema)) return;
  refuse('has a pattern that could take for ever; a pattern has to begin with ^, without groups and with one repetition at most');
}

function readOnly(keyword: string, value: unknown): string {
  if (keyword === 'patternProperties') return 'x-patternProperties';
  return keyword === 'pattern' && !isLinearPattern(value) ? 'x-pattern' : keyword;
}

/** Returns whether a pattern takes linear time: it is anchored, has no groups and at most one repetition. */
function isLinearPattern(pattern: unknown): boolean {
  if (typeof pattern !== 'string' || pattern.length > MAX_PATTERN || !pattern.startsWith('^') || /\\[1-9k]/.test(pattern)) return false;
  const plain = pattern.replace(/\\./gsu, 'x').replace(/\[[^\]]*\]/gu, 'x');
  return !/[()|]|\{\d{5}/.test(plain) && (plain.match(/[*+?]|\{\d+,/g) ?? []).length <= 1;
}

function requireBoundedReferences(root: JsonSchema): void {
  const steps = new Map<JsonSchema, number>();
  const stepsOf = (schema: JsonSchema): number => {
    const known = steps.get(schema);
    if (known !== undefined) return known;
    // An infinite sum marks a schema whose sum is not known yet. If a reference reaches it now, the references are circular.
    steps.set(schema, Number.POSITIVE_INFINITY);
    let sum = 0;
    visitSchema(schema, (child) => {
      refuseUnsupportedKeywords(child);
      sum += 1 + (child.$ref === undefined ? 0 : stepsOf(target(root, child.$ref)));
    });
    steps.set(schema, sum);
    return sum;
  };
  if (stepsOf(root) > MAX_STEPS) refuse('has references in circles, or too many on top of each other');
}

function target(root: JsonSchema, reference: unknown): JsonSchema {
  const found = typeof reference === 'string' && REFERENCE.test(reference) ? atPointer(root, reference.slice(1)) : undefined;
  return isSchemaObject(found) ? found : refuse('has a reference to something else than a member of its $defs');
}

function refuseUnsupportedKeywords(schema: JsonSchema): void {
  const keyword = UNSUPPORTED_KEYWORDS.find((name) => Object.hasOwn(schema, name));
  if (keyword !== undefined) refuse(`uses ${keyword}, which is not known here`);
}

function refuse(problem: string): never {
  throw new AtmoError('VALIDATION_ERROR', `The schema ${problem}`);
}
