import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { EQUIVALENT, whyEquivalent } from '../../scripts/mutation-score/equivalent-mutants.ts';
import { type Mutant, mutantsOf, sampleOf } from '../../scripts/mutation-score/mutants.ts';
import { SWITCH, switchedSource } from '../../scripts/mutation-score/switched-source.ts';

const changed = (source: string) => mutantsOf('a.ts', source).map(({ text, instead }) => `${text} → ${instead}`);

describe('mutants', () => {
  test('turn comparisons, logic and arithmetic round', () => {
    expect(changed('x = a < b;')).toEqual(['x = a < b; → ;', 'a < b → a <= b', 'a < b → a >= b', 'a < b → true', 'a < b → false']);
    expect(changed('f(a && b ?.c)')).toEqual(expect.arrayContaining(['a && b ?.c → a || (b ?.c)', 'b ?.c → b .c']));
    expect(changed('f(a - b * c)')).toEqual(expect.arrayContaining(['a - b * c → a + (b * c)', 'b * c → b / c']));
  });

  test('make conditions constant, and leave statements, blocks, awaits and results out', () => {
    const source = 'async function f() { if (a) { await g(); h(); } else throw e; return [1]; }';
    expect(changed(source)).toEqual(
      expect.arrayContaining([
        'a → true',
        'a → false',
        '{ await g(); h(); } → {}',
        'await g() → g()',
        'await g(); → ;',
        'throw e; → ;',
        '[1] → undefined',
        '[1] → []',
        '1 → 2',
      ]),
    );
  });

  test('change nothing that does not run: types, names of modules and members', () => {
    const source = "import a from 'a'; export * from 'b'; type A = 'c' | 1; interface B { d: true } const e = { 'f': g, h: i } as 'j';";
    expect(changed(source)).toEqual(["{ 'f': g, h: i } → {}"]);
  });

  test('are other than the source: a result that is undefined stays', () => {
    expect(changed('function f() { return undefined; }')).toEqual([]);
  });

  test('replace an optional chain as a whole, so that what follows it is left out with it', () => {
    expect(changed('f(a?.b.some(c).d)')).toEqual(
      expect.arrayContaining(['a?.b.some(c).d → a?.b.every(c).d', 'a?.b.some(c).d → a.b.some(c).d']),
    );
  });

  test('keep their ids and places in the order of a seed when other code comes and goes', () => {
    const before = mutantsOf('a.ts', 'f(a + b); f(1 < c);');
    const after = mutantsOf('a.ts', 'g(-d);\nf(a + b);');
    const kept = after.filter(({ id }) => before.some((mutant) => mutant.id === id));
    expect(kept.map(({ text }) => text)).toEqual(['f(a + b);', 'a + b']);
    const orderOf = (mutants: readonly Mutant[]) => sampleOf(mutants, 10, 7).filter(({ id }) => kept.some((mutant) => mutant.id === id));
    expect(orderOf(before).map(({ id }) => id)).toEqual(orderOf(after).map(({ id }) => id));
  });
});

test.each(EQUIVALENT)(
  'the mutant of $file with “$instead” that nobody can notice is one, and the only one of its text',
  ({ file, why }) => {
    const mutants = mutantsOf(file, readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'));
    expect(mutants.filter((mutant) => whyEquivalent(mutant) === why).length).toBe(1);
  },
);

describe('a source with switched mutants', () => {
  const SOURCE = `
    function f(list: readonly number[] | undefined, limit = 12) {
      let sum = 0;
      for (const [index, one] of (list ?? []).entries()) {
        if (one > limit && index !== 3) continue;
        sum += one;
      }
      try { if (sum === 0) throw new Error('nothing'); } catch { return -1; }
      return list?.slice(1).some((one) => one === sum) ? 'half' : { sum, n: list?.length };
    }
    result = [undefined, [], [1, 2, 3], [1, 1], [20, 30, 40, 50], [20, 13]].map((list) => { try { return f(list); } catch (error) { return String(error); } });
  `;
  const mutants = mutantsOf('f.ts', SOURCE);
  const outcome = (source: string, active: string) => {
    const context = { result: undefined, [SWITCH]: (id: string) => id === active };
    runInNewContext(stripTypeScriptTypes(source), context);
    return JSON.stringify(context.result);
  };

  test('does what the source does while none is active', () => {
    expect(outcome(switchedSource(SOURCE, mutants), '')).toBe(outcome(SOURCE, ''));
  });

  test('does with each of them what the mutated source does', () => {
    const switched = switchedSource(SOURCE, mutants);
    expect(mutants.length).toBeGreaterThan(60);
    for (const { id, start, end, instead } of mutants) {
      const mutated = SOURCE.slice(0, start) + instead + SOURCE.slice(end);
      expect(outcome(switched, id), `${SOURCE.slice(start, end)} → ${instead}`).toBe(outcome(mutated, ''));
    }
  });
});
