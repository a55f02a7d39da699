import { isoTime } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import type { CliIo } from './cli-io.ts';
import type { HubClient } from './hub/hub-client.ts';
import type { Output } from './terminal/output.ts';

/** How a shell completes a value: with names from the hub, with files, or with fixed words. */
export type Completes = NameKind | 'file' | readonly string[];

/** The kinds of names that a hub can complete. */
export const NAME_KINDS = [
  'tool',
  'parameter',
  'device',
  'area',
  'sensor',
  'hub',
  'job',
  'approval',
  'token',
  'application',
  'agent',
  'group',
  'scene',
] as const;
export type NameKind = (typeof NAME_KINDS)[number];

/** An option of a command, `--name` or `--name VALUE`. */
export interface OptionSpec {
  readonly help: string;
  /** Name of the option's value in the help, such as `FILE`. Absent if the option is a switch, which takes no value. */
  readonly value?: string;
  readonly isRepeated?: true;
  /** Only for `toolCommand`: the tool parameter that gets the option's value. A switch sets the parameter to true or false. */
  readonly param?: string;
  readonly completes?: Completes;
}

/** Values of the options by name, as the person wrote them. */
export type OptionValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** A positional argument of a command. */
export interface OperandSpec {
  readonly name: string;
  readonly help: string;
  readonly isOptional?: true;
  /** True for the last operand if it takes all remaining arguments. */
  readonly isRepeated?: true;
  /** Only for `toolCommand`: the tool parameter that gets the operand. */
  readonly param?: string;
  readonly completes?: Completes;
}

/** What a command is called and takes. The help and the shell completions are made from a table of these. */
export interface CommandSpec {
  /** One or two words, such as `device rename`. */
  readonly name: string;
  readonly summary: string;
  readonly operands?: readonly OperandSpec[];
  readonly options?: Readonly<Record<string, OptionSpec>>;
  /** Example command lines without `atmo`; a test parses each of them. */
  readonly examples?: readonly string[];
}

/** One command of the CLI. `Io` is what it needs of the machine on which it runs. */
export interface Command<Io extends CliIo = CliIo> extends CommandSpec {
  /** Runs the command and resolves with its exit code; undefined means 0. A property, so that types compare what commands need. */
  readonly run: (call: Invocation<Io>) => Promise<number | undefined> | Promise<void>;
}

interface InvocationParts<Io extends CliIo> {
  readonly operands: readonly string[];
  readonly options: OptionValues;
  readonly hub: HubClient;
  readonly output: Output;
  readonly io: Io;
}

/** One run of a command with its parsed arguments. */
export class Invocation<Io extends CliIo = CliIo> {
  readonly hub: HubClient;
  readonly output: Output;
  readonly io: Io;
  readonly operands: readonly string[];
  readonly #options: OptionValues;

  constructor({ operands, options, hub, output, io }: InvocationParts<Io>) {
    this.operands = operands;
    this.#options = options;
    this.hub = hub;
    this.output = output;
    this.io = io;
  }

  /** Returns the operand at `index`. The parser has already checked that required operands are present. */
  operand(index: number): string {
    return this.operands[index] ?? '';
  }

  text(option: string): string | undefined {
    const value = this.#options[option];
    return typeof value === 'string' ? value : undefined;
  }

  /** Returns all values of an option that may be repeated. */
  texts(option: string): readonly string[] {
    const values = this.#options[option];
    return typeof values === 'object' ? values : [];
  }

  isSet(option: string): boolean {
    return this.#options[option] === true;
  }

  /** Returns an option's value as an integer. Throws VALIDATION_ERROR if it is not an integer. */
  integer(option: string): number | undefined {
    const text = this.text(option);
    if (text === undefined) return undefined;
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw usage(`--${option} takes a whole number, not ${JSON.stringify(text)}`);
  }
}

/** Returns the error for wrong usage of a command (exit code 2). */
export function usage(message: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', message);
}

/** The option `--hub HUB`, for commands that can run on another hub of the mesh. With this option, every request names that hub. */
export const HUB_OPTION = {
  hub: { value: 'HUB', help: 'on this hub of the mesh, by id or name' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

const UNITS_SECONDS = new Map([
  ['s', 1],
  ['m', 60],
  ['min', 60],
  ['h', 3_600],
  ['d', 86_400],
  ['w', 604_800],
]);

/** Returns the seconds in a duration such as 90s, 15m, 24h, 30d or 2w. Throws an error that names `option` for any other text. */
export function durationSeconds(text: string, option: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([a-z]+)$/.exec(text) ?? [];
  const unitSeconds = UNITS_SECONDS.get(unit);
  if (unitSeconds !== undefined) return Number(count) * unitSeconds;
  throw usage(`${option} takes a duration such as 15m, 24h or 30d, not ${JSON.stringify(text)}`);
}

/** Returns the calls per minute in a rate such as 30/min. Throws an error that names `option` for any other text. */
export function ratePerMinute(text: string, option: string): number {
  const count = /^(\d{1,6})(\/min)?$/.exec(text)?.[1];
  if (count !== undefined) return Number(count);
  throw usage(`${option} takes calls a minute such as 30/min, not ${JSON.stringify(text)}`);
}

/** Returns the time in an option as ISO 8601. A duration such as 2h means two hours before now. */
export function timeOption(call: Invocation, option: 'since' | 'until'): string | undefined {
  const text = call.text(option);
  if (text === undefined || /^\d{4}-\d\d/.test(text)) return text;
  return isoTime(Date.now() - durationSeconds(text, `--${option}`) * 1000);
}
