import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const LIMIT_MS = 60_000;

/** Runs a program to its end and answers what it printed; rejects with what it complained about. */
export async function runTool(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { stdout } = await execute(command, args, { env, timeout: LIMIT_MS, maxBuffer: 16 * 1024 * 1024 });
  return stdout;
}

/** Runs lines of ip(8) in a network namespace, in one process, until one fails; rejects with what that one complained about. */
export async function runIp(namespace: string, lines: readonly string[]): Promise<void> {
  const running = execute('ip', ['-n', namespace, '-batch', '-'], { timeout: LIMIT_MS });
  running.child.stdin?.end(lines.map((line) => `${line}\n`).join(''));
  await running;
}

/** Program and arguments that run `command` in a named network namespace. */
export function inNamespace(namespace: string, command: readonly string[]): readonly [string, ...string[]] {
  return ['nsenter', `--net=/run/netns/${namespace}`, '--', ...command];
}
