import { type Command, type CommandSpec, type Invocation, NAME_KINDS, type NameKind, usage } from '../command.ts';
import {
  type Candidate,
  type CompletionRequest,
  completionRequest,
  fileCandidates,
  LOOKUPS,
  nextWords,
  optionCandidates,
} from '../completion-candidates.ts';
import { HubClient } from '../hub/hub-client.ts';
import { cellText } from '../terminal/text-table.ts';

const LONGEST_WAIT_MS = 2_000;

/** Returns the commands for shell completion. `commands` is a function because the table of commands contains these commands too. */
export function completionCommands(commands: () => readonly CommandSpec[]): readonly Command[] {
  return [scriptCommand(commands), wordsCommand(commands)];
}

function scriptCommand(commands: () => readonly CommandSpec[]): Command {
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
    },
  };
}

function wordsCommand(commands: () => readonly CommandSpec[]): Command {
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
    },
  };
}

function lineOf({ text, help }: Candidate): string {
  return `${cellText(text)}\t${cellText(help)}\n`;
}

/** Returns the candidates. Returns none if the hub cannot be reached, because a completion must not print errors. */
async function candidatesOf(request: CompletionRequest | undefined, call: Invocation): Promise<readonly Candidate[] | 'files'> {
  if (!request) return [];
  if (request.kind === 'words') return request.candidates;
  const { completes, typed, operands } = request;
  if (completes === 'file') return 'files';
  const files = completes === 'parameter' ? fileCandidates(typed) : undefined;
  if (files) return files;
  const known = isNameKind(completes) ? await namesOf(completes, operands, call) : completes.map((text) => ({ text, help: '' }));
  return known.filter(({ text }) => text.startsWith(typed));
}

function isNameKind(completes: NameKind | readonly string[]): completes is NameKind {
  return NAME_KINDS.some((kind) => kind === completes);
}

async function namesOf(kind: NameKind, operands: readonly string[], { io }: Invocation): Promise<readonly Candidate[]> {
  try {
    const hub = new HubClient({ env: io.env, fetch: io.fetch, signal: AbortSignal.timeout(LONGEST_WAIT_MS) });
    return await LOOKUPS[kind](hub, operands);
  } catch {
    return [];
  }
}

const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The words that a completion script contains. For other words the script runs `atmo completion words`, which loads names from the hub. */
interface Grammar {
  readonly firstWords: readonly Candidate[];
  /** The second words of commands, by their first word. */
  readonly verbs: ReadonlyMap<string, readonly Candidate[]>;
  readonly options: ReadonlyMap<string, readonly Candidate[]>;
}

/** Returns a shell script that completes commands, options, and names from the hub. */
export function completionScript(shell: Shell, commands: readonly CommandSpec[]): string {
  return SCRIPTS[shell](grammarOf(commands));
}

const SCRIPTS: Readonly<Record<Shell, (grammar: Grammar) => string>> = { bash: bashScript, zsh: zshScript, fish: fishScript };

function grammarOf(commands: readonly CommandSpec[]): Grammar {
  const firstWords = nextWords(commands, []);
  const groups = firstWords.map(({ text }) => [text, nextWords(commands, [text])] as const);
  return {
    firstWords,
    verbs: new Map(groups.filter(([, verbs]) => verbs.length > 0)),
    options: new Map(commands.map((command) => [command.name, optionCandidates(command)])),
  };
}

function textsOf(candidates: readonly Candidate[]): string {
  return candidates.map(({ text }) => text).join(' ');
}

/** Returns the script for bash. It reads names line by line and quotes them, since a device name must never be evaluated. */
function bashScript({ firstWords, verbs, options }: Grammar): string {
  return `# Completion of atmo for bash: source <(atmo completion bash)
_atmo_options() {
  case "$1" in
${[...options].map(([name, list]) => `  '${name}') echo '${textsOf(list)}' ;;`).join('\n')}
  *) return 1 ;;
  esac
}
_atmo_verbs() {
  case "$1" in
${[...verbs].map(([word, list]) => `  ${word}) echo '${textsOf(list)}' ;;`).join('\n')}
  esac
}
_atmo() {
  local line=\${COMP_LINE:0:COMP_POINT} known='' text
  local -a words=() lines=()
  read -ra words <<<"$line"
  while [[ \${#words[@]} -gt 0 && \${words[0]} != "$1" ]]; do words=("\${words[@]:1}"); done
  [[ $line == *[[:space:]] ]] && words+=('')
  local cur=\${words[\${#words[@]}-1]} previous=\${words[\${#words[@]}-2]}
  COMPREPLY=()
  if [[ \${#words[@]} -eq 2 ]]; then
    known='${textsOf(firstWords)}'
  elif [[ $cur == -* && $previous != --* ]]; then
    known=$(_atmo_options "\${words[1]} \${words[2]}" || _atmo_options "\${words[1]}")
  elif [[ \${#words[@]} -eq 3 ]]; then
    known=$(_atmo_verbs "\${words[1]}")
  fi
  if [[ -n $known ]]; then
    COMPREPLY=($(compgen -W "$known" -- "$cur"))
    [[ \${#COMPREPLY[@]} -gt 0 ]] && return
  fi
  local IFS=$'\\n'
  words[0]=atmo
  mapfile -t lines < <("$1" completion words "\${words[*]}" 2>/dev/null)
  if [[ \${lines[0]} == ':files' ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
    return
  fi
  # Readline replaces only what follows the last of its word breaks.
  local breaks=\${COMP_WORDBREAKS//[^:=@]/} head=''
  [[ -n $breaks ]] && head=\${cur%"\${cur##*[$breaks]}"}
  for text in "\${lines[@]}"; do
    text=\${text%%$'\\t'*}
    [[ $text == *[=/] ]] && compopt -o nospace 2>/dev/null
    printf -v text %q "\${text#"$head"}"
    COMPREPLY+=("$text")
  done
}
complete -F _atmo atmo
`;
}

function zshScript({ firstWords, verbs, options }: Grammar): string {
  return `#compdef atmo
# Completion of atmo for zsh: source <(atmo completion zsh), after compinit
_atmo_offer() {
  local line
  local -a names shown
  for line in "$@"; do
    names+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done
  [[ \${#names} -eq 0 ]] && return 1
  if [[ $names[1] == *[=/] ]]; then compadd -S '' -l -d shown -a names; else compadd -l -d shown -a names; fi
}
_atmo_options() {
  case "$1" in
${[...options].map(([name, list]) => `  '${name}') _atmo_offer ${zshWords(list)} ;;`).join('\n')}
  *) return 1 ;;
  esac
}
_atmo_verbs() {
  case "$1" in
${[...verbs].map(([word, list]) => `  ${word}) _atmo_offer ${zshWords(list)} ;;`).join('\n')}
  *) return 1 ;;
  esac
}
_atmo() {
  local cur=$words[CURRENT] previous=$words[CURRENT-1]
  local -a typed lines
  if (( CURRENT == 2 )); then
    _atmo_offer ${zshWords(firstWords)}
    return
  elif [[ $cur == -* && $previous != --* ]]; then
    _atmo_options "$words[2] $words[3]" || _atmo_options "$words[2]"
    return
  elif (( CURRENT == 3 )) && _atmo_verbs "$words[2]"; then
    return
  fi
  typed=(atmo "\${(@Q)words[2,CURRENT]}")
  lines=("\${(@f)$("\${(Q)words[1]}" completion words "\${(pj:\\n:)typed}" 2>/dev/null)}")
  if [[ $lines[1] == ':files' ]]; then
    _files
    return
  fi
  _atmo_offer "\${(@)lines:#}"
}
compdef _atmo atmo
`;
}

function zshWords(candidates: readonly Candidate[]): string {
  return candidates.map(({ text, help }) => `$'${text}\\t${quoted(help)}'`).join(' ');
}

function fishScript({ firstWords, verbs, options }: Grammar): string {
  const first = firstWords.map(({ text, help }) => `complete -c atmo -f -n '__atmo_typed' -a '${text}' -d '${quoted(help)}'`);
  const second = [...verbs].flatMap(([word, list]) =>
    list.map(({ text, help }) => `complete -c atmo -f -n '__atmo_typed ${word}' -a '${text}' -d '${quoted(help)}'`),
  );
  const flags = [...options].flatMap(([name, list]) =>
    list.map(({ text, help }) => `complete -c atmo -f -n '__atmo_within ${name}' -l '${text.slice(2)}' -d '${quoted(help)}'`),
  );
  return `# Completion of atmo for fish: atmo completion fish | source
function __atmo_typed
  set -l words (commandline -opc)
  test "$words[2..-1]" = "$argv"
end
function __atmo_within
  set -l words (commandline -opc)
  string match -q -- "$argv *" "$words[2..-1] "
end
function __atmo_words
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  $words[1] completion words (begin; printf '%s\\n' atmo $words[2..-1]; printf '%s' "$current"; end | string collect --no-trim-newlines) 2>/dev/null | while read -l line
    if test "$line" = ':files'
      __fish_complete_path $current
    else
      echo $line
    end
  end
end
function __atmo_has_words
  test (count (commandline -opc)) -ge 2; and not string match -q -- '-*' (commandline -ct)
end
${[...first, ...second, ...flags].join('\n')}
complete -c atmo -f -n '__atmo_has_words' -a '(__atmo_words)'
`;
}

/** Returns a help text in a form that is safe inside the single quotes of every shell. */
function quoted(help: string): string {
  return help.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
}
