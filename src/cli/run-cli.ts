import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { packageVersion } from '../core/package-files.ts';
import type { CliIo } from './cli-io.ts';
import { type Command, type CommandSpec, Invocation, usage } from './command.ts';
import { type CommandSection, commandHelp, findCommand, overview, parseCommandLine, unknownCommand } from './command-line.ts';
import { objectsIn } from './hub/answer-lists.ts';
import { HubClient } from './hub/hub-client.ts';
import { type Block, heading } from './terminal/blocks.ts';
import { Output, type ProgramAdvice } from './terminal/output.ts';
import { padText } from './terminal/text-width.ts';

const LONGEST_GREETING_MS = 3_000;

/** A command to type and what it does. */
export type Step = readonly [command: string, does: string];

/** What a person can do where no hub answers, and where a hub answers but knows no token of the person. */
export interface FirstSteps {
  readonly withoutHub: readonly Step[];
  readonly withoutToken: readonly Step[];
}

/** A program with the name `atmo`: that of the hub's package or that of the client package. */
export interface CliProgram<Io extends CliIo> {
  readonly sections: readonly CommandSection<Command<Io>>[];
  /** Names of commands that this program lacks because they run on the machine of the hub. */
  readonly onlyOnHub: readonly string[];
  readonly firstSteps: FirstSteps;
  readonly advice: ProgramAdvice;
}

/** One start of a program. */
interface Start<Io extends CliIo> {
  readonly argv: readonly string[];
  readonly program: CliProgram<Io>;
  readonly output: Output;
  readonly io: Io;
}

/** Runs `atmo ARGV…` and returns the exit code of the command. If it fails, returns the error's exit code in ERROR_CODES. Never throws. */
export async function runCli<Io extends CliIo>(argv: readonly string[], program: CliProgram<Io>, io: Io): Promise<number> {
  const output = new Output(io, { isJson: argv.includes('--json'), advice: program.advice });
  try {
    requireHere(argv, program.onlyOnHub);
    return helpFor(argv, program, output) ?? (await runCommand({ argv, program, output, io }));
  } catch (thrown) {
    return output.fail(readable(thrown));
  }
}

/** Throws VALIDATION_ERROR for a command that only the package of the hub has. */
function requireHere(argv: readonly string[], onlyOnHub: readonly string[]): void {
  const words = argv.filter((word) => !word.startsWith('-') && word !== 'help').join(' ');
  const name = onlyOnHub.find((known) => words === known || words.startsWith(`${known} `));
  if (name === undefined) return;
  throw usage(`"atmo ${name}" runs on the machine of the hub, where the package of the hub has it; this is the client package`);
}

function commandsOf<Known extends CommandSpec>(sections: readonly CommandSection<Known>[]): readonly Known[] {
  return sections.flatMap(({ commands }) => commands);
}

type Helped = Pick<CliProgram<never>, 'onlyOnHub'> & { readonly sections: readonly CommandSection[] };

/** Prints the version or a help page if the arguments ask for it: `--version`, `--help`, `help [COMMAND]`. */
function helpFor(argv: readonly string[], { sections, onlyOnHub }: Helped, output: Output): number | undefined {
  const words = argv.filter((word) => !word.startsWith('-'));
  if (argv[0] === '--version' || argv[0] === '-V') {
    output.answer({ version: packageVersion() }, () => packageVersion());
    return 0;
  }
  const topic = words[0] === 'help' ? words.slice(1) : words;
  const isAsked = words[0] === 'help' || argv.includes('--help') || argv.includes('-h');
  if (!isAsked) return undefined;
  if (topic.length > 0) return topicHelp(topic, commandsOf(sections), output);
  output.answer({ commands: namesOf(commandsOf(sections)) }, () => overview(sections, onlyOnHub));
  return 0;
}

function topicHelp(topic: readonly string[], all: readonly CommandSpec[], output: Output): number {
  const command = findCommand(all, topic);
  const commands = command ? [command] : all.filter(({ name }) => name.startsWith(`${topic[0]} `));
  if (commands.length === 0) throw unknownCommand(all, topic);
  output.answer({ commands: namesOf(commands) }, () => commands.flatMap((one, index) => [index === 0 ? '' : '\n', ...commandHelp(one)]));
  return 0;
}

function namesOf(commands: readonly CommandSpec[]) {
  return commands.map(({ name, summary }) => ({ name, summary }));
}

/** Handles `atmo` without a command. Prints how far the setup is and the next commands. Returns exit code 2, so that a script fails. */
async function greet<Io extends CliIo>({ program, output, io }: Start<Io>): Promise<number> {
  const hub = new HubClient({ env: io.env, fetch: io.fetch, signal: AbortSignal.timeout(LONGEST_GREETING_MS) });
  const setup = await setupStateAt(hub);
  const commands = namesOf(commandsOf(program.sections));
  output.answer({ standing: setup.kind, commands }, () => welcome(setup, hub.url, program.firstSteps));
  return 2;
}

async function runCommand<Io extends CliIo>(start: Start<Io>): Promise<number> {
  const { argv, program, output, io } = start;
  if (argv.every((word) => word === '--json')) return greet(start);
  const { command, operands, options } = parseCommandLine(commandsOf(program.sections), argv);
  const hub = new HubClient(io, { hub: typeof options.hub === 'string' ? options.hub : undefined });
  const exitCode = await command.run(new Invocation({ operands, options, hub, output, io }));
  return typeof exitCode === 'number' ? exitCode : 0;
}

/** Returns the error to print. For a bug in the CLI the error contains the original message, because the CLI writes no log. */
function readable(thrown: unknown): AtmoError {
  if (thrown instanceof AtmoError || !(thrown instanceof Error)) return toAtmoError(thrown);
  return new AtmoError('INTERNAL_ERROR', `atmo failed: ${thrown.message}`, {}, { cause: thrown });
}

/** How far the setup is: no hub, no token, no device, or a home with devices. */
export type SetupState =
  | { readonly kind: 'no-hub' }
  | { readonly kind: 'no-token'; readonly problem: string }
  | { readonly kind: 'no-devices' }
  | { readonly kind: 'home'; readonly devices: readonly JsonObject[]; readonly waiting: number };

/** Finds out how far the setup is, by requests to the hub. Never rejects. */
async function setupStateAt(hub: HubClient): Promise<SetupState> {
  try {
    await hub.health();
  } catch {
    return { kind: 'no-hub' };
  }
  try {
    const devices = objectsIn(await hub.get('/api/v1/devices'), 'devices');
    // The list of devices always contains the board itself.
    if (devices.every(({ kind }) => kind === 'board')) return { kind: 'no-devices' };
    return { kind: 'home', devices, waiting: await waitingApprovals(hub) };
  } catch (error) {
    return { kind: 'no-token', problem: toAtmoError(error).message };
  }
}

async function waitingApprovals(hub: HubClient): Promise<number> {
  const answer = await hub.get('/api/v1/approvals').catch(() => ({}));
  return objectsIn(answer, 'approvals').filter(({ state }) => state === 'pending').length;
}

/** Returns a text that says how far the setup is, and names the next commands. */
export function welcome(setup: SetupState, url: string, steps: FirstSteps): readonly (string | Block)[] {
  const { state, next } = setupText(setup, url, steps);
  const width = Math.max(...next.map(([command]) => command.length));
  const lines = next.map(([command, does]) => `  ${padText(command, width)}  ${does}\n`);
  return [
    'atmo brings Matter devices into one home and lets people and agents call them by name.\n',
    `\n${state}\n`,
    heading('Next'),
    ...lines,
  ];
}

const ALL: Step = ['atmo --help', 'every command'];

function setupText(
  setup: SetupState,
  url: string,
  { withoutHub, withoutToken }: FirstSteps,
): { readonly state: string; readonly next: readonly Step[] } {
  switch (setup.kind) {
    case 'no-hub':
      return { state: `No hub answers at ${url}.`, next: [...withoutHub, ALL] };
    case 'no-token':
      return { state: `A hub answers at ${url}, but not to you: ${setup.problem}`, next: [...withoutToken, ALL] };
    case 'no-devices':
      return {
        state: `The hub at ${url} is well and has no devices yet.`,
        next: [
          ['atmo commission CODE', 'bring in a device: the code stands on it, or in its app'],
          ['atmo mesh join LINE', 'use the devices of another hub'],
          ['atmo monitor', 'the page for people'],
          ALL,
        ],
      };
    case 'home':
      return { state: homeText(setup, url), next: homeSteps(setup) };
  }
}

function homeText({ devices, waiting }: Extract<SetupState, { kind: 'home' }>, url: string): string {
  const away = devices.filter(({ reachability }) => reachability !== 'reachable').length;
  const calls = waiting === 0 ? '' : ` ${waiting === 1 ? 'A call waits' : `${waiting} calls wait`} for your approval.`;
  return `The hub at ${url} has ${devices.length} ${devices.length === 1 ? 'device' : 'devices'}${away > 0 ? `, ${away} not reachable` : ''}.${calls}`;
}

function homeSteps({ waiting }: Extract<SetupState, { kind: 'home' }>): readonly Step[] {
  return [
    ...(waiting > 0 ? [['atmo approvals', 'what waits for you'] as const] : []),
    ['atmo status', 'how the hub is'],
    ["atmo tools --search 'dim the hall'", 'find a tool in your own words'],
    ['atmo call TOOL key=value', 'use it'],
    ['atmo monitor', 'the page for people'],
    ['atmo mcp --agent NAME', 'connect an agent'],
    ALL,
  ];
}
