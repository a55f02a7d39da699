import { AtmoError, toAtmoError } from '../core/errors.ts';
import { packageVersion } from '../core/process/package-version.ts';
import { findCommand, parseCommandLine, unknownCommand } from './arguments.ts';
import type { CliIo } from './cli-io.ts';
import { Invocation } from './command.ts';
import { COMMANDS, SECTIONS } from './command-table.ts';
import { commandHelp, overview } from './help.ts';
import { HubClient } from './hub/hub-client.ts';
import { Output } from './terminal/output.ts';
import { standingAt, welcome } from './welcome.ts';

const LONGEST_GREETING_MS = 3_000;

/** Runs `atmo ARGV…` and answers the exit code: 0, or that of the error table. Never throws. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  const output = new Output(io, { isJson: argv.includes('--json') });
  try {
    return helpFor(argv, output) ?? (await runCommand(argv, output, io));
  } catch (thrown) {
    return output.fail(readable(thrown));
  }
}

/** Answers what needs no command: `--version`, `--help`, `help [COMMAND]`. */
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
  output.answer({ commands: COMMANDS.map(({ name, summary }) => ({ name, summary })) }, () => overview(SECTIONS));
  return 0;
}

function topicHelp(topic: readonly string[], output: Output): number {
  const command = findCommand(COMMANDS, topic);
  const commands = command ? [command] : COMMANDS.filter(({ name }) => name.startsWith(`${topic[0]} `));
  if (commands.length === 0) {
    throw unknownCommand(COMMANDS, topic);
  }
  output.answer({ commands: commands.map(({ name, summary }) => ({ name, summary })) }, () =>
    commands.flatMap((one, index) => [index === 0 ? '' : '\n', ...commandHelp(one)]),
  );
  return 0;
}

/** `atmo` alone does nothing, which is wrong usage for a script; a person is told where to begin. */
async function greet(output: Output, io: CliIo): Promise<number> {
  const hub = new HubClient({ env: io.env, fetch: io.fetch, signal: AbortSignal.timeout(LONGEST_GREETING_MS) });
  const standing = await standingAt(hub);
  output.answer({ standing: standing.kind, commands: COMMANDS.map(({ name, summary }) => ({ name, summary })) }, () =>
    welcome(standing, hub.url),
  );
  return 2;
}

async function runCommand(argv: readonly string[], output: Output, io: CliIo): Promise<number> {
  if (argv.every((word) => word === '--json')) return greet(output, io);
  const { command, operands, options } = parseCommandLine(COMMANDS, argv);
  const hub = new HubClient(io, { hub: typeof options.hub === 'string' ? options.hub : undefined });
  return (await command.run(new Invocation({ operands, options, hub, output, io }))) ?? 0;
}

/** A bug of the CLI itself is told with its message: there is no log in which to look it up. */
function readable(thrown: unknown): AtmoError {
  if (thrown instanceof AtmoError || !(thrown instanceof Error)) return toAtmoError(thrown);
  return new AtmoError('INTERNAL_ERROR', `atmo failed: ${thrown.message}`, {}, { cause: thrown });
}
