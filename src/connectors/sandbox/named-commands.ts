import type { Effect } from '../../core/access/authorizer.ts';
import { AtmoError } from '../../core/errors.ts';
import { isWithin } from '../../core/is-within.ts';
import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { ProgramSandbox } from '../../tools/programs/program-sandbox.ts';
import { argumentParameters, fillArguments } from '../../tools/registration/exec-arguments.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { parseCommandLine } from './command-line.ts';
import { matchTemplate } from './command-template.ts';
import type { CommandConfig, SandboxConfig } from './sandbox-config.ts';

/** A command of the owner with everything filled in. */
export interface FilledCommand {
  readonly name: string;
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly config: CommandConfig;
}

const OWN_FOLDER = '/tmp';

/** The command lines that the owner allows. */
export class NamedCommands {
  readonly #config: Pick<SandboxConfig, 'commands' | 'powers'>;
  readonly #programs: ProgramSandbox;
  readonly #validator: SchemaValidator;

  /** CONFIG_INVALID for a command with a parameter or power that there is not. */
  constructor(
    collaborators: { readonly programs: ProgramSandbox; readonly validator: SchemaValidator },
    config: Pick<SandboxConfig, 'commands' | 'powers'>,
  ) {
    this.#programs = collaborators.programs;
    this.#validator = collaborators.validator;
    this.#config = config;
    for (const [name, command] of Object.entries(config.commands)) this.#requireWhole(name, command);
  }

  entries(): readonly (readonly [string, CommandConfig])[] {
    return Object.entries(this.#config.commands);
  }

  /** Longest that one of them may take. */
  get timeoutMs(): number {
    return Math.max(0, ...this.entries().map(([, { timeoutSeconds }]) => timeoutSeconds * 1_000));
  }

  /** The command that a line means. VALIDATION_ERROR where the owner allows none of its form; RULE_BLOCKED. */
  fromLine(line: string, cwd?: string): FilledCommand {
    const argv = parseCommandLine(line);
    for (const [name, config] of this.entries()) {
      const params = matchTemplate(config, argv);
      if (params && this.#validator.check(schemaOf(config), params).isValid) return this.fill(name, params, cwd);
    }
    const known = this.entries().map(([name, config]) => `${name}: ${config.argv.join(' ')}`);
    throw new AtmoError('VALIDATION_ERROR', `No command of this form is allowed; there is ${known.join('; ')}`, { commands: known });
  }

  /** A command by name with validated parameters. VALIDATION_ERROR, RULE_BLOCKED. */
  fill(name: string, params: JsonObject, cwd?: string): FilledCommand {
    const config = this.#config.commands[name];
    if (!config) throw new AtmoError('NOT_FOUND', `There is no command ${name}; the owner can add connectors.sandbox.commands.${name}`);
    const [program = '', ...args] = config.argv;
    const argv = [program, ...fillArguments(args, params)];
    const folder = cwd ?? config.cwd;
    if (folder !== undefined) this.#requireFolder(folder, config);
    this.#programs.requireSafe(argv, folder);
    return { name, argv, config, ...(folder !== undefined && { cwd: folder }) };
  }

  /** What it does, for permissions, rules and approvals. */
  effectOf({ name, argv, config }: FilledCommand): Effect {
    const isActing = config.powers.some((power) => this.#programs.power(power)?.isActing);
    const risk = config.approval ? 'dangerous' : isActing ? 'medium' : 'low';
    return { permission: `proc:exec:${name}`, risk, target: `command/${name}`, values: { command: name, command_line: argv.join(' ') } };
  }

  #requireFolder(folder: string, { powers }: CommandConfig): void {
    const open = powers.flatMap((name) => [...(this.#config.powers[name]?.read ?? []), ...(this.#config.powers[name]?.write ?? [])]);
    const isInside = [OWN_FOLDER, ...open].some((path) => isWithin(folder, path));
    if (isInside && !folder.split('/').includes('..') && !folder.includes('\0')) return;
    throw new AtmoError(
      'VALIDATION_ERROR',
      `/cwd ${folder} is not among the folders of this command: ${[OWN_FOLDER, ...open].join(', ')}`,
      {
        pointer: '/cwd',
      },
    );
  }

  #requireWhole(name: string, { argv, parameters, optional, powers }: CommandConfig): void {
    const place = `connectors.sandbox.commands.${name}`;
    const unknown = [...argumentParameters(argv), ...optional].find((parameter) => !Object.hasOwn(parameters, parameter));
    if (unknown !== undefined) throw new AtmoError('CONFIG_INVALID', `${place} uses {${unknown}}, which is not among its parameters`);
    const power = powers.find((one) => !this.#programs.power(one));
    if (power !== undefined)
      throw new AtmoError('CONFIG_INVALID', `${place} needs the power ${power}, which connectors.sandbox.powers has not`);
    if (argumentParameters(argv.slice(0, 1)).length > 0)
      throw new AtmoError('CONFIG_INVALID', `${place} has to begin with a program, no parameter`);
  }
}

/** Schema of a command's parameters. */
export function schemaOf({ parameters, optional }: Pick<CommandConfig, 'parameters' | 'optional'>): JsonSchema {
  const required = Object.keys(parameters).filter((name) => !optional.includes(name));
  return { type: 'object', properties: parameters, additionalProperties: false, ...(required.length > 0 && { required }) };
}
