import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PAGES, readPage } from './page-commands.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Names that stand for any file of a kind. No such file exists. */
const EXAMPLES: ReadonlySet<string> = new Set(['NAME-config.ts', 'NAME-page.ts', 'pages/NAME-page.ts']);

const sources = ['src', 'test', 'scripts'].flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }));
const baseNames = new Set(sources.map((file) => basename(file)));

/** Every TypeScript file that a page names in backticks, alone or as a word of a command. */
function namedFiles(text: string): readonly string[] {
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  return spans.flatMap((span) => [...span.matchAll(/(?<![\w./*-])[\w./*-]+\.ts(?![\w.])/g)].map(([file]) => file));
}

/** Returns whether the file exists: at its path, or anywhere in the sources if the page names it without a folder. */
function exists(file: string): boolean {
  return EXAMPLES.has(file) || (file.includes('/') ? existsSync(join(ROOT, file)) : baseNames.has(file));
}

describe('TypeScript files on pages', () => {
  test('are found, with their folders and in commands', () => {
    expect(namedFiles('`src/main.ts`, `node a/b.ts 10`, `x*.ts` and `c.test.ts`, not c.ts or `d.tsx`')).toEqual([
      'src/main.ts',
      'a/b.ts',
      'x*.ts',
      'c.test.ts',
    ]);
    expect(PAGES.flatMap((page) => namedFiles(readPage(page))).length).toBeGreaterThan(150);
    expect(['src/main.ts', 'main.ts', 'NAME-config.ts', 'src/none.ts', 'none.ts', 'calls/call.ts'].filter(exists)).toEqual([
      'src/main.ts',
      'main.ts',
      'NAME-config.ts',
    ]);
  });

  test.each(PAGES)('%s names only files that exist', (page) => {
    expect(namedFiles(readPage(page)).filter((file) => !exists(file))).toEqual([]);
  });

  test('the examples are on a page', () => {
    const named = new Set(PAGES.flatMap((page) => namedFiles(readPage(page))));
    expect([...EXAMPLES].filter((file) => !named.has(file))).toEqual([]);
  });
});
