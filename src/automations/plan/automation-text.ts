import { type LocatedYaml, locatedYaml } from '../../core/config/checked-yaml.ts';
import { type AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectsOf, pointerKeys } from '../../core/json.ts';

/** A mistake in the text of an automation. */
export interface TextProblem {
  /** Line of the text, from 1 on. */
  readonly line: number;
  readonly message: string;
}

/** A configuration as it was written, and where its parts stand in the text. */
export interface WrittenAutomation {
  readonly config: JsonObject;
  readonly lineOf: LocatedYaml['lineOf'];
}

/** Throws what is wrong with a configuration. */
export type ConfigCheck = (config: JsonObject) => void;

type Path = readonly (string | number)[];

/** The lists of an automation, each with what can stand in place of an item and is right. Triggers are last, since steps may refer to them. */
const INSTEAD: Readonly<Record<string, JsonObject | undefined>> = {
  conditions: undefined,
  actions: { type: 'wait', seconds: 1 },
  trigger: { type: 'hub_start' },
};
/** Name of the text in the messages of the parser, which is taken out of them again. */
const FILE = 'text';

/** Parses the YAML or JSON of an automation. Returns the mistake if it is not an object. */
export function parseAutomationText(text: string): WrittenAutomation | TextProblem {
  try {
    const { value, lineOf } = locatedYaml(text, FILE);
    if (isJsonObject(value)) return { config: value, lineOf };
    return { line: 1, message: 'An automation is written as members with names: trigger, conditions, actions' };
  } catch (thrown) {
    const { message, details } = toAtmoError(thrown);
    const line = typeof details.line === 'number' ? details.line : 1;
    return { line, message: message.replace(`${FILE}, line ${line}: `, '') };
  }
}

/** Returns the mistakes that a check finds in a configuration, each with its line. */
export function problemsIn(written: WrittenAutomation, check: ConfigCheck): readonly TextProblem[] {
  const error = errorOf(written.config, check);
  if (!error) return [];
  const found = objectsOf(error.details.problems).map(({ pointer, message, allowed }) => ({
    path: ownPath(pointerKeys(String(pointer)), written.config),
    message: typeof allowed === 'string' ? `${String(message)}; allowed: ${allowed}` : String(message),
  }));
  const problems = found.length > 0 ? found : [{ path: guiltyPath(written.config, { error, check }), message: error.message }];
  return problems.map(({ path, message }) => ({ line: written.lineOf(path), message }));
}

function errorOf(config: JsonObject, check: ConfigCheck): AtmoError | undefined {
  try {
    check(config);
    return undefined;
  } catch (thrown) {
    return toAtmoError(thrown);
  }
}

/** Returns a path of the plan as the author wrote it: a plan has a list of triggers, also where a single trigger was written. */
function ownPath(keys: readonly string[], { trigger }: JsonObject): Path {
  const [member, index, ...rest] = keys;
  return member === 'trigger' && index === '0' && isJsonObject(trigger) ? [member, ...numbered(rest)] : numbered(keys);
}

function numbered(keys: readonly string[]): Path {
  return keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key));
}

/**
 * Returns the path of what an error is about that does not say it: the condition, step or trigger without which it does not occur, and in it
 * the value that the message quotes. Returns the empty path if there is none.
 */
function guiltyPath(config: JsonObject, { error, check }: { readonly error: AtmoError; readonly check: ConfigCheck }): Path {
  const items = Object.keys(INSTEAD).flatMap((list) => {
    const value = config[list];
    if (Array.isArray(value)) return value.map((_item, index): Path => [list, index]);
    return value === undefined ? [] : [[list]];
  });
  const guilty = items.find((path) => errorOf(withoutItem(config, path), check)?.message !== error.message) ?? [];
  const quoted = quotedPath(partAt(config, guilty), error.message);
  return [...guilty, ...(quoted ?? [])];
}

function withoutItem(config: JsonObject, [list = '', index]: Path): JsonObject {
  const value = config[list];
  const instead = INSTEAD[list];
  if (!Array.isArray(value)) return { ...config, [list]: instead ?? [] };
  const items = value.flatMap((item: Json, at): readonly Json[] => (at === index ? (instead ? [instead] : []) : [item]));
  return { ...config, [list]: items };
}

function partAt(value: Json | undefined, path: Path): Json | undefined {
  return path.reduce<Json | undefined>((part, key) => {
    if (Array.isArray(part)) return part[Number(key)] as Json | undefined;
    return isJsonObject(part) ? part[String(key)] : undefined;
  }, value);
}

/** Returns the path of the first text in a value that a message quotes. */
function quotedPath(value: Json | undefined, message: string): Path | undefined {
  if (typeof value === 'string') return message.includes(JSON.stringify(value)) ? [] : undefined;
  const entries: readonly [string | number, Json | undefined][] = Array.isArray(value)
    ? value.map((item: Json, index) => [index, item])
    : Object.entries(isJsonObject(value) ? value : {});
  for (const [key, item] of entries) {
    const rest = quotedPath(item, message);
    if (rest) return [key, ...rest];
  }
  return undefined;
}
