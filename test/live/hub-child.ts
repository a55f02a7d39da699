import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../src/core/json.ts';

/** A start from source takes seconds of processor time, which a machine that others load gives it in a minute. */
const READY_LIMIT_MS = 110_000;

/** A process that a test started, and what it logged. */
interface StartedChild {
  readonly name: string;
  readonly child: ChildProcess;
  readonly log: readonly string[];
}

const started: StartedChild[] = [];
const LAST_LINES = 40;

/** How each process that this file's tests started is, with the last lines of its log, for a test that failed. */
export function startedChildren(): string {
  return started.map(({ name, child, log }) => `${name} (${endOf(child)}):\n${log.slice(-LAST_LINES).join('\n')}`).join('\n\n');
}

/** Whether and how a process has ended, for people. */
export function endOf({ exitCode, signalCode }: ChildProcess): string {
  if (signalCode !== null) return `ended by ${signalCode}`;
  return exitCode === null ? 'runs' : `ended with ${exitCode}`;
}

/** Keeps what a process writes to its pipes; answers the last lines of it. */
export function lastLinesOf(child: ChildProcess): () => string {
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', (line) => lines.push(line) > LAST_LINES && lines.shift());
  }
  return () => `${endOf(child)}: ${lines.join('\n')}`;
}

/** Makes the state directory of a hub unless it is there, with its configuration file in it. */
export function writeConfig(stateDir: string, config: JsonObject): void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  writeFileSync(join(stateDir, 'config.yaml'), JSON.stringify(config), { mode: 0o600 });
}

/** The address of a hub that was just started with pipes, once it answers; what it logs goes to `log`, which is told when it ends before. */
export async function untilReady(child: ChildProcess, log: string[], name = 'the hub'): Promise<URL> {
  if (!child.stdout || !child.stderr) throw new Error('A child without pipes');
  started.push({ name, child, log });
  const { promise, resolve, reject } = Promise.withResolvers<URL>();
  const fail = (how: string) => reject(new Error(`${name} ${how}: ${log.join('\n')}`));
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  createInterface({ input: child.stdout }).on('line', (line) => {
    // What it logged before that waits in the other pipe, and is read in this turn of the event loop.
    if (line.startsWith('READY ')) setImmediate(() => resolve(new URL(line.slice('READY '.length))));
  });
  child.once('exit', () => fail(endOf(child)));
  const timer = setTimeout(() => fail('was not ready in time'), READY_LIMIT_MS);
  return promise.finally(() => clearTimeout(timer));
}

/** Whether a process is over, by itself or by a signal. */
export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Ends a process unless it has ended; answers its exit code. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (hasEnded(child)) return child.exitCode;
  const ended = once(child, 'exit');
  child.kill(signal);
  const [code] = (await ended) as [number | null];
  return code;
}
