import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { seededRandom } from '../seeded-random.ts';
import { countBranches, literalsOf } from './edge-hooks.ts';
import type { Finding, RunReport } from './fuzz-run.ts';
import { SharedInput } from './shared-input.ts';
import type { Target } from './target.ts';

/** What the thread is started for. */
export interface WorkerOrder {
  /** Names of the targets; none for all. */
  readonly names: readonly string[];
  /** Time of the processor for each target. */
  readonly seconds: number;
  readonly seed: number;
  readonly isKeeping: boolean;
  /** Runs this one input of the first target, and nothing else. */
  readonly input?: Uint8Array;
  /** Where the thread writes what it works at: see `SharedInput`. */
  readonly shared: SharedArrayBuffer;
}

/** What the thread says. */
export type WorkerMessage =
  | { readonly kind: 'begins'; readonly target: string }
  | { readonly kind: 'report'; readonly report: Omit<RunReport, 'inputs'> };

/** Milliseconds of the processor that one input may take on a desk; the counting of branches makes it about twice as slow. */
const MAX_PROCESSOR_MS = 250;
/** Milliseconds that a desk needs for the work of `slowness`. */
const DESK_MS = 25;

/** Returns how many times slower than a desk this machine is: boards are, and processors that others share. */
function slowness(): number {
  const before = process.threadCpuUsage();
  const hash = createHash('sha256');
  for (let round = 0; round < 40_000; round++) hash.update(`${round}`);
  hash.digest();
  return Math.max(1, processorMs(before) / DESK_MS);
}

/** Milliseconds that the processor worked for this thread since then. */
function processorMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1_000;
}

/** Bytes that the memory may grow during a run beyond its inputs. */
const MAX_GROWTH_BYTES = 48 * 1_048_576;

async function work({ names, seconds, seed, isKeeping, input, shared }: WorkerOrder): Promise<void> {
  countBranches();
  const { TARGETS } = await import('./all-targets.ts');
  const { FuzzRun } = await import('./fuzz-run.ts');
  const { keepInputs, keptInputs } = await import('./corpus.ts');
  const current = new SharedInput(shared);
  const collect = garbageCollector();
  const maxProcessorMs = MAX_PROCESSOR_MS * slowness();
  for (const target of TARGETS.filter(({ name }) => names.length === 0 || names.includes(name))) {
    parentPort?.postMessage({ kind: 'begins', target: target.name } satisfies WorkerMessage);
    const startUsage = process.threadCpuUsage();
    const corpus = input ? [input] : keptInputs(target);
    const run = new FuzzRun(target, {
      random: seededRandom(seed),
      words: literalsOf.get(new URL(`../../src/${target.source}`, import.meta.url).href) ?? [],
      corpus,
      maxProcessorMs,
      isOver: () => input !== undefined || processorMs(startUsage) > seconds * 1_000,
      begin: (next) => current.set(next),
    });
    await collect();
    const before = getHeapStatistics();
    const { inputs, ...report } = await run.run();
    await collect();
    const grownBytes = heldBytes(getHeapStatistics()) - heldBytes(before) - inputs.reduce((sum, one) => sum + one.length, 0);
    const findings = grownBytes > MAX_GROWTH_BYTES ? [...report.findings, growthOf(target, grownBytes)] : report.findings;
    if (isKeeping) await keepInputs(target, inputs);
    parentPort?.postMessage({ kind: 'report', report: { ...report, findings } } satisfies WorkerMessage);
  }
}

const heldBytes = ({ used_heap_size: heap, external_memory: external }: ReturnType<typeof getHeapStatistics>): number => heap + external;

function growthOf({ name }: Target, bytes: number): Finding {
  const problem = `keeps ${Math.round(bytes / 1_048_576)} MiB of memory after its inputs`;
  return { target: name, key: 'memory', problem, input: new Uint8Array() };
}

/** Returns what frees all that nothing refers to. The memory of buffers is freed only in a turn after the collection that finds them. */
function garbageCollector(): () => Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return async () => {
    for (let round = 0; round < 3; round++) {
      collect();
      await nextTurn();
    }
  };
}

await work(workerData as WorkerOrder);
