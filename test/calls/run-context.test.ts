import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { newRun } from '../../src/calls/stages/execution.ts';
import { boundedContext } from '../../src/calls/tool-context.ts';
import { makeTool } from './pipeline-fixture.ts';

const run = { runId: 'r', logicalTimeMs: 1_700_000_000_000, randomSeed: '00112233445566778899aabbccddeeff' };
const take = (count: number, random: () => number) => Array.from({ length: count }, random);

describe('the world of a run', () => {
  test('has a seed of 16 bytes only for bounded tools, and an id of its own', () => {
    const bounded = makeTool({ execution: { determinism: 'bounded' } }).definition;
    const [a, b] = [newRun(bounded, 5), newRun(bounded, 5)];
    expect(a).toMatchObject({ logicalTimeMs: 5, randomSeed: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(a.randomSeed).not.toBe(b.randomSeed);
    expect(a.runId).not.toBe(b.runId);
    expect(newRun(makeTool({}).definition, 5).randomSeed).toBe('');
  });

  test('gives the same numbers for the same seed, others for another', () => {
    const numbers = take(100, boundedContext(run).random);
    expect(take(100, boundedContext({ ...run, runId: 'other', logicalTimeMs: 1 }).random)).toEqual(numbers);
    expect(take(100, boundedContext({ ...run, randomSeed: '01' }).random)).not.toEqual(numbers);
    expect(new Set(numbers).size).toBe(100);
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
  });

  test('makes its numbers as it is written down', () => {
    const digest = createHash('sha256').update(`${run.randomSeed}:1`).digest();
    const expected = Number(digest.readBigUInt64BE(8) >> 11n) / 2 ** 53;
    expect(take(6, boundedContext(run).random)[5]).toBe(expected);
  });

  test('spreads its numbers evenly', () => {
    const numbers = take(4_000, boundedContext(run).random);
    for (let tenth = 0; tenth < 10; tenth++) {
      const inside = numbers.filter((number) => Math.floor(number * 10) === tenth).length;
      expect(inside).toBeGreaterThan(300);
      expect(inside).toBeLessThan(500);
    }
  });

  test('stands still', () => {
    const { clock } = boundedContext(run);
    expect([clock.now(), clock.monotonic(), clock.now(), clock.monotonic()]).toEqual([run.logicalTimeMs, 0, run.logicalTimeMs, 0]);
    expect(() => clock.after(1, () => {})).toThrow(/cannot wait/);
  });
});
