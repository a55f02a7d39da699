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

  test('have names of their own', () => {
    const names = PLANTED_BUGS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
