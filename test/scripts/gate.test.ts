import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type GateMachine, runGate } from '../../scripts/bench/gate/gate.ts';
import type { Measurement } from '../../scripts/bench/gate/verdict.ts';
import { AtmoError } from '../../src/core/errors.ts';

const ONCE = { selfRuns: undefined, recordFile: undefined };
const THRICE = { selfRuns: 3, recordFile: undefined };
const measured = (factor: number): readonly Measurement[] => [
  { name: 'call', unit: 'ms', repeats: Array.from({ length: 3 }, () => [{ base: 10, present: 10 * factor }]) },
];

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((line: unknown) => void lines.push(...String(line).split('\n')));
});
afterEach(() => vi.restoreAllMocks());

/** A machine with two processors on which both programs take the same. */
function machineWith(parts: Partial<GateMachine> & { readonly blocks?: boolean }): GateMachine {
  const { blocks = true, ...others } = parts;
  return {
    gateBase: () => ({ commit: 'a'.repeat(40), blocks }),
    whyNoBase: () => undefined,
    buildBase: () => 'base.mjs',
    buildPresent: () => 'present.mjs',
    measure: async () => measured(1),
    load: () => 1,
    processors: 2,
    ...others,
  };
}

describe('the gate', () => {
  test('ends with 1 for a program that is worse, and with 0 for one that is not', async () => {
    expect(await runGate(ONCE, machineWith({}))).toBe(0);
    expect(await runGate(ONCE, machineWith({ measure: async () => measured(2) }))).toBe(1);
  });

  test('tells that a program is worse and ends with 0 while it does not block', async () => {
    expect(await runGate(ONCE, machineWith({ blocks: false, measure: async () => measured(2) }))).toBe(0);
    expect(lines.some((line) => line.includes('✗ worse by more than 15 %'))).toBe(true);
  });

  test.each([1, 2])(
    'judges nothing on a machine that is too busy: one that takes %d times as long neither passes nor fails',
    async (factor) => {
      expect(await runGate(ONCE, machineWith({ load: () => 16.1, measure: async () => measured(factor) }))).toBe(77);
      expect(lines.at(-1)).toBe('gate: the machine is too busy: nothing is judged');
      expect(await runGate(ONCE, machineWith({ load: () => 16, measure: async () => measured(factor) }))).toBe(factor === 1 ? 0 : 1);
    },
  );

  test.each(['buildBase', 'buildPresent', 'measure'] as const)(
    'ends with 77 and the error of %s as the last line while it does not block',
    async (part) => {
      const fail = () => {
        throw new AtmoError('INTERNAL_ERROR', 'no program\nat line 3');
      };
      expect(await runGate(ONCE, machineWith({ blocks: false, [part]: fail }))).toBe(77);
      expect(lines.at(-1)).toMatch(/^gate: nothing was compared, and the gate does not block: .*no program$/);
      expect(lines.join('\n')).toContain('at line 3');
      await expect(runGate(ONCE, machineWith({ blocks: true, [part]: fail }))).rejects.toThrow('no program');
    },
  );

  test('says why it cannot build the commit, whether it blocks or not', async () => {
    expect(await runGate(ONCE, machineWith({ whyNoBase: () => 'the commit is not here' }))).toBe(77);
    expect(lines).toEqual(['gate: the commit is not here']);
  });
});

describe('a commit against itself', () => {
  test('counts runs that were not judged apart, and does not end with 0 then', async () => {
    const loads = [1, 1, 40, 40, 1, 1];
    expect(await runGate(THRICE, machineWith({ load: () => loads.shift() ?? 0 }))).toBe(1);
    expect(lines.at(-1)).toBe('2 of 3 passed, 0 worse, 1 not judged on a machine that was too busy');
  });

  test('ends with 0 only when each run passed', async () => {
    expect(await runGate(THRICE, machineWith({}))).toBe(0);
    const factors = [1, 2, 1];
    expect(await runGate(THRICE, machineWith({ blocks: false, measure: async () => measured(factors.shift() ?? 1) }))).toBe(1);
    expect(lines.at(-1)).toBe('2 of 3 passed, 1 worse, 0 not judged on a machine that was too busy');
  });
});
