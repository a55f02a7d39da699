import { type ChildProcess, spawn } from 'node:child_process';
import { runChild } from './child-world.ts';
import { commandOf, type ShownPlan } from './world-plan.ts';

/** Programs that do nothing but keep the machine busy while every second world is simulated. They end with this program. */
const BUSY_PROGRAMS = 2;
const BUSY_CODE = 'const { ppid } = process; while (process.ppid === ppid) for (let count = 0; count < 1e6; count++) Math.random();';

/** Simulates a world so many times, half of them on a busy machine, and compares the hashes. Returns the exit code. */
export async function proveReplays(plan: ShownPlan, times: number): Promise<number> {
  const hashes = new Map<string, number>();
  for (let time = 0; time < times; time++) {
    const hash = await hashOf(plan, time % 2 === 1);
    hashes.set(hash, (hashes.get(hash) ?? 0) + 1);
  }
  for (const [hash, count] of hashes) console.log(`${count} of ${times} times ${hash}: ${commandOf(plan)}`);
  return hashes.size === 1 ? 0 : 1;
}

async function hashOf(plan: ShownPlan, isBusy: boolean): Promise<string> {
  const busy: readonly ChildProcess[] = isBusy
    ? Array.from({ length: BUSY_PROGRAMS }, () => spawn(process.execPath, ['-e', BUSY_CODE]))
    : [];
  try {
    const { hash, finding } = await runChild({ plan });
    return hash ?? `broken: ${finding?.problem}`;
  } finally {
    for (const program of busy) program.kill();
  }
}
