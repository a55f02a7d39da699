import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { describe, expect, test } from 'vitest';
import { mutated } from '../../../scripts/mutation.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';

describe('the planted bugs', () => {
  test.each(PLANTED_BUGS.map((bug) => [bug.name, bug] as const))('fit the sources: %s', (_, bug) => {
    const source = readFileSync(bug.file, 'utf8');
    const planted = mutated(bug, source);
    expect(planted).not.toBe(source);
    // A mistake in TypeScript would end the program before it simulates anything.
    expect(() => stripTypeScriptTypes(planted)).not.toThrow();
  });

  test('are the rows of the table of results, whose unit tests exist', () => {
    const [, , ...table] = readFileSync(new URL('README.md', import.meta.url), 'utf8').match(/^\|.*$/gm) ?? [];
    const rows = table.map((line) => line.split('|').map((cell) => cell.trim()));
    expect(rows.map(([, name, file]) => [name, file]).sort()).toEqual(
      PLANTED_BUGS.map(({ name, file }) => [name, `\`${file.replace('src/', '')}\``]).sort(),
    );
    const tests = rows.flatMap(([, name, , , unitTest = '']) => (unitTest.startsWith('`') ? [{ name, unitTest }] : []));
    expect(tests.length).toBeGreaterThan(0);
    for (const { name, unitTest } of tests) {
      const [, file = '', title = ''] = /^`(.*)`, “(.*)”$/.exec(unitTest) ?? expect.unreachable(`${name}: ${unitTest}`);
      expect([name, title, readFileSync(file, 'utf8').includes(title)]).toEqual([name, title, true]);
    }
  });

  test('have names of their own', () => {
    const names = PLANTED_BUGS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
