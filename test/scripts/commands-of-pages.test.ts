import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMON_OPTIONS, findCommand } from '../../src/cli/arguments.ts';
import { COMMANDS } from '../../src/cli/command-table.ts';

const ROOT = join(import.meta.dirname, '../..');
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'device-profiles/README.md'].concat(
  readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
);

/** Every command that a page shows, in blocks of code and in lines of text, without what a comment says beside it. */
function commandsOf(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const blocks = [...text.matchAll(/```(?:sh)?\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.split('\n'));
  const indented = [...text.matchAll(/^ {4}(.*)$/gm)].map(([, line = '']) => line);
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  return [...blocks, ...indented, ...spans].flatMap((code) =>
    [...code.matchAll(/(?:^|[\s$(./])atmo ([a-z][^|;)]*)/g)].map(([, words = '']) => words.split(/ {3}| #/)[0] ?? ''),
  );
}

/** What the program does not know of this command; undefined when it knows all. */
function mistakeIn(words: string): string | undefined {
  const command = findCommand(COMMANDS, words.split(' '));
  if (!command) return `atmo ${words}: there is no such command`;
  const known = Object.keys({ ...COMMON_OPTIONS, ...command.options });
  const unknown = [...words.matchAll(/--([a-z-]+)/g)].map(([, name = '']) => name).filter((name) => !known.includes(name));
  return unknown.length === 0 ? undefined : `atmo ${words}: there is no --${unknown.join(', --')}`;
}

describe('commands on pages', () => {
  test('are found', () => {
    expect(commandsOf('README.md').length).toBeGreaterThan(10);
    expect(mistakeIn('audit verfy')).toContain('no such command');
    expect(mistakeIn('audit verify --hed 1:2')).toContain('--hed');
  });

  test.each(pages)('%s shows only commands and options that there are', (page) => {
    expect(commandsOf(page).flatMap((words) => mistakeIn(words) ?? [])).toEqual([]);
  });
});
