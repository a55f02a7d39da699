import { basename } from 'node:path';
import type { Effect } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import { isWithin } from '../../core/files/file-system.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { ProgramSandbox } from '../../tools/programs/program-sandbox.ts';
import { argumentParameters, fillArguments, fixedTexts } from '../../tools/programs/program-tool.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import type { CommandConfig, SandboxConfig } from './sandbox-config.ts';

/** A command of the owner, with values in place of its parameters. */
export interface FilledCommand {
  readonly name: string;
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly config: CommandConfig;
}

const OWN_FOLDER = '/tmp';

interface CommandCollaborators {
  readonly programs: ProgramSandbox;
  readonly validator: SchemaValidator;
}

/** The command lines that the owner allows. */
export class NamedCommands {
  readonly #parts: CommandCollaborators;
  readonly #config: Pick<SandboxConfig, 'commands' | 'powers'>;

  /** Throws CONFIG_INVALID if a command uses an unknown parameter or power, or if it begins with a parameter instead of a program. */
  constructor(parts: CommandCollaborators, config: Pick<SandboxConfig, 'commands' | 'powers'>) {
    this.#parts = parts;
    this.#config = config;
    for (const [name, command] of Object.entries(config.commands)) this.#requireWhole(name, command);
  }

  entries(): readonly (readonly [string, CommandConfig])[] {
    return Object.entries(this.#config.commands);
  }

  /** Returns the longest time limit of all commands in milliseconds; 0 if there are no commands. */
  get timeoutMs(): number {
    return Math.max(0, ...this.entries().map(([, { timeoutSeconds }]) => timeoutSeconds * 1_000));
  }

  /**
   * Returns the command that matches a command line. Throws VALIDATION_ERROR if no command matches or `cwd` is not allowed, and
   * RULE_BLOCKED if a safety rule forbids the command.
   */
  fromLine(line: string, cwd?: string): FilledCommand {
    const argv = parseCommandLine(line);
    for (const [name, config] of this.entries()) {
      const params = matchTemplate(config, argv);
      if (params && this.#parts.validator.check(schemaOf(config), params).isValid) return this.fill(name, params, cwd);
    }
    const known = this.entries().map(([name, config]) => `${name}: ${config.argv.join(' ')}`);
    throw new AtmoError('VALIDATION_ERROR', `No command of this form is allowed; there is ${known.join('; ')}`, { commands: known });
  }

  /** Fills in validated parameters. Throws VALIDATION_ERROR if `cwd` is not allowed, RULE_BLOCKED if a safety rule forbids the command. */
  fill(name: string, params: JsonObject, cwd?: string): FilledCommand {
    const config = this.#config.commands[name];
    if (!config) throw new AtmoError('NOT_FOUND', `There is no command ${name}; the owner can add connectors.sandbox.commands.${name}`);
    const [program = '', ...args] = config.argv;
    const argv = [program, ...fillArguments(args, params)];
    const folder = cwd ?? config.cwd;
    if (folder !== undefined) this.#requireFolder(folder, config);
    this.#parts.programs.requireSafe(argv, folder);
    return { name, argv, config, ...(folder !== undefined && { cwd: folder }) };
  }

  /** Returns the effect of a command, for the checks by permissions, rules and approvals. */
  effectOf({ name, argv, config }: FilledCommand): Effect {
    const isActing = config.powers.some((power) => this.#parts.programs.power(power)?.isActing);
    const risk = config.approval ? 'dangerous' : isActing ? 'medium' : 'low';
    return { permission: `proc:exec:${name}`, risk, target: `command/${name}`, values: { command: name, command_line: argv.join(' ') } };
  }

  #requireFolder(folder: string, { powers }: CommandConfig): void {
    const open = powers.flatMap((name) => [...(this.#config.powers[name]?.read ?? []), ...(this.#config.powers[name]?.write ?? [])]);
    const isInside = [OWN_FOLDER, ...open].some((path) => isWithin(folder, path));
    if (isInside && !folder.split('/').includes('..') && !folder.includes('\0')) return;
    const message = `/cwd ${folder} is not among the folders of this command: ${[OWN_FOLDER, ...open].join(', ')}`;
    throw new AtmoError('VALIDATION_ERROR', message, { pointer: '/cwd' });
  }

  #requireWhole(name: string, { argv, parameters, optional, powers }: CommandConfig): void {
    const place = `connectors.sandbox.commands.${name}`;
    const unknown = [...argumentParameters(argv), ...optional].find((parameter) => !Object.hasOwn(parameters, parameter));
    if (unknown !== undefined) throw new AtmoError('CONFIG_INVALID', `${place} uses {${unknown}}, which is not among its parameters`);
    const power = powers.find((one) => !this.#parts.programs.power(one));
    if (power !== undefined)
      throw new AtmoError('CONFIG_INVALID', `${place} needs the power ${power}, which connectors.sandbox.powers has not`);
    if (argumentParameters(argv.slice(0, 1)).length > 0)
      throw new AtmoError('CONFIG_INVALID', `${place} has to begin with a program, no parameter`);
  }
}

/** Returns the JSON Schema of a command's parameters. */
export function schemaOf({ parameters, optional }: Pick<CommandConfig, 'parameters' | 'optional'>): JsonSchema {
  const required = Object.keys(parameters).filter((name) => !optional.includes(name));
  return { type: 'object', properties: parameters, additionalProperties: false, ...(required.length > 0 && { required }) };
}

/** Returns the parameters (not validated) with which the owner's template gives exactly the arguments `given`; undefined if none do. */
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

/** Matches arguments with templates. May skip a template with parameters, since these may be optional. `failed` keeps failed attempts. */
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

/**
 * Returns the values of the parameters in one template: the texts between its fixed parts. Each fixed part matches as late as possible.
 * This takes linear time; a regular expression could take much longer.
 */
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
    // The text between this fixed part and the next is the value of the parameter between them.
    if (index > 0) values.unshift(given.slice(at + part.length, end));
    end = at;
  }
  values.unshift(given.slice(head.length, end));
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
}

/** Converts a text of a command line to a number or boolean if the schema requires one. Returns any other text unchanged. */
function plainValue(text: string, schema: JsonSchema | undefined): Json {
  if (schema?.type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  const isNumber = schema?.type === 'integer' || schema?.type === 'number';
  return isNumber && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** Characters that have a special meaning for a shell outside of quotes. */
const SHELL_CHARACTERS = /[|&;<>()$`\\*?[\]#~!{}\n\r]/;
const TOKEN = /'([^']*)'|"([^"$`\\]*)"|([^\s'"]+)|([ \t]+)|(.)/gsu;

/**
 * Splits a command line into arguments: plain words, and texts in single or double quotes (POSIX, 2.2 quoting). Throws VALIDATION_ERROR if
 * the line has pipes, variables, wildcards or other signs that need a shell, since no shell runs.
 */
export function parseCommandLine(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [, single, double, plain, space, other] of line.matchAll(TOKEN)) {
    if (other !== undefined) throw notRunnable(`${JSON.stringify(other)} opens or ends nothing that can be run`);
    if (plain !== undefined && SHELL_CHARACTERS.test(plain)) throw notRunnable(`${JSON.stringify(plain)} means something to a shell only`);
    if (space === undefined) word = (word ?? '') + (single ?? double ?? plain ?? '');
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (word !== undefined) words.push(word);
  if (words.length > 0) return words;
  throw notRunnable('it is empty');
}

function notRunnable(problem: string): AtmoError {
  const message = `The command line cannot be run, since there is no shell: ${problem}; put it into single quotes`;
  return new AtmoError('VALIDATION_ERROR', message);
}
