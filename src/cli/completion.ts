import { COMMON_OPTIONS } from './arguments.ts';
import type { Command } from './command.ts';

/** Shells for which completions can be made. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Completions {
  readonly words: readonly string[];
  /** What may follow a first word: second words of the group, or the command's options. */
  readonly after: ReadonlyMap<string, readonly string[]>;
}

/** A script for the shell's completion of commands and options, made from the table of commands. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  const completions = completionsOf(commands);
  if (shell === 'fish') return fishScript(completions);
  const bash = bashScript(completions);
  return shell === 'bash' ? bash : `autoload -U +X bashcompinit && bashcompinit\n${bash}`;
}

function completionsOf(commands: readonly Command[]): Completions {
  const after = new Map<string, readonly string[]>();
  for (const { name, options } of commands) {
    const [first = '', second] = name.split(' ');
    const follow = [
      ...(second === undefined ? [] : [second]),
      ...Object.keys({ ...options, ...COMMON_OPTIONS }).map((option) => `--${option}`),
    ];
    after.set(first, [...new Set([...(after.get(first) ?? []), ...follow])]);
  }
  return { words: [...after.keys()], after };
}

function bashScript({ words, after }: Completions): string {
  const cases = [...after].map(([word, follow]) => `    ${word}) words="${follow.join(' ')}" ;;`);
  return `_atmo() {
  local words="${words.join(' ')}"
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    *) words="" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _atmo atmo
`;
}

function fishScript({ words, after }: Completions): string {
  const first = `complete -c atmo -f -n __fish_use_subcommand -a '${words.join(' ')}'`;
  const rest = [...after].map(([word, follow]) => `complete -c atmo -f -n '__fish_seen_subcommand_from ${word}' -a '${follow.join(' ')}'`);
  return `${[first, ...rest].join('\n')}\n`;
}
