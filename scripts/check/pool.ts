import { availableParallelism, cpus, freemem } from 'node:os';

/** How often a machine that is at its capacity is asked again. */
const ASK_MS = 2000;
/** Share of the processors that has to be idle, and memory that has to be free, before something more begins. */
const IDLE_SHARE = 0.25;
const FREE_BYTES = 2 * 1024 ** 3;
/** So many run on one core however busy it is, since others may keep it busy, and at most. Many wait most of the time, but each takes memory. */
const [LEAST_A_CORE, MOST_A_CORE] = [2, 8];

/** How many may run at a time, and whether one more can start now beside so many that run; one that runs alone always can. */
export interface Capacity {
  readonly maxRunning: number;
  canStart(running: number): boolean;
}

/** Runs the jobs, which start in their order. One runs whatever the capacity. */
export async function inPool<Result>(
  { maxRunning, canStart }: Capacity,
  jobs: readonly (() => Promise<Result>)[],
): Promise<readonly Result[]> {
  const waiting = [...jobs];
  const running = new Set<Promise<void>>();
  const results: Result[] = [];
  const begin = (job: () => Promise<Result>): void => {
    const ended = job().then((result) => {
      results.push(result);
      running.delete(ended);
    });
    running.add(ended);
  };
  while (waiting.length > 0 || running.size > 0) {
    const isFull = waiting.length === 0 || running.size >= maxRunning;
    if (running.size === 0 || (!isFull && canStart(running.size))) for (const job of waiting.splice(0, 1)) begin(job);
    else if (isFull) await Promise.race(running);
    else await Promise.race([...running, new Promise((resolve) => setTimeout(resolve, ASK_MS))]);
  }
  return results;
}

/** So many at a time. */
export function fixedCapacity(maxRunning: number): Capacity {
  return { maxRunning, canStart: () => true };
}

/** What is asked of a machine: milliseconds of all processors since it began, and bytes of memory that programs may still take. */
export interface Machine {
  readonly cores: number;
  times(): { readonly idle: number; readonly all: number };
  freeBytes(): number;
}

/** A few, and beyond them as many as keep the processors busy, judged by what they did since one last asked, at least `ASK_MS` ago. */
export function capacityOf(machine: Machine = THIS_MACHINE): Capacity {
  let [before, askedMs] = [machine.times(), performance.now()];
  const canStart = (running: number): boolean => {
    if (running < LEAST_A_CORE * machine.cores) return true;
    if (performance.now() - askedMs < ASK_MS) return false;
    const now = machine.times();
    const idleShare = (now.idle - before.idle) / (now.all - before.all);
    [before, askedMs] = [now, performance.now()];
    return idleShare >= IDLE_SHARE && machine.freeBytes() >= FREE_BYTES;
  };
  return { maxRunning: MOST_A_CORE * machine.cores, canStart };
}

const THIS_MACHINE: Machine = {
  cores: availableParallelism(),
  times: () => {
    const times = cpus().map((cpu) => cpu.times);
    const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
    return { idle: sumOf(times.map(({ idle }) => idle)), all: sumOf(times.flatMap((each) => Object.values(each))) };
  },
  freeBytes: freemem,
};
