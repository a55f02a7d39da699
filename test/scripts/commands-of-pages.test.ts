import { describe, expect, test } from 'vitest';
import { COMMON_OPTIONS, findCommand } from '../../src/cli/command-line.ts';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { blocksOf, PAGES, readPage } from './page-commands.ts';

/** Every command that a page shows, in blocks of code and in lines of text, without what a comment says beside it. */
function commandsOf(page: string): readonly string[] {
  const text = readPage(page);
  const blocks = blocksOf(page, ['', 'sh']).flatMap((block) => block.split('\n'));
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  return [...blocks, ...spans].flatMap((code) =>
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

  test.each(PAGES)('%s shows only commands and options that there are', (page) => {
    expect(commandsOf(page).flatMap((words) => mistakeIn(words) ?? [])).toEqual([]);
  });
});

describe('words on pages', () => {
  // HTTP, MCP, the page and the command line are interfaces; a door is a device.
  const METAPHOR =
    /\b(?:HTTP|MCP|CLI|TCP|RPC|every|other|whichever|whatever|own|whose) doors?\b|\bmesh(?:,| and) doors\b|\bnetwork, doors\b|\bdoors? listens?\b/i;

  test.each(PAGES.filter((page) => !page.startsWith('docs/decisions')))('%s calls an interface by its name', (page) => {
    const lines = readPage(page).split('\n');
    expect(lines.filter((line) => METAPHOR.test(line))).toEqual([]);
  });
});
