import { randomInt } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { runChild } from './child-world.ts';
import { commandOf, type ShownPlan } from './world-plan.ts';

/** Small worlds in which much happens. */
const BUSY: Omit<ShownPlan, 'seed'> = { hubs: 2, hours: 0.15, pace: 8, faults: 8, kinds: 4 };

/** Simulates worlds in processes of their own, two at a time. */
async function simulate(seeds: readonly number[]) {
  const waiting = seeds.map((seed) => ({ ...BUSY, seed }));
  const outcomes = new Map<ShownPlan, Awaited<ReturnType<typeof runChild>>>();
  const work = async () => {
    for (let plan = waiting.shift(); plan; plan = waiting.shift()) outcomes.set(plan, await runChild({ plan }));
  };
  await Promise.all([work(), work()]);
  return [...outcomes].map(([{ seed }, outcome]) => ({ seed, ...outcome })).toSorted((a, b) => a.seed - b.seed);
}

describe('a simulated world', () => {
  test('is the same for the same seed in two processes, and another one for another seed', async () => {
    const [first, again, other] = await simulate([7, 7, 8]);
    expect([first, again, other].map((world) => world?.finding)).toEqual([undefined, undefined, undefined]);
    expect(first?.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(again?.hash).toBe(first?.hash);
    expect(other?.hash).not.toBe(first?.hash);
  }, 300_000);

  test('breaks no invariant, from a seed that nobody has tried', async () => {
    const seed = randomInt(2 ** 32);
    console.log(`fresh seed: ${commandOf({ ...BUSY, seed })}`);
    const [world] = await simulate([seed]);
    expect(world?.finding, `${world?.printed}`).toBeUndefined();
  }, 300_000);
});
