import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';

/**
 * Key of a reference: `{"param": "NAME"}` stands for a parameter of the agent, `{"trigger": "NAME"}` for a fact of the trigger,
 * `{"answer": "NAME"}` for the answer to a question of the run, and `{"expr": "CEL"}` for the value of an expression.
 */
type ReferenceKind = 'param' | 'trigger' | 'answer' | 'expr';

/** Returns what stands in place of the references of each kind. References of other kinds are left as they are. */
type LookUps = { readonly [Kind in ReferenceKind]?: (name: string) => Json };

const KINDS: readonly ReferenceKind[] = ['param', 'trigger', 'answer', 'expr'];

/**
 * Returns a copy in which each reference is replaced by the result of its look-up, whose error it throws. References in such a result are
 * left as they are, because what comes from outside, such as the body of a webhook, must not be run.
 */
export function fillReferences(value: Json, lookUps: LookUps): Json {
  if (Array.isArray(value)) return value.map((item: Json) => fillReferences(item, lookUps));
  if (!isJsonObject(value)) return value;
  for (const kind of KINDS) {
    const name = referredName(value, kind);
    const lookUp = lookUps[kind];
    if (name !== undefined && lookUp) return lookUp(name);
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]): [string, Json] => [key, fillReferences(item, lookUps)]));
}

/** Returns whether a value has references that only a run can fill in. */
export function isFilledAtRun(value: Json): boolean {
  return (['trigger', 'answer', 'expr'] as const).some((kind) => referencesIn(value, kind).size > 0);
}

/** Returns the names in all references of one kind within a value; for `expr` the texts of the expressions. */
export function referencesIn(value: Json, kind: ReferenceKind): ReadonlySet<string> {
  const names = new Set<string>();
  fillReferences(value, {
    [kind]: (name: string) => {
      names.add(name);
      return null;
    },
  });
  return names;
}

function referredName(value: JsonObject, kind: ReferenceKind): string | undefined {
  const name = value[kind];
  return typeof name === 'string' && Object.keys(value).length === 1 ? name : undefined;
}
