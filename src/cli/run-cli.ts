import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { packageVersion } from '../core/package-files.ts';
import type { CliIo } from './cli-io.ts';
import { type Command, Invocation } from './command.ts';
import { commandHelp, findCommand, overview, parseCommandLine, unknownCommand } from './command-line.ts';
import { COMMANDS, SECTIONS } from './command-table.ts';
import { objectsIn } from './hub/answer-lists.ts';
import { HubClient } from './hub/hub-client.ts';
import { type Block, heading } from './terminal/blocks.ts';
import { Output } from './terminal/output.ts';
import { padText } from './terminal/text-width.ts';

const LONGEST_GREETING_MS = 3_000;

/** Runs `atmo ARGV…` and returns the exit code of the command. If it fails, returns the error's exit code in ERROR_CODES. Never throws. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  const output = new Output(io, { isJson: argv.includes('--json') });
  try {
    return helpFor(argv, output) ?? (await runCommand(argv, output, io));
  } catch (thrown) {
    return output.fail(readable(thrown));
  }
}

/** Prints the version or a help page if the arguments ask for it: `--version`, `--help`, `help [COMMAND]`. */
function helpFor(argv: readonly string[], output: Output): number | undefined {
  const words = argv.filter((word) => !word.startsWith('-'));
  if (argv[0] === '--version' || argv[0] === '-V') {
    output.answer({ version: packageVersion() }, () => packageVersion());
    return 0;
  }
  const topic = words[0] === 'help' ? words.slice(1) : words;
  const isAsked = words[0] === 'help' || argv.includes('--help') || argv.includes('-h');
  if (!isAsked) return undefined;
  if (topic.length > 0) return topicHelp(topic, output);
  output.answer({ commands: namesOf(COMMANDS) }, () => overview(SECTIONS));
  return 0;
}

function topicHelp(topic: readonly string[], output: Output): number {
  const command = findCommand(COMMANDS, topic);
  const commands = command ? [command] : COMMANDS.filter(({ name }) => name.startsWith(`${topic[0]} `));
  if (commands.length === 0) throw unknownCommand(COMMANDS, topic);
  output.answer({ commands: namesOf(commands) }, () => commands.flatMap((one, index) => [index === 0 ? '' : '\n', ...commandHelp(one)]));
  return 0;
}

function namesOf(commands: readonly Command[]) {
  return commands.map(({ name, summary }) => ({ name, summary }));
}

/** Handles `atmo` without a command. Prints how far the setup is and the next commands. Returns exit code 2, so that a script fails. */
async function greet(output: Output, io: CliIo): Promise<number> {
  const hub = new HubClient({ env: io.env, fetch: io.fetch, signal: AbortSignal.timeout(LONGEST_GREETING_MS) });
  const setup = await setupStateAt(hub);
  output.answer({ standing: setup.kind, commands: namesOf(COMMANDS) }, () => welcome(setup, hub.url));
  return 2;
}

async function runCommand(argv: readonly string[], output: Output, io: CliIo): Promise<number> {
  if (argv.every((word) => word === '--json')) return greet(output, io);
  const { command, operands, options } = parseCommandLine(COMMANDS, argv);
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
export function welcome(setup: SetupState, url: string): readonly (string | Block)[] {
  const { state, next } = setupText(setup, url);
  const width = Math.max(...next.map(([command]) => command.length));
  const steps = next.map(([command, does]) => `  ${padText(command, width)}  ${does}\n`);
  return [
    'atmo brings Matter devices into one home and lets people and agents call them by name.\n',
    `\n${state}\n`,
    heading('Next'),
    ...steps,
  ];
}

type Step = readonly [command: string, does: string];

const ALL: Step = ['atmo --help', 'every command'];

function setupText(setup: SetupState, url: string): { readonly state: string; readonly next: readonly Step[] } {
  switch (setup.kind) {
    case 'no-hub':
      return {
        state: `No hub answers at ${url}.`,
        next: [
          ['atmo serve', 'run a hub in this terminal'],
          ['sudo systemctl start atmosphere-edge', 'start the one that is installed'],
          ['atmo doctor', 'what this machine lacks'],
          ALL,
        ],
      };
    case 'no-token':
      return {
        state: `A hub answers at ${url}, but not to you: ${setup.problem}`,
        next: [['sudo atmo login', 'give yourself a token, once'], ['atmo doctor', 'what is wrong'], ALL],
      };
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
