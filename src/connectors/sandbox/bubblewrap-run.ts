import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { AtmoError } from '../../core/errors.ts';
import type { ProgramResult } from '../../tools/programs/program-sandbox.ts';
import { BoundedOutput } from './bounded-output.ts';
import { childrenOf, useOfTree } from './process-tree.ts';
import { seccompFilter } from './seccomp-filter.ts';

/** A command in a sandbox, ready to be started. */
export interface BubblewrapRun {
  /** Path of bwrap. */
  readonly bubblewrap: string;
  readonly options: readonly string[];
  readonly command: readonly string[];
  /** Whether it shares the network of the machine. */
  readonly hasNetwork: boolean;
  readonly stdin?: string;
  readonly bounds: RunBounds;
  readonly signal: AbortSignal;
}

/** Bounds of all processes together. */
export interface RunBounds {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly outputBytes: number;
}

const WATCH_EVERY_MS = 25;
/** The hub, which watches, comes first when there is little processor for many. */
const NICE = 15;
/** The same for memory: what the kernel ends when there is none left (proc(5), oom_score_adj). */
const FIRST_TO_END = 1000;
const BYTES_PER_MB = 1_048_576;
/** Longest report of bubblewrap about what it started. */
const MAX_REPORT = 4096;
const NO_FILTER = Buffer.alloc(0);

/**
 * Starts it and waits for its end. Whatever becomes of it, nothing of it lives on: its processes are in a namespace whose first
 * process is killed. Errors: RESOURCE_EXCEEDED, NOT_CONFIGURED where bubblewrap cannot be started, VALIDATION_ERROR for a text that
 * no program can be given, else what the signal aborts with.
 */
export async function runBubblewrap(run: BubblewrapRun): Promise<ProgramResult> {
  run.signal.throwIfAborted();
  requireWhole([...run.options, ...run.command]);
  const child = start(run);
  const end = Promise.withResolvers<number>();
  let reason: unknown;
  const stop = (why: unknown) => {
    reason ??= why;
    kill(child);
  };
  const onAbort = () => stop(run.signal.reason);
  run.signal.addEventListener('abort', onAbort, { once: true });
  const output = new BoundedOutput(run.bounds.outputBytes, () => stop(beyondOutput(run.bounds)));
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => output.collect(stream as Readable));
  const unwatch = watch(child, run.bounds, stop);
  child.once('error', (error) => end.reject(notStarted(error)));
  child.once('close', (code) => end.resolve(code ?? 0));
  try {
    const exitCode = await end.promise;
    if (reason !== undefined) throw reason;
    return { exitCode, stdout: stdout?.() ?? '', stderr: stderr?.() ?? '' };
  } finally {
    unwatch();
    run.signal.removeEventListener('abort', onAbort);
  }
}

/** NUL is what separates options: behind it another one would begin, such as one that shows the whole machine. */
function requireWhole(texts: readonly string[]): void {
  const broken = texts.find((text) => text.includes('\0'));
  if (broken === undefined) return;
  throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(broken.slice(0, 100))} holds a NUL character, which no program can be given`);
}

/** Options go through a pipe: everybody on the machine can read a command line. */
function start({ bubblewrap, options, command, hasNetwork, stdin }: BubblewrapRun): ChildProcess {
  const filter = seccompFilter(hasNetwork);
  const seccomp = filter ? ['--seccomp', '5'] : [];
  const child = spawn(bubblewrap, ['--args', '3', '--json-status-fd', '4', ...seccomp, '--', ...command], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    env: {},
    cwd: '/',
  });
  yieldToHub(child.pid);
  const feeds: readonly [number, string | Buffer][] = [
    [0, stdin ?? ''],
    [3, options.map((option) => `${option}\0`).join('')],
    [5, filter ?? NO_FILTER],
  ];
  for (const [fd, content] of feeds) {
    const pipe = child.stdio[fd] as Writable | null;
    // A program need not read what it is given.
    pipe?.on('error', () => {});
    pipe?.end(content);
  }
  return child;
}

/** bubblewrap waits for its options meanwhile, and what it starts has the same rank. A unit may forbid it. */
function yieldToHub(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(FIRST_TO_END));
    setPriority(pid, NICE);
  } catch {
    // It works without, only slower to stop.
  }
}

/**
 * The first process inside asks to end with bubblewrap (PR_SET_PDEATHSIG) only when it has laid out its view, and would never hear
 * that bubblewrap ended before: it is ended by itself, and with it all of its namespace (pid_namespaces(7)).
 */
function kill(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const before = childrenOf(pid);
  child.kill('SIGKILL');
  // It may have made it just then.
  for (const first of new Set([...before, ...childrenOf(pid)])) {
    try {
      process.kill(first, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Looks at what the processes inside take; answers what ends the watch. */
function watch(child: ChildProcess, bounds: RunBounds, stop: (why: unknown) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  void firstProcess(child).then((root) => {
    if (root === undefined || isOver) return;
    timer = setInterval(() => {
      const { processes, memoryBytes } = useOfTree(root, bounds.processes + 2);
      if (processes > bounds.processes + 2) stop(beyondProcesses(bounds));
      else if (memoryBytes > bounds.memoryBytes) stop(beyondMemory(bounds));
    }, WATCH_EVERY_MS);
  });
  return () => {
    isOver = true;
    clearInterval(timer);
  };
}

/** Number, outside of the sandbox, of the process that is the first one inside (bwrap(1), json-status-fd). */
async function firstProcess(child: ChildProcess): Promise<number | undefined> {
  let report = '';
  const stream = child.stdio[4] as Readable;
  return new Promise((resolve) => {
    stream.on('data', (part: Buffer) => {
      if (report.length < MAX_REPORT) report += part.toString('utf8');
      const found = /"child-pid": (\d+)/.exec(report)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    stream.once('close', () => resolve(undefined));
    stream.on('error', () => resolve(undefined));
  });
}

function beyondMemory({ memoryBytes }: RunBounds): AtmoError {
  const told = `The program took more than ${Math.round(memoryBytes / BYTES_PER_MB)} MB of memory and was ended`;
  return new AtmoError('RESOURCE_EXCEEDED', told, { max_memory_bytes: memoryBytes, permanent: true });
}

function beyondProcesses({ processes }: RunBounds): AtmoError {
  return new AtmoError('RESOURCE_EXCEEDED', `The program started more than ${processes} processes and was ended`, {
    max_processes: processes,
    permanent: true,
  });
}

function beyondOutput({ outputBytes }: RunBounds): AtmoError {
  return new AtmoError('RESOURCE_EXCEEDED', `The program printed more than ${outputBytes} bytes and was ended`, {
    max_output_bytes: outputBytes,
    permanent: true,
  });
}

function notStarted({ message }: Error): AtmoError {
  return new AtmoError('NOT_CONFIGURED', `bubblewrap cannot be started: ${message}`);
}
