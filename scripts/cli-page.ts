import type { CommandSpec } from '../src/cli/command.ts';
import { usageOf } from '../src/cli/command-line.ts';
import { HUB_MACHINE_SECTION, SECTIONS } from '../src/cli/command-table.ts';

const INTRODUCTION = `# The command line

This page is written by \`npm run docs\` from the table in \`src/cli/command-table.ts\`; \`--help\` behind a command
tells the same.

Every command takes \`--json\` (one JSON document on standard output; everything else goes to standard error) and \`--help\`.
Tables are cut to the width of a terminal and whole in a pipe. Colours are for terminals: \`NO_COLOR=1\` and \`TERM=dumb\` end
them, \`FORCE_COLOR=1\` wants them in a pipe too.

| exit code | means |
|---|---|
| 0 | success |
| 1 | anything else, such as a check that found something |
| 2 | wrong usage |
| 3 | refused: authentication, permission, or a person has to approve first |
| 4 | a tool or device failed or cannot be reached |
| 5 | no hub answers |

Completion, with the names of tools, devices, areas and hubs that the hub knows:

\`\`\`
source <(atmo completion bash)        in ~/.bashrc
source <(atmo completion zsh)         in ~/.zshrc, after compinit
atmo completion fish | source         in ~/.config/fish/config.fish
\`\`\`

## From another machine

[The client package](client.md) is \`atmo\` for a laptop. It speaks to the hub over TLS, and an invitation signs it in ([how](client.md#sign-in)).

### For programs, or through a tunnel

A token with an end, for a program, or for a hub that listens on its own machine alone. On the hub:

\`\`\`
sudo atmo tls                         its address and fingerprint
sudo atmo token mint --agent ann --allow '*' --allow admin:approvals --ttl 90d > ann.token
\`\`\`

On the other machine, once:

\`\`\`
export ATMO_URL=https://hub.local:8081
atmo tls trust FINGERPRINT
atmo login --token @ann.token
\`\`\`

Through a tunnel instead of TLS, with \`ATMO_URL\` unset: \`ssh -N -L 8081:127.0.0.1:8081 pi@hub.local\`, then the same \`atmo login --token\`.
`;

/** docs/cli.md: every command with its operands, options and examples, from the table that the CLI itself reads. */
export function cliPage(): string {
  const sections = SECTIONS.map((section) => `## ${section.title}\n\n${whereText(section)}${section.commands.map(commandText).join('\n')}`);
  return `${INTRODUCTION}\n${sections.join('\n')}`;
}

/** What the client package does not have is marked. */
function whereText({ title }: { readonly title: string }): string {
  return title === HUB_MACHINE_SECTION.title
    ? 'These commands run on the machine of the hub. The [client package](client.md) has all others.\n\n'
    : '';
}

function commandText(command: CommandSpec): string {
  const rows = [
    ...(command.operands ?? []).map(({ name, help }) => [name, help] as const),
    ...Object.entries(command.options ?? {}).map(
      ([name, { value, help }]) => [value === undefined ? `--${name}` : `--${name} ${value}`, help] as const,
    ),
  ];
  const table = rows.map(([word, help]) => `| \`${word}\` | ${help.replaceAll('|', '\\|')} |\n`).join('');
  const examples = (command.examples ?? []).map((example) => `atmo ${example}\n`).join('');
  return [
    `### atmo ${usageOf(command)}\n\n${sentence(command.summary)}\n`,
    table === '' ? '' : `\n| | |\n|---|---|\n${table}`,
    examples === '' ? '' : `\n\`\`\`\n${examples}\`\`\`\n`,
  ].join('');
}

function sentence(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}
