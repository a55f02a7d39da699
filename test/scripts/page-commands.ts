import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** Every page of the repository that shows commands, by its path from the root. */
export const PAGES: readonly string[] = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'device-profiles/README.md'].concat(
  readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
);

export const readPage = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

/** The code blocks of a page in one of `languages`, in their order; '' are fenced blocks without a language and indented ones. */
export function blocksOf(page: string, languages: readonly string[]): readonly string[] {
  const pattern = /```(?<language>\w*)\n(?<fenced>[\s\S]*?)```|(?<indented>(?:^ {4}.*\n)+)/gm;
  return [...readPage(page).matchAll(pattern)].flatMap(({ groups = {} }) => {
    const { language = '', fenced, indented = '' } = groups;
    if (!languages.includes(language)) return [];
    return [fenced ?? indented.replaceAll(/^ {4}/gm, '')];
  });
}

/**
 * The shell commands of a page, in the order of reading: without the remark beside a command, with its continued lines. A block
 * that begins with `$` is a transcript (see `transcriptOf`) and holds no command here.
 */
export function shellCommandsOf(page: string): readonly string[] {
  return blocksOf(page, ['', 'sh'])
    .filter((block) => !block.startsWith('$ '))
    .flatMap((block) => block.replaceAll(/\\\n\s*/g, '').split('\n'))
    .map((line) => (line.split(/ {3,}| +# /)[0] ?? '').trim())
    .filter((line) => line !== '');
}

/** A command of a transcript with the lines that it printed. */
export interface Exchange {
  readonly command: string;
  readonly printed: readonly string[];
}

/** The commands behind `$` on a page, each with what the page shows as its output. */
export function transcriptOf(page: string): readonly Exchange[] {
  return blocksOf(page, ['', 'sh'])
    .filter((block) => block.startsWith('$ '))
    .flatMap((block) => block.split(/^\$ /m).slice(1))
    .map((exchange) => {
      const [command = '', ...printed] = exchange.trimEnd().split('\n');
      return { command, printed };
    });
}
