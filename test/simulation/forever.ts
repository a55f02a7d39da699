import { randomInt } from 'node:crypto';
import { constants, setPriority } from 'node:os';
import { runChild } from './child-world.ts';
import { shrinkWorld } from './shrink.ts';
import { commandOf, type ShownPlan } from './world-plan.ts';

const LARGEST_SEED = 2 ** 32;

interface SearchOptions {
  /** Folder for traces of what breaks, with a slash at its end. */
  readonly folder: string;
  /** Whether it goes on after something has broken. */
  readonly goesOn: boolean;
}

/** Simulates fresh seeds at the lowest priority until an invariant breaks, and shrinks that world. Returns the exit code. */
export async function searchForever(shape: ShownPlan, { folder, goesOn }: SearchOptions): Promise<number> {
  setPriority(constants.priority.PRIORITY_LOW);
  for (let worlds = 1; ; worlds++) {
    const plan = { ...shape, seed: randomInt(LARGEST_SEED) };
    const { finding, seconds } = await runChild({ plan });
    console.log(`${worlds}: ${commandOf(plan)}: ${finding ? 'BROKEN' : 'well'}, ${seconds.toFixed(0)} s`);
    if (!finding) continue;
    await shrinkWorld({ plan }, `${folder}broken-${plan.seed}.trace`);
    if (!goesOn) return 1;
  }
}
