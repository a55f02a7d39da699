import { COMMON_OPTIONS, findCommand } from '../arguments.ts';
import type { Command, Completes, OperandSpec, OptionSpec } from '../command.ts';
import { completesOf } from './placeholder.ts';

/** A word that may come next, and what it means. */
export interface Candidate {
  readonly text: string;
  readonly help: string;
}

/** What is being typed: words that are known here, or a value of some kind. */
export type CompletionRequest =
  | { readonly kind: 'words'; readonly candidates: readonly Candidate[] }
  | { readonly kind: 'value'; readonly completes: Completes; readonly typed: string; readonly operands: readonly string[] };

/** What may stand where the last of the `words` after `atmo` is being typed; undefined where nothing is known. */
export function completionRequest(commands: readonly Command[], words: readonly string[]): CompletionRequest | undefined {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const command = findCommand(commands, before);
  if (!command) return candidatesFor(nextWords(commands, before), typed);
  const { awaited, operands } = readWords(command, before.slice(command.name.split(' ').length));
  const value = { typed, operands };
  if (awaited) return valueRequest(awaited, value);
  if (typed.startsWith('-')) return candidatesFor(optionCandidates(command), typed);
  const verbs = candidatesFor(nextWords(commands, before), typed);
  if (verbs) return verbs;
  const specs = command.operands ?? [];
  const spec = specs[operands.length] ?? (specs.at(-1)?.isRepeated ? specs.at(-1) : undefined);
  return spec && valueRequest(spec, value);
}

function valueRequest(spec: OperandSpec | OptionSpec, value: { readonly typed: string; readonly operands: readonly string[] }) {
  const completes = completesOf(spec);
  return completes && ({ kind: 'value', completes, ...value } as const);
}

/** First words of commands, or second ones after a first: `rename` after `device`. */
export function nextWords(commands: readonly Command[], before: readonly string[]): readonly Candidate[] {
  const depth = before.length;
  const start = before.join(' ');
  const fitting = commands.filter(({ name }) => (depth === 0 ? true : name.startsWith(`${start} `)));
  const found = new Map<string, string>();
  for (const { name, summary } of fitting) {
    const word = name.split(' ')[depth];
    if (word === undefined) continue;
    const isGroup = name.split(' ').length > depth + 1;
    found.set(word, isGroup ? (found.get(word) ?? groupHelp(fitting, word)) : summary);
  }
  return [...found].map(([text, help]) => ({ text, help }));
}

/** The options of a command as they are typed. */
export function optionCandidates({ options }: Command): readonly Candidate[] {
  return Object.entries({ ...options, ...COMMON_OPTIONS }).map(([name, { help }]) => ({ text: `--${name}`, help }));
}

function groupHelp(commands: readonly Command[], word: string): string {
  return commands.flatMap(({ name }) => (name.startsWith(`${word} `) ? [name.slice(word.length + 1)] : [])).join(', ');
}

function candidatesFor(candidates: readonly Candidate[], typed: string): CompletionRequest | undefined {
  const fitting = candidates.filter(({ text }) => text.startsWith(typed));
  return fitting.length > 0 ? { kind: 'words', candidates: fitting } : undefined;
}

/** The operands among the words, and the option whose value comes next. */
function readWords(command: Command, words: readonly string[]) {
  const specs: Readonly<Record<string, OptionSpec>> = { ...COMMON_OPTIONS, ...command.options };
  const operands: string[] = [];
  let awaited: OptionSpec | undefined;
  for (const word of words) {
    const isValue = awaited !== undefined;
    const spec = word.startsWith('--') ? specs[word.slice(2)] : undefined;
    awaited = !isValue && spec?.value !== undefined ? spec : undefined;
    if (!isValue && !word.startsWith('-')) operands.push(word);
  }
  return { awaited, operands };
}
