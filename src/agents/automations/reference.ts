import { isJsonObject, type Json } from '../../core/json.ts';

/** What an object with this one member stands for: a parameter of the agent, or a fact of its trigger. */
export type ReferenceKind = 'param' | 'trigger';

/** A copy with every `{"<kind>": "NAME"}` replaced by what `lookUp` answers; what it throws ends the whole. */
export function fillReferences(value: Json, kind: ReferenceKind, lookUp: (name: string) => Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => fillReferences(item, kind, lookUp));
  if (!isJsonObject(value)) return value;
  const name = referredName(value, kind);
  if (name !== undefined) return lookUp(name);
  return Object.fromEntries(Object.entries(value).map(([key, item]): [string, Json] => [key, fillReferences(item, kind, lookUp)]));
}

/** The names that are referred to anywhere in a value. */
export function referencesIn(value: Json, kind: ReferenceKind): ReadonlySet<string> {
  const names = new Set<string>();
  fillReferences(value, kind, (name) => {
    names.add(name);
    return null;
  });
  return names;
}

function referredName(value: { readonly [key: string]: Json }, kind: ReferenceKind): string | undefined {
  const name = value[kind];
  return typeof name === 'string' && Object.keys(value).length === 1 ? name : undefined;
}
