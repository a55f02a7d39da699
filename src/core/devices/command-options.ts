import type { JsonObject } from '../json.ts';

// Bits that change how a command works; without any of them it works as usual. A bitmap that says what a command is about has no default.
const USUAL_WITHOUT = ['optionsMask', 'optionsOverride', 'onOffControl'];

/** Raw fields of a command with its options empty where the caller left them out; `required` are the fields that the command demands. */
export function withUsualOptions(fields: JsonObject, required: readonly string[]): JsonObject {
  const missing = USUAL_WITHOUT.filter((name) => required.includes(name) && !Object.hasOwn(fields, name));
  return { ...fields, ...Object.fromEntries(missing.map((name) => [name, {}])) };
}
