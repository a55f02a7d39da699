import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BrokenInvariant } from './broken-invariant.ts';
import { World, type WorldFigures, type WorldPlan } from './world.ts';

const MEMORY = '/dev/shm';
const SHOWN_LINES = 200;

/** Runs a world, and prints its figures or what was broken. Returns the exit code of the program. */
export async function runWorld(plan: Omit<WorldPlan, 'folder'>): Promise<number> {
  const world = new World({ ...plan, folder: newFolder() });
  const startMs = cpuMs();
  try {
    printFigures(await world.run(), plan, cpuMs() - startMs);
    return 0;
  } catch (error) {
    if (!(error instanceof BrokenInvariant)) throw error;
    printBroken(error, world, plan);
    return 1;
  }
}

function newFolder(): string {
  try {
    return mkdtempSync(join(MEMORY, 'atmo-world-'));
  } catch {
    return mkdtempSync(join(tmpdir(), 'atmo-world-'));
  }
}

function printFigures(
  { hash, events, attempts, effects, outcomes }: WorldFigures,
  { seed, hubs, hours }: Omit<WorldPlan, 'folder'>,
  ms: number,
): void {
  const ends = Object.entries(outcomes).toSorted(([, a], [, b]) => b - a);
  console.log(`seed ${seed}: ${hubs} hubs for ${hours} h, ${events} events, ${attempts} calls, ${effects} effects`);
  console.log(`answers: ${ends.map(([code, count]) => `${code} ${count}`).join(', ')}`);
  console.log(`${Math.round(ms)} ms of processor time, ${Math.round((hubs * hours * 60_000) / ms)} simulated hub-hours a minute`);
  console.log(`hash ${hash}`);
}

function printBroken({ message, concerns }: BrokenInvariant, world: World, { seed, hubs, hours }: Omit<WorldPlan, 'folder'>): void {
  console.log(`BROKEN with seed ${seed}: ${message}`);
  for (const line of world.trace.concerning(concerns, SHOWN_LINES)) console.log(`  ${line}`);
  console.log(`replay: scripts/simulate --seed ${seed} --hubs ${hubs} --hours ${hours} --trace /tmp/trace`);
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
