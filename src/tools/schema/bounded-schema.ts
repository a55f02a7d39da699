import { AtmoError } from '../../core/errors.ts';
import type { JsonSchema } from '../../core/json.ts';
import { atPointer, isSchemaObject, mapSchema, visitSchema } from './schema-walk.ts';

/** Schemas that are looked at in the worst case, those behind references counted each time. */
const MAX_STEPS = 8_192;
const MAX_PATTERN = 256;
const REFERENCE = /^#\/(?:\$defs|definitions)\/[^/]+$/;
/** Lead where nobody has looked. */
const UNSUPPORTED_KEYWORDS = ['dependencies', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor', '$anchor'];

/**
 * A schema of somebody else, such as another hub or an agent, with which values can be checked here in bounded time. Patterns
 * that could take for ever become `x-pattern`, which is only read: the hub that runs the tool applies them. VALIDATION_ERROR for references in circles, or
 * so many on top of each other that no check would end.
 */
export function boundedSchema(schema: JsonSchema): JsonSchema {
  requireBoundedReferences(schema);
  return mapSchema(schema, (child) => Object.fromEntries(Object.entries(child).map(([key, value]) => [readOnly(key, value), value])));
}

/** VALIDATION_ERROR for a schema with which a check could go on for ever, patterns among them. */
export function requireBoundedSchema(schema: JsonSchema): void {
  if (JSON.stringify(boundedSchema(schema)) === JSON.stringify(schema)) return;
  refuse('has a pattern that could take for ever; a pattern has to begin with ^, without groups and with one repetition at most');
}

function readOnly(keyword: string, value: unknown): string {
  if (keyword === 'patternProperties') return 'x-patternProperties';
  return keyword === 'pattern' && !isLinearPattern(value) ? 'x-pattern' : keyword;
}

/** True for a pattern that fails at the first character that does not fit: anchored, without groups, one repetition at most. */
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
    // Whoever comes back here before the sum is known goes in circles.
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
