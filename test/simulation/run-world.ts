import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { BrokenInvariant } from './broken-invariant.ts';
import { World, type WorldFigures, type WorldPlan } from './world.ts';
import { commandOf, findingText } from './world-plan.ts';

const MEMORY = '/dev/shm';
/**
 * The folder of a world by a name that is the same in every process, since errors of a hub name their file, and answers are hashed: the
 * current folder (proc_pid_cwd(5)).
 */
const CURRENT = '/proc/self/cwd';
const SHOWN_LINES = 200;

type Plan = Omit<WorldPlan, 'folder'>;

/** Runs a world, and prints its figures or what was broken. Returns the exit code of the program. */
export async function runWorld({ traceFile, ...plan }: Plan): Promise<number> {
  const trace = traceFile === undefined ? {} : { traceFile: resolve(traceFile) };
  const folder = newFolder();
  process.chdir(folder);
  const world = new World({ ...plan, ...trace, folder: CURRENT });
  const startMs = cpuMs();
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.on('uncaughtException', (error) => {
    printBroken(crashed(error), world, plan);
    process.exit(1);
  });
  try {
    printFigures(await world.run(), plan, cpuMs() - startMs);
    return 0;
  } catch (error) {
    printBroken(error instanceof BrokenInvariant ? error : crashed(error), world, plan);
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

function printFigures(figures: WorldFigures, { seed, hubs, hours }: Plan, ms: number): void {
  const { hash, events, attempts, effects, outcomes, pipelineCalls } = figures;
  const ends = Object.entries(outcomes).toSorted(([, a], [, b]) => b - a);
  const callers = Object.entries(pipelineCalls);
  const all = callers.reduce((sum, [, count]) => sum + count, 0);
  console.log(`seed ${seed}: ${hubs} hubs for ${hours} h, ${events} events, ${attempts} calls of agents, ${effects} effects`);
  console.log(`calls through the pipelines of the hubs: ${all} (${callers.map(([who, count]) => `${who} ${count}`).join(', ')})`);
  console.log(`answers: ${ends.map(([code, count]) => `${code} ${count}`).join(', ')}`);
  console.log(`${Math.round(ms)} ms of processor time, ${Math.round((hubs * hours * 60_000) / ms)} simulated hub-hours a minute`);
  console.log(`hash ${hash}`);
}

/** A world always ends, so any other error is one of the program under test or of the simulation. */
function crashed(error: unknown): BrokenInvariant {
  return new BrokenInvariant('nothing ends with an error of its own', error instanceof Error ? `${error.stack}` : String(error), []);
}

function printBroken({ invariant, problem, concerns }: BrokenInvariant, world: World, plan: Plan): void {
  const { queue, parts, trace } = world;
  console.log(findingText({ invariant, problem, hours: queue.nowMs / 3_600_000, parts: [...parts] }));
  for (const line of trace.concerning(concerns, SHOWN_LINES)) console.log(`  ${line}`);
  console.log(`replay: ${commandOf(plan)} --trace .run/simulation/seed-${plan.seed}.trace`);
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
