import { basename } from 'node:path';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import { argumentParameters, fillArguments, fixedTexts } from '../../tools/registration/exec-arguments.ts';
import type { CommandConfig } from './sandbox-config.ts';

/**
 * The parameters with which a template of the owner gives exactly these arguments; undefined where none do. Values are not looked
 * at yet: their schemas decide.
 */
export function matchTemplate(
  { argv, parameters }: Pick<CommandConfig, 'argv' | 'parameters'>,
  given: readonly string[],
): JsonObject | undefined {
  const [program = '', ...args] = argv;
  const [givenProgram = '', ...givenArgs] = given;
  if (givenProgram !== program && givenProgram !== basename(program)) return undefined;
  const texts = matchArguments(args, givenArgs);
  if (!texts) return undefined;
  const params = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, plainValue(text, parameters[name] as JsonSchema)]));
  const filled = fillArguments(args, params);
  return filled.length === givenArgs.length && filled.every((arg, index) => arg === givenArgs[index]) ? params : undefined;
}

type Texts = Readonly<Record<string, string>>;

/** An argument whose parameter was left out is not there. `failed`: what was tried in vain, by how much of both was left. */
function matchArguments(templates: readonly string[], given: readonly string[], failed = new Set<string>()): Texts | undefined {
  const [first, ...rest] = templates;
  if (first === undefined) return given.length === 0 ? {} : undefined;
  const place = `${templates.length} ${given.length}`;
  if (failed.has(place)) return undefined;
  const own = given[0] === undefined ? undefined : matchArgument(first, given[0]);
  const others = own && matchArguments(rest, given.slice(1), failed);
  if (own && others) return { ...own, ...others };
  const without = argumentParameters([first]).length > 0 ? matchArguments(rest, given, failed) : undefined;
  if (!without) failed.add(place);
  return without;
}

/** What stands between the fixed parts, each of which is taken as far behind as it can be. In linear time, as no expression is. */
function matchArgument(template: string, given: string): Texts | undefined {
  const names = argumentParameters([template]);
  const [head = '', ...parts] = fixedTexts(template);
  if (parts.length === 0) return given === head ? {} : undefined;
  if (!given.startsWith(head)) return undefined;
  const values: string[] = [];
  let end = given.length;
  for (const [index, part] of parts.toReversed().entries()) {
    const latest = end - part.length;
    const at = index === 0 && !given.endsWith(part) ? -1 : given.lastIndexOf(part, latest);
    if (latest < head.length || at < head.length) return undefined;
    // What is behind this part belongs to the parameter after it.
    if (index > 0) values.unshift(given.slice(at + part.length, end));
    end = at;
  }
  values.unshift(given.slice(head.length, end));
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
}

/** A command line has texts only; what is to be a number or a yes becomes one where it reads like one. */
function plainValue(text: string, schema: JsonSchema | undefined): Json {
  if (schema?.type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  const isNumber = schema?.type === 'integer' || schema?.type === 'number';
  return isNumber && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
