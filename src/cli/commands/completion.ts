import { type Command, type Invocation, NAME_KINDS, type NameKind, usage } from '../command.ts';
import { type Candidate, type CompletionRequest, completionRequest } from '../completion/completion-request.ts';
import { completionScript, SHELLS } from '../completion/completion-script.ts';
import { fileWords } from '../completion/file-words.ts';
import { lookUpNames } from '../completion/name-lookup.ts';
import { HubClient } from '../hub/hub-client.ts';
import { cellText } from '../terminal/text-table.ts';

/** Nobody waits longer for the names behind a TAB. */
const LONGEST_WAIT_MS = 2_000;

/** Completions for shells, made from `commands`; a function because the table holds these commands too. */
export function completionCommands(commands: () => readonly Command[]): readonly Command[] {
  return [scriptCommand(commands), wordsCommand(commands)];
}

function scriptCommand(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'print a script that completes commands, options, and the names of tools, devices, areas and hubs',
    operands: [{ name: 'SHELL', help: SHELLS.join(', '), completes: SHELLS }],
    examples: ['completion bash', 'completion fish'],
    async run({ output, operands: [wanted] }) {
      const shell = SHELLS.find((known) => known === wanted);
      if (!shell) throw usage(`There are completions for ${SHELLS.join(', ')}, not for ${JSON.stringify(wanted)}`);
      const script = completionScript(shell, commands());
      output.answer({ shell, script }, () => script);
      return undefined;
    },
  };
}

function wordsCommand(commands: () => readonly Command[]): Command {
  return {
    name: 'completion words',
    summary: 'for the scripts: what may come next on a command line, one a line with its help behind a tab',
    operands: [{ name: 'LINE', help: '"atmo" and the words so far, one a line; the last one is being typed' }],
    examples: ["completion words $'atmo\\ndevices\\nlam'"],
    async run(call) {
      const [, ...words] = call.operand(0).split('\n');
      const request = completionRequest(commands(), words);
      const candidates = await candidatesOf(request, call);
      call.output.answer(candidates, () => (candidates === 'files' ? ':files\n' : candidates.map(lineOf)));
      return undefined;
    },
  };
}

function lineOf({ text, help }: Candidate): string {
  return `${cellText(text)}\t${cellText(help)}\n`;
}

/** No hub, no names: a shell that completes is no place for errors. */
async function candidatesOf(request: CompletionRequest | undefined, call: Invocation): Promise<readonly Candidate[] | 'files'> {
  if (!request) return [];
  if (request.kind === 'words') return request.candidates;
  const { completes, typed, operands } = request;
  if (completes === 'file') return 'files';
  const files = completes === 'parameter' ? fileWords(typed) : undefined;
  if (files) return files;
  const known = isNameKind(completes) ? await namesOf(completes, operands, call) : completes.map((text) => ({ text, help: '' }));
  return known.filter(({ text }) => text.startsWith(typed));
}

function isNameKind(completes: NameKind | readonly string[]): completes is NameKind {
  return NAME_KINDS.some((kind) => kind === completes);
}

async function namesOf(kind: NameKind, operands: readonly string[], { io }: Invocation): Promise<readonly Candidate[]> {
  try {
    return await lookUpNames(kind, new HubClient({ env: io.env, fetch: io.fetch, signal: AbortSignal.timeout(LONGEST_WAIT_MS) }), operands);
  } catch {
    return [];
  }
}
