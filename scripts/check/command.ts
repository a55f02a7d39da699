import { spawn } from 'node:child_process';

export interface Finished {
  readonly status: number;
  /** Standard output and error in the order in which they came. */
  readonly output: string;
}

/** Longer than any check takes on a busy machine; what still runs then hangs. */
const LIMIT_MS = 20 * 60_000;

/** Runs a program in the repository's root and keeps what it says; one that hangs is killed, which its last line says, and counts as failed. */
export function capture(command: string, args: readonly string[], limitMs = LIMIT_MS): Promise<Finished> {
  const startMs = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: limitMs, killSignal: 'SIGKILL' });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  const { promise, resolve } = Promise.withResolvers<Finished>();
  child.once('error', (error) => resolve({ status: 127, output: error.message }));
  child.once('close', (code, signal) => {
    const output = Buffer.concat(chunks).toString();
    const seconds = Math.round((performance.now() - startMs) / 1000);
    resolve(signal ? { status: 1, output: `${output}\nended by ${signal} after ${seconds} s` } : { status: code ?? 1, output });
  });
  return promise;
}
