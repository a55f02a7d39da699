import { basename } from 'node:path';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import { argumentParameters, fillArguments } from '../../tools/registration/exec-arguments.ts';
import type { CommandConfig } from './sandbox-config.ts';

const SIGNS = /[.*+?^${}()|[\]\\]/g;

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

/** An argument whose parameter was left out is not there. */
function matchArguments([first, ...rest]: readonly string[], given: readonly string[]): Texts | undefined {
  if (first === undefined) return given.length === 0 ? {} : undefined;
  const own = given[0] === undefined ? undefined : matchArgument(first, given[0]);
  const others = own && matchArguments(rest, given.slice(1));
  if (own && others) return { ...own, ...others };
  return argumentParameters([first]).length > 0 ? matchArguments(rest, given) : undefined;
}

function matchArgument(template: string, given: string): Texts | undefined {
  const names = argumentParameters([template]);
  const pattern = template.split(/\{\w+\}/).map((part) => part.replaceAll(SIGNS, '\\$&'));
  const found = new RegExp(`^${pattern.join('(.*)')}$`, 's').exec(given);
  return found ? Object.fromEntries(names.map((name, index) => [name, found[index + 1] ?? ''])) : undefined;
}

/** A command line has texts only; what is to be a number or a yes becomes one where it reads like one. */
function plainValue(text: string, schema: JsonSchema | undefined): Json {
  if (schema?.type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  const isNumber = schema?.type === 'integer' || schema?.type === 'number';
  return isNumber && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
