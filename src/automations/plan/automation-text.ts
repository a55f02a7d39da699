import { setImmediate as nextTurn } from 'node:timers/promises';
import { type LocatedYaml, locatedYaml } from '../../core/config/checked-yaml.ts';
import { type AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, objectsOf, pointerKeys, pointerTo } from '../../core/json.ts';

/** A mistake in the text of an automation. */
export interface TextProblem {
  /** Line of the text, from 1 on. */
  readonly line: number;
  /** JSON Pointer (RFC 6901) to the part of the configuration that it is about, as its author wrote it; empty if it is about the whole. */
  readonly pointer: string;
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
/** Largest number of tokens of YAML. The longest automations, of 64 steps with many parameters, have some 3,000. */
const MAX_TOKENS = 6000;

/** Parses the YAML or JSON of an automation. Returns the mistake if it is not an object. */
export function parseAutomationText(text: string): WrittenAutomation | TextProblem {
  try {
    const { value, lineOf } = locatedYaml(text, FILE, { maxTokens: MAX_TOKENS });
    if (isJsonObject(value)) return { config: value, lineOf };
    return { line: 1, pointer: '', message: 'An automation is written as members with names: trigger, conditions, actions' };
  } catch (thrown) {
    const { message, details } = toAtmoError(thrown);
    const line = typeof details.line === 'number' ? details.line : 1;
    return { line, pointer: '', message: message.replace(`${FILE}, line ${line}: `, '') };
  }
}

/** Returns the mistakes that a check finds in a configuration, each with its line. The check is made at most eight times. */
export async function problemsIn(written: WrittenAutomation, check: ConfigCheck): Promise<readonly TextProblem[]> {
  const error = errorOf(written.config, check);
  if (!error) return [];
  const called = callPath(error, written.config);
  const found = objectsOf(error.details.problems).map(({ pointer, message, allowed }) => ({
    path: called ? [...called, ...numbered(pointerKeys(String(pointer)))] : ownPath(pointerKeys(String(pointer)), written.config),
    message: typeof allowed === 'string' ? `${String(message)}; allowed: ${allowed}` : String(message),
  }));
  const guilty = async () => ({ path: await guiltyPath(written.config, { error, check }), message: error.message });
  const problems = found.length > 0 ? found : [await guilty()];
  return problems.map(({ path, message }) => ({ line: written.lineOf(path), pointer: pointerTo(path), message }));
}

function errorOf(config: JsonObject, check: ConfigCheck): AtmoError | undefined {
  try {
    check(config);
    return undefined;
  } catch (thrown) {
    return toAtmoError(thrown);
  }
}

/** Returns where the parameters of the call stand that an error is about; undefined if it is about no call. */
function callPath({ details: { pointer } }: AtmoError, config: JsonObject): Path | undefined {
  if (typeof pointer !== 'string') return undefined;
  const step = numbered(pointerKeys(pointer));
  return typeof objectOf(partAt(config, step)).tool === 'string' ? [...step, 'params'] : step;
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
 * Returns the path of what an error is about that has no pointer: the step that it names, or the condition, step or trigger without which it does
 * not occur, and in it the value that the message quotes. Returns the empty path if there is none.
 */
async function guiltyPath(config: JsonObject, { error, check }: { readonly error: AtmoError; readonly check: ConfigCheck }): Promise<Path> {
  const { pointer } = error.details;
  const isGuilty = (paths: readonly Path[]) => errorOf(withoutItems(config, paths), check)?.message !== error.message;
  const guilty = typeof pointer === 'string' ? numbered(pointerKeys(pointer)) : await guiltyItem(itemsOf(config), isGuilty);
  const quoted = quotedPath(partAt(config, guilty), error.message);
  return [...guilty, ...(quoted ?? [])];
}

function itemsOf(config: JsonObject): readonly Path[] {
  return Object.keys(INSTEAD).flatMap((list) => {
    const value = config[list];
    if (Array.isArray(value)) return value.map((_item, index): Path => [list, index]);
    return value === undefined ? [] : [[list]];
  });
}

/** Halves the items until one is left. Each check may take milliseconds, so that other work gets its turn between them. */
async function guiltyItem(items: readonly Path[], isGuilty: (paths: readonly Path[]) => boolean): Promise<Path> {
  if (items.length === 0 || !isGuilty(items)) return [];
  let suspects = items;
  while (suspects.length > 1) {
    await nextTurn();
    const half = suspects.slice(0, Math.ceil(suspects.length / 2));
    suspects = isGuilty(half) ? half : suspects.slice(half.length);
  }
  return suspects[0] ?? [];
}

function withoutItems(config: JsonObject, paths: readonly Path[]): JsonObject {
  const members = Object.entries(config).map(([list, value]) => {
    const left = new Set(paths.filter(([name]) => name === list).map(([, index]) => index));
    return [list, left.size === 0 ? value : withoutIndices(value, left, INSTEAD[list])];
  });
  return objectOf(Object.fromEntries(members) as Json);
}

function withoutIndices(value: Json | undefined, left: ReadonlySet<unknown>, instead: JsonObject | undefined): Json {
  if (!Array.isArray(value)) return instead ?? [];
  return value.flatMap((item: Json, at): readonly Json[] => (left.has(at) ? (instead ? [instead] : []) : [item]));
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
