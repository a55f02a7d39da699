import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Finding, RunReport } from './fuzz-run.ts';
import type { WorkerMessage, WorkerOrder } from './fuzz-worker.ts';
import { SharedInput } from './shared-input.ts';

/** Milliseconds of the processor after which one input counts as endless. */
const ENDLESS_MS = 5_000;
/** Milliseconds by the wall after which one input counts as never answered. */
const UNANSWERED_MS = 60_000;
const LOOK_MS = 500;
/** MiB of memory that the parsers may hold. */
const MAX_HEAP_MIB = 512;
const WORKER = new URL('fuzz-worker.ts', import.meta.url);

type Order = Omit<WorkerOrder, 'shared'>;

/** Where a thread is. */
interface Progress {
  readonly worker: Worker;
  readonly current: SharedInput;
  target: string;
  readonly done: string[];
}

/** Prints what became of a target, and how each finding is seen again. */
function print({ target, executions, edges, findings }: Omit<RunReport, 'inputs'>): number {
  console.log(
    `${target.padEnd(22)} ${String(executions).padStart(9)} executions ${String(edges).padStart(6)} edges ${findings.length} findings`,
  );
  for (const { problem, input } of findings) {
    const text = Buffer.from(input).toString('base64');
    console.log(`  FINDING ${problem}\n  replay: ./scripts/fuzz --target ${target} --input ${text || "''"}\n`);
  }
  return findings.length;
}

/** Runs the targets in a thread. Returns the number of findings, and the target whose parser did not end or took all memory. */
async function runInThread(
  order: Order,
): Promise<{ readonly findings: number; readonly done: readonly string[]; readonly stuck?: string }> {
  const shared = new SharedArrayBuffer(SharedInput.BYTES);
  const worker = new Worker(WORKER, { workerData: { ...order, shared }, resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB } });
  const progress: Progress = { worker, current: new SharedInput(shared), target: '', done: [] };
  let findings = 0;
  worker.on('message', (message: WorkerMessage) => {
    if (message.kind === 'begins') progress.target = message.target;
    else {
      findings += print(message.report);
      progress.done.push(message.report.target);
      progress.target = '';
    }
  });
  const problem = await Promise.race([ended(worker), endless(progress)]);
  await worker.terminate();
  if (problem === undefined) return { findings, done: progress.done };
  if (progress.target === '') throw new Error(problem);
  const finding: Finding = { target: progress.target, key: problem, problem, input: progress.current.get() };
  print({ target: progress.target, executions: progress.current.count, edges: 0, findings: [finding] });
  return { findings: findings + 1, done: progress.done, stuck: progress.target };
}

/** Resolves when the thread ends: with nothing, or with the error that ended it. */
function ended(worker: Worker): Promise<string | undefined> {
  return new Promise((resolve) => {
    worker.once('error', (error) => resolve(error instanceof Error ? (error.stack ?? error.message) : String(error)));
    worker.once('exit', () => resolve(undefined));
  });
}

/** Resolves when a parser works at one input for longer than any should. Time that others have the processor does not count. */
async function endless({ worker, current }: Progress): Promise<string> {
  let count = -1;
  let sinceMs = 0;
  let beganMs = 0;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS).unref());
    const nowMs = await processorMs(worker);
    if (current.count !== count) [count, sinceMs, beganMs] = [current.count, nowMs, performance.now()];
    else if (count > 0 && performance.now() - beganMs > UNANSWERED_MS) return `is not answered within ${UNANSWERED_MS} ms`;
    else if (count > 0 && nowMs - sinceMs > ENDLESS_MS) return `does not end within ${ENDLESS_MS} ms of the processor`;
  }
}

/** Milliseconds that the processor worked for a thread; 0 after its end. */
async function processorMs(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }));
  return (user + system) / 1_000;
}

/** Runs all targets of an order, in a new thread after one that did not end. Returns the number of findings. */
async function fuzz(order: Order, all: readonly string[]): Promise<number> {
  let left = order.names.length === 0 ? all : order.names;
  let findings = 0;
  while (left.length > 0) {
    const result = await runInThread({ ...order, names: left });
    findings += result.findings;
    if (result.stuck === undefined) return findings;
    left = left.filter((name) => name !== result.stuck && !result.done.includes(name));
  }
  return findings;
}

const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true, default: [] },
    seconds: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    input: { type: 'string' },
    keep: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
});
const { TARGETS } = await import('./all-targets.ts');
const names = TARGETS.map(({ name }) => name);
const unknown = values.target.find((name) => !names.includes(name));
if (unknown !== undefined) throw new Error(`There is no target ${unknown}; there are ${names.join(', ')}`);
if (values.list) for (const { name, source } of TARGETS) console.log(`${name.padEnd(22)} src/${source}`);
else {
  console.log(`seed ${values.seed}, ${values.seconds} s of the processor for each target`);
  const input = values.input === undefined ? {} : { input: Uint8Array.from(Buffer.from(values.input, 'base64')) };
  const order = { names: values.target, seconds: Number(values.seconds), seed: Number(values.seed), isKeeping: values.keep, ...input };
  const findings = await fuzz(order, names);
  console.log(`${findings} findings`);
  process.exitCode = findings > 0 ? 1 : 0;
}
