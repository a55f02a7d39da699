import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { valueAt } from '../../core/json-pointer.ts';

/** Member that marks a reference to the result of an earlier step: `{"$result": "0/state/is_on"}`. */
const RESULT = '$result';
/** Member that marks a parameter of the tool that the steps make up: `{"$param": "level"}`. */
const PARAM = '$param';
const FORM = /^(\d{1,2})((?:\/[^/]*)*)$/;

/** What references can point to. Without `params` a `$param` is data like any other. */
export interface ReferenceSources {
  readonly results: readonly Json[];
  readonly params?: JsonObject;
}

/** True when a value holds a reference to a result anywhere. */
export function hasReferences(value: Json): boolean {
  return marked(value, RESULT).length > 0;
}

/** How many references to results a value holds; each becomes a copy of what it points to. */
export function countReferences(value: Json): number {
  return marked(value, RESULT).length;
}

/** Indexes of the steps to whose results a value refers. */
export function stepsIn(value: Json): readonly number[] {
  return marked(value, RESULT).map((reference) => Number.parseInt(String(reference), 10));
}

/** Names of the parameters that a value refers to; what is no name is there as it is written. */
export function parametersIn(value: Json): readonly string[] {
  return marked(value, PARAM).map((name) => (typeof name === 'string' ? name : JSON.stringify(name)));
}

/** The parameter that a value is as a whole. */
export function parameterOf(value: Json | undefined): string | undefined {
  const name = isJsonObject(value) ? referenceIn(value, PARAM) : undefined;
  return typeof name === 'string' ? name : undefined;
}

/**
 * A copy of a value with each reference replaced by what it points to: `$result` is a step number, then a JSON pointer (RFC
 * 6901) into its result, `$param` the name of a parameter; a member whose parameter was not given is left out. What was
 * filled in is never read again. VALIDATION_ERROR for a step that has not run, and for a pointer that leads nowhere.
 */
export function fillReferences(value: Json, sources: ReferenceSources): Json {
  if (Array.isArray(value))
    return value.filter((item: Json) => !isAbsent(item, sources)).map((item: Json) => fillReferences(item, sources));
  if (!isJsonObject(value)) return value;
  const reference = referenceIn(value, RESULT);
  if (reference !== undefined) return lookUp(reference, sources.results);
  const name = parameterOf(value);
  if (name !== undefined && sources.params) return sources.params[name] ?? null;
  const members = Object.entries(value).filter(([, item]) => !isAbsent(item, sources));
  return Object.fromEntries(members.map(([key, item]): [string, Json] => [key, fillReferences(item, sources)]));
}

function isAbsent(value: Json, { params }: ReferenceSources): boolean {
  const name = params && parameterOf(value);
  return name !== undefined && !Object.hasOwn(params ?? {}, name);
}

/** What stands behind a mark, wherever in the value it is. */
function marked(value: Json, mark: string): readonly Json[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => marked(item, mark));
  if (!isJsonObject(value)) return [];
  const reference = referenceIn(value, mark);
  return reference === undefined ? Object.values(value).flatMap((item) => marked(item, mark)) : [reference];
}

function referenceIn(value: JsonObject, mark: string): Json | undefined {
  return Object.keys(value).length === 1 ? value[mark] : undefined;
}

function lookUp(reference: Json, results: readonly Json[]): Json {
  const [, step, pointer = ''] = (typeof reference === 'string' && FORM.exec(reference)) || [];
  if (step === undefined) throw wrong(reference, 'is not of the form STEP/POINTER, such as 0/temperature');
  const result = results[Number(step)];
  if (result === undefined) throw wrong(reference, `points to step ${step}, which has not run before`);
  const found = valueAt(result, pointer);
  if (found === undefined) throw wrong(reference, `leads nowhere in the result of step ${step}`);
  return found;
}

function wrong(reference: Json, problem: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `The reference ${JSON.stringify(reference).slice(0, 80)} ${problem}`);
}
