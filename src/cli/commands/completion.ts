import { type Command, usage } from '../command.ts';
import { completionScript, SHELLS } from '../completion.ts';

/** The command that prints a completion script over the other commands. */
export function completionCommand(others: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'print a completion script: source <(atmo completion bash)',
    operands: [{ name: 'SHELL', help: SHELLS.join(', ') }],
    async run({ output, operands: [name] }) {
      const shell = SHELLS.find((known) => known === name);
      if (!shell) throw usage(`There is no completion for ${JSON.stringify(name)}; use ${SHELLS.join(', ')}`);
      const script = completionScript(shell, others());
      output.answer({ shell, script }, () => script);
      return undefined;
    },
  };
}
