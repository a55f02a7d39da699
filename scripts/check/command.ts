import { spawn } from 'node:child_process';

export interface Finished {
  readonly status: number;
  /** Standard output and error in the order in which they came. */
  readonly output: string;
}

/** Runs a program in the repository's root and keeps what it says. */
export function capture(command: string, args: readonly string[]): Promise<Finished> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  const { promise, resolve } = Promise.withResolvers<Finished>();
  child.once('error', (error) => resolve({ status: 127, output: error.message }));
  child.once('close', (code) => resolve({ status: code ?? 1, output: Buffer.concat(chunks).toString() }));
  return promise;
}
