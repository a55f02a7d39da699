import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { availableParallelism, constants, setPriority } from 'node:os';
import { runChild } from './child-world.ts';
import { shrinkWorld } from './shrink.ts';
import { commandOf, type ShownPlan } from './world-plan.ts';

const LARGEST_SEED = 2 ** 32;
/** A program that does nothing but keep a processor busy while every second world is simulated. It ends with this program. */
const BUSY_CODE = 'const { ppid } = process; while (process.ppid === ppid) for (let count = 0; count < 1e6; count++) Math.random();';

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
    await shrinkWorld(plan, `${folder}broken-${plan.seed}.trace`);
    if (!goesOn) return 1;
  }
}

/**
 * Simulates a world so many times, half of them on a busy machine, and compares the hashes. Returns the exit code, which is 1 also where the
 * same breaks each time.
 */
export async function proveReplays(plan: ShownPlan, times: number): Promise<number> {
  const ends = new Map<string, number>();
  let isBroken = false;
  for (let time = 0; time < times; time++) {
    const { hash, finding } = await replay(plan, time % 2 === 1);
    isBroken ||= finding !== undefined;
    const end = hash ?? `broken: ${finding?.invariant}: ${finding?.problem}`;
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  for (const [end, count] of ends) console.log(`${count} of ${times} times ${end}: ${commandOf(plan)}`);
  return ends.size === 1 && !isBroken ? 0 : 1;
}

async function replay(plan: ShownPlan, isBusy: boolean): ReturnType<typeof runChild> {
  const busy: readonly ChildProcess[] = isBusy
    ? Array.from({ length: availableParallelism() }, () => spawn(process.execPath, ['-e', BUSY_CODE]))
    : [];
  try {
    return await runChild({ plan });
  } finally {
    for (const program of busy) program.kill();
  }
}
