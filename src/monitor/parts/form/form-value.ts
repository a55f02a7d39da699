import { isJsonObject, type Json, jsonIn } from '../../../core/json.ts';
import type { FieldPath } from './form-field.ts';

/** What stands at a path of a value; undefined when nothing does. */
export function valueAt(value: Json | undefined, path: FieldPath): Json | undefined {
  let found: Json | undefined = value;
  for (const step of path) {
    if (typeof step === 'number') found = Array.isArray(found) ? found[step] : undefined;
    else found = isJsonObject(found) ? found[step] : undefined;
  }
  return found;
}

/** The value with another one at a path; undefined takes it out, and objects that become empty by that as well. */
export function withValueAt(value: Json | undefined, path: FieldPath, next: Json | undefined): Json | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return next;
  if (typeof step === 'number') return withItem(Array.isArray(value) ? value : [], { index: step, rest, next });
  const members = isJsonObject(value) ? value : {};
  const inner = withValueAt(members[step], rest, next);
  const { [step]: _before, ...others } = members;
  const result = inner === undefined ? others : { ...others, [step]: inner };
  return Object.keys(result).length === 0 ? undefined : result;
}

interface ItemChange {
  readonly index: number;
  readonly rest: FieldPath;
  readonly next: Json | undefined;
}

/** An item that is taken out at its own path makes the list shorter; one that is only emptied stays in its place. */
function withItem(items: readonly Json[], { index, rest, next }: ItemChange): Json {
  if (next === undefined && rest.length === 0) return items.filter((_item, at) => at !== index);
  const inner = withValueAt(items[index], rest, next) ?? null;
  return [...items.slice(0, index), inner, ...items.slice(index + 1)];
}

/** What a person typed into a field of JSON: JSON, or the text itself where it is none. */
export function jsonOf(text: string): Json | undefined {
  if (text.trim() === '') return undefined;
  const value = jsonIn(text);
  return value === undefined ? text : value;
}
