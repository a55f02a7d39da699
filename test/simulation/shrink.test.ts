import { describe, expect, test } from 'vitest';
import { Shrinker } from './shrink.ts';
import type { Finding, ShownPlan } from './world-plan.ts';

const PARTS = ['fault-1', 'fault-2', 'fault-3', 'owner-hub-0', 'honest-0-hub-0', 'owner-hub-1', 'rules-hub-1'];
const WORLD: ShownPlan = { seed: 7, hubs: 3, hours: 4, pace: 1, faults: 1 };

/** Shrinks a world in which an invariant breaks where `breaksIn` says so. */
async function shrink(breaksIn: (plan: ShownPlan) => Partial<Finding> | undefined) {
  const tried: ShownPlan[] = [];
  const findingIn = (plan: ShownPlan): Finding | undefined => {
    const broken = breaksIn(plan);
    return broken && { invariant: 'nothing happens late', problem: '', hours: 3, parts: plan.only ?? PARTS, ...broken };
  };
  const simulate = async (plan: ShownPlan) => {
    tried.push(plan);
    const finding = findingIn(plan);
    return { seconds: 1, ...(finding && { finding }) };
  };
  const finding = findingIn(WORLD);
  if (!finding) throw new Error('Nothing breaks in the world that is to be shrunk');
  const { plan } = await new Shrinker({ simulate, onSmaller: () => {} }).shrink({ plan: WORLD, finding, seconds: 1 });
  return { plan, tried };
}

describe('the shrinking of a world', () => {
  test('ends the world soon after the invariant broke', async () => {
    const { plan } = await shrink(({ hours, hubs }) => (hours > 3 && hubs === 3 ? {} : undefined));
    expect(plan.hours).toBeGreaterThan(3);
    expect(plan.hours).toBeLessThan(3.001);
  });

  test('leaves out all that is not needed', async () => {
    const { plan } = await shrink(({ only = PARTS }) => (only.includes('fault-2') && only.includes('owner-hub-1') ? {} : undefined));
    expect(plan.only).toEqual(['fault-2', 'owner-hub-1']);
  });

  test('takes fewer hubs, with another seed if nothing breaks with the first one', async () => {
    const { plan } = await shrink(({ hubs, seed }) => (hubs === 3 || (hubs === 2 && seed === 9) ? {} : undefined));
    expect(plan).toMatchObject({ hubs: 2, seed: 9 });
  });

  test('takes no smaller world in which another invariant breaks', async () => {
    const { plan } = await shrink(({ hubs, hours }) => (hubs === 3 && hours > 3 ? {} : { invariant: 'rules hold' }));
    expect(plan).toMatchObject({ hubs: 3 });
    expect(plan.hours).toBeGreaterThan(3);
  });

  test('halves the time of a world that breaks only after its end', async () => {
    const { plan } = await shrink(({ hours, hubs }) => (hours >= 1 && hubs === 3 ? { hours: hours + 0.25 } : undefined));
    expect(plan.hours).toBe(1);
  });
});
