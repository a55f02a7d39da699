import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';

/** Key of a reference: `{"param": "NAME"}` stands for a parameter of the agent, and `{"trigger": "NAME"}` for a fact of the trigger. */
type ReferenceKind = 'param' | 'trigger';

/** Returns a copy in which each `{"<kind>": "NAME"}` is replaced by the result of `lookUp`. Throws the error of `lookUp`. */
export function fillReferences(value: Json, kind: ReferenceKind, lookUp: (name: string) => Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => fillReferences(item, kind, lookUp));
  if (!isJsonObject(value)) return value;
  const name = referredName(value, kind);
  if (name !== undefined) return lookUp(name);
  return Object.fromEntries(Object.entries(value).map(([key, item]): [string, Json] => [key, fillReferences(item, kind, lookUp)]));
}

/** Returns the names in all references of one kind within a value. */
export function referencesIn(value: Json, kind: ReferenceKind): ReadonlySet<string> {
  const names = new Set<string>();
  fillReferences(value, kind, (name) => {
    names.add(name);
    return null;
  });
  return names;
}

function referredName(value: JsonObject, kind: ReferenceKind): string | undefined {
  const name = value[kind];
  return typeof name === 'string' && Object.keys(value).length === 1 ? name : undefined;
}
