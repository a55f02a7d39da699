import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json } from '../core/json.ts';

/** Member that marks a reference to the result of an earlier step: `{"$result": "0/state/is_on"}`. */
const MARK = '$result';
const FORM = /^(\d{1,2})((?:\/[^/]*)*)$/;

/** True when a value holds a reference anywhere. */
export function hasReferences(value: Json): boolean {
  if (Array.isArray(value)) return value.some((item: Json) => hasReferences(item));
  if (!isJsonObject(value)) return false;
  return referenceIn(value) !== undefined || Object.values(value).some(hasReferences);
}

/**
 * A copy of a value with each reference replaced by what it points to (step number, then a JSON pointer, RFC 6901, into
 * its result). VALIDATION_ERROR for a step that has not run, and for a pointer that leads nowhere.
 */
export function fillReferences(value: Json, results: readonly Json[]): Json {
  if (Array.isArray(value)) return value.map((item: Json) => fillReferences(item, results));
  if (!isJsonObject(value)) return value;
  const reference = referenceIn(value);
  if (reference !== undefined) return lookUp(reference, results);
  return Object.fromEntries(Object.entries(value).map(([key, item]): [string, Json] => [key, fillReferences(item, results)]));
}

function referenceIn(value: { readonly [key: string]: Json }): Json | undefined {
  return Object.keys(value).length === 1 ? value[MARK] : undefined;
}

function lookUp(reference: Json, results: readonly Json[]): Json {
  const [, step, pointer = ''] = (typeof reference === 'string' && FORM.exec(reference)) || [];
  if (step === undefined) throw wrong(reference, 'is not of the form STEP/POINTER, such as 0/temperature');
  const result = results[Number(step)];
  if (result === undefined) throw wrong(reference, `points to step ${step}, which has not run before`);
  let found: Json | undefined = result;
  for (const segment of pointer.split('/').slice(1)) found = memberOf(found, segment.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (found === undefined) throw wrong(reference, `leads nowhere in the result of step ${step}`);
  return found;
}

function memberOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return /^\d+$/.test(key) ? value[Number(key)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function wrong(reference: Json, problem: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `The reference ${JSON.stringify(reference).slice(0, 80)} ${problem}`);
}
