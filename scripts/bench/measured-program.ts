import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { AtmoError } from '../../src/core/errors.ts';
import { cpuSeconds, rssMegabytes } from './process-figures.ts';

/** The flags of the installed service; every measured program runs with them. */
const NODE_FLAGS = ['--max-semi-space-size=2'];
/** Beyond what a start takes on a machine that others load. */
const READY_LIMIT_MS = 120_000;
const KILL_AFTER_MS = 15_000;

interface ProgramOptions {
  /** Bundle and its arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where its standard error goes. */
  readonly logFile: string;
}

/** A program under measurement that says `READY http://…` once it answers. */
export class MeasuredProgram implements AsyncDisposable {
  readonly #child: ChildProcess;
  /** `performance.now()` at its start. */
  readonly startedMs: number;
  readonly url: string;

  private constructor(child: ChildProcess, startedMs: number, url: string) {
    this.#child = child;
    this.startedMs = startedMs;
    this.url = url;
  }

  /** Answers when the program is ready; INTERNAL_ERROR names its log when it ends before. */
  static async start({ command, env, logFile }: ProgramOptions): Promise<MeasuredProgram> {
    const startedMs = performance.now();
    const child = spawn(process.execPath, [...NODE_FLAGS, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    });
    child.stderr.pipe(createWriteStream(logFile, { flags: 'a' }));
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const fail = (why: string) => reject(new AtmoError('INTERNAL_ERROR', `${command.join(' ')} ${why}; see ${logFile}`));
    const timer = setTimeout(() => fail('was not ready in time'), READY_LIMIT_MS);
    child.once('exit', (code) => fail(`ended with ${code}`));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const url = /READY.*?(https?:\/\/[^\s"]+)/.exec(line)?.[1];
      if (url) resolve(url);
    });
    try {
      return new MeasuredProgram(child, startedMs, await promise);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Memory that the kernel holds for it, in MB. */
  get rssMegabytes(): number {
    return rssMegabytes(this.pid);
  }

  /** Processor time it has used, in seconds. */
  get cpuSeconds(): number {
    return cpuSeconds(this.pid);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endChild(this.#child);
  }
}

/** Ends a process, by force if it does not end itself within 15 s. Does nothing if it has ended already. */
export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  await ended;
  clearTimeout(timer);
}
