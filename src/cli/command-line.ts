import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { nearestTexts } from '../core/edit-distance.ts';
import { type CommandSpec, type OperandSpec, type OptionSpec, type OptionValues, usage } from './command.ts';
import { type Block, heading, type Printable, paragraph } from './terminal/blocks.ts';
import { padText, textWidth, wrapText } from './terminal/text-width.ts';

/** Options that every command takes. */
export const COMMON_OPTIONS = {
  json: { help: 'one JSON document on stdout' },
  help: { help: 'this help' },
} as const;

interface ParsedCommand<Known extends CommandSpec> {
  readonly command: Known;
  readonly operands: readonly string[];
  readonly options: OptionValues;
}

/** Returns the command whose name is the first word or the first two words; undefined if there is none. */
export function findCommand<Known extends CommandSpec>(commands: readonly Known[], words: readonly string[]): Known | undefined {
  const [first = '', second = ''] = words;
  return commands.find(({ name }) => name === `${first} ${second}`) ?? commands.find(({ name }) => name === first);
}

/** Parses a command line. Throws VALIDATION_ERROR if the command line has a mistake. The message says how to correct it. */
export function parseCommandLine<Known extends CommandSpec>(commands: readonly Known[], argv: readonly string[]): ParsedCommand<Known> {
  const words = argv.filter((word) => !word.startsWith('-'));
  const command = findCommand(commands, words);
  if (!command) throw unknownCommand(commands, words);
  const rest = withoutWords(argv, command.name.split(' '));
  const { values, positionals } = parseOptions(command, rest);
  if (values.help !== true) checkOperands(command, positionals);
  return { command, operands: positionals, options: values };
}

function withoutWords(argv: readonly string[], words: readonly string[]): string[] {
  const pending = [...words];
  return argv.filter((word) => {
    if (word !== pending[0]) return true;
    pending.shift();
    return false;
  });
}

function parseOptions(command: CommandSpec, args: string[]) {
  const specs: Readonly<Record<string, OptionSpec>> = { ...COMMON_OPTIONS, ...command.options };
  const options: ParseArgsOptionsConfig = Object.fromEntries(
    Object.entries(specs).map(([name, { value, isRepeated = false }]) => [
      name,
      { type: value === undefined ? 'boolean' : 'string', multiple: isRepeated },
    ]),
  );
  options.help = { type: 'boolean', short: 'h' };
  try {
    const { values, positionals } = parseArgs({ args: joinValues(args, specs), options, allowPositionals: true });
    return { values: values as OptionValues, positionals };
  } catch (error) {
    throw usage(`${optionMistake(error, args, Object.keys(specs))}; see atmo ${command.name} --help`);
  }
}

/** Joins `--key -abc` to `--key=-abc` if `-abc` is no option, because `parseArgs` rejects a separate value that begins with a dash. */
function joinValues(args: readonly string[], specs: Readonly<Record<string, OptionSpec>>): string[] {
  const isOption = (arg: string) => arg === '-h' || arg === '--' || Object.hasOwn(specs, arg.slice(2).split('=')[0] ?? '');
  const joined: string[] = [];
  for (const arg of args) {
    const before = joined.at(-1) ?? '';
    const wantsValue = before.startsWith('--') && specs[before.slice(2)]?.value !== undefined;
    if (wantsValue && arg.startsWith('-') && arg.length > 1 && !isOption(arg)) joined.splice(-1, 1, `${before}=${arg}`);
    else joined.push(arg);
  }
  return joined;
}

function optionMistake(error: unknown, args: readonly string[], known: readonly string[]): string {
  const wrong = args.find((arg) => arg.startsWith('--') && !known.includes(arg.slice(2).split('=')[0] ?? ''));
  if (wrong === undefined) return error instanceof Error ? (error.message.split('\n')[0] ?? '').replace(/\.$/, '') : 'Wrong options';
  const near = nearestTexts(wrong.slice(2), known, 1).map((name) => `; did you mean --${name}?`);
  return `Unknown option ${wrong}${near.join('')}`;
}

function checkOperands(command: CommandSpec, given: readonly string[]): void {
  const specs = command.operands ?? [];
  const missing = specs.find((spec, index) => !spec.isOptional && given[index] === undefined);
  if (missing) throw usage(`${missing.name} is missing: ${missing.help}; see atmo ${command.name} --help`);
  if (given.length > specs.length && !specs.at(-1)?.isRepeated) {
    throw usage(`${JSON.stringify(given[specs.length])} is one argument too many; see atmo ${command.name} --help`);
  }
}

/** Second words that people type to list things. The error message then suggests the plural noun, such as `atmo devices`. */
const LISTING = new Set(['list', 'ls', 'show']);

/** Returns the error for an unknown command. It suggests the most similar command. */
export function unknownCommand(commands: readonly CommandSpec[], words: readonly string[]) {
  const [first, second] = words;
  if (first === undefined)
    return usage('An option needs a command before it, such as "atmo status --json"; atmo --help lists what there is');
  const group = commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name);
  if (group.length > 0 && second === undefined) return usage(`atmo ${first} wants one of: ${group.join(', ')}`);
  const typed = group.length > 0 ? `${first} ${second}` : first;
  const list = commands.find(({ name }) => name === `${first}s`);
  if (list !== undefined && LISTING.has(second ?? ''))
    return usage(`There is no command ${JSON.stringify(typed)}; did you mean "atmo ${list.name}"?`);
  const near = nearestTexts(typed, group.length > 0 ? group : commands.map(({ name }) => name), 1);
  const hint = near.map((name) => `did you mean "atmo ${name}"?`)[0] ?? 'atmo --help lists what there is';
  return usage(`There is no command ${JSON.stringify(typed)}; ${hint}`);
}

/** The commands under one heading of the help. */
export interface CommandSection<Known extends CommandSpec = CommandSpec> {
  readonly title: string;
  readonly commands: readonly Known[];
}

const EPILOGUE = [
  'Every command takes --json and --help; "atmo help COMMAND" shows examples. Exit codes: 0 success, 2 wrong usage, 3 refused, 4 a tool or device failed, 5 no hub answers, 1 otherwise.',
  'The hub is found by ATMO_URL (http://127.0.0.1:8081), the token by ATMO_TOKEN, else your login (atmo login), else the owner.token file of the state directory (ATMO_STATE_DIR).',
];
const LEAST_COLUMNS = 24;

/** Returns the help of the whole CLI, made from the table of commands. `onlyOnHub`: names of the commands that this program lacks. */
export function overview(sections: readonly CommandSection[], onlyOnHub: readonly string[]): Printable {
  const width = Math.max(...sections.flatMap(({ commands }) => commands.map(({ name }) => name.length)));
  return [
    'atmo: commissions Matter devices and calls their tools by name\n',
    ...sections.flatMap(({ title, commands }) => [
      heading(title),
      definitionList(
        commands.map(({ name, summary }) => [name, summary]),
        width,
      ),
    ]),
    ...[...EPILOGUE, ...hubOnlyText(onlyOnHub)].flatMap((text) => ['\n', paragraph(text)]),
  ];
}

function hubOnlyText(onlyOnHub: readonly string[]): readonly string[] {
  return onlyOnHub.length === 0 ? [] : [`Only on the machine of the hub: ${onlyOnHub.map((name) => `atmo ${name}`).join(', ')}.`];
}

/** Returns the help of one command. */
export function commandHelp(command: CommandSpec): readonly (string | Block)[] {
  const operands = (command.operands ?? []).map((operand) => [operandText(operand), operand.help] as const);
  const options = Object.entries({ ...command.options, ...COMMON_OPTIONS }).map(
    ([name, spec]) => [`--${name}${'value' in spec ? ` ${spec.value}` : ''}`, spec.help] as const,
  );
  const examples = command.examples ?? [];
  return [
    `atmo ${usageOf(command)}${command.options ? ' [options]' : ''}\n\n`,
    paragraph(command.summary),
    '\n',
    definitionList([...operands, ...options], Math.max(...[...operands, ...options].map(([left]) => left.length))),
    ...(examples.length > 0 ? [heading('Examples'), ...examples.map((example) => `  atmo ${example}\n`)] : []),
  ];
}

/** Returns the syntax of a command line, without options. */
export function usageOf(command: CommandSpec): string {
  return [command.name, ...(command.operands ?? []).map(operandText)].join(' ');
}

function operandText({ name, isOptional, isRepeated }: OperandSpec): string {
  const text = isRepeated ? `${name} …` : name;
  return isOptional ? `[${text}]` : text;
}

/** Returns words with their meanings in a second column. On a terminal the second column wraps. */
function definitionList(rows: readonly (readonly [word: string, meaning: string])[], width: number): Block {
  return {
    render: ({ columns, ink }) =>
      rows
        .map(([word, meaning]) => {
          const lines = columns === undefined ? [meaning] : wrapText(meaning, Math.max(LEAST_COLUMNS, columns - width - 4));
          const indent = `\n${' '.repeat(width + 4)}`;
          return `  ${ink(word, 'strong')}${padText('', width - textWidth(word))}  ${lines.join(indent)}\n`;
        })
        .join(''),
  };
}
