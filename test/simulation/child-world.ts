import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { argumentsOf, type Finding, findingIn, type ShownPlan } from './world-plan.ts';

const PROGRAM = new URL('simulate.ts', import.meta.url).pathname;
const COMPILED = new URL('../../.run/compile-cache', import.meta.url).pathname;
/** Clock ticks of /proc a second (proc_pid_stat(5): USER_HZ). */
const TICKS_PER_SECOND = 100;
/** The signal that ends a program at its soft limit of processor time (setrlimit(2)). */
const OUT_OF_TIME: NodeJS.Signals = 'SIGXCPU';
/** A world makes much that it forgets at once. With a larger space for that, V8 collects it a third as often, and forgets no compiled code. */
const V8_OPTIONS = ['--max-semi-space-size=64', '--min-semi-space-size=64', '--no-flush-bytecode'];
/** What does not hold where a program has ended before its world began, or with its world, as by a mistake in its sources. */
export const NOT_SIMULATED = 'a program simulates its world';

/** What a world in a process of its own came to. */
export interface Outcome {
  readonly printed: string;
  /** Seconds of processor time. */
  readonly seconds: number;
  readonly hash?: string;
  readonly finding?: Finding;
}

/** A world, and for how many seconds of processor time it is run at most. */
interface Run {
  readonly plan: ShownPlan;
  readonly traceFile?: string;
  readonly limitSeconds?: number;
}

/** Simulates a world in a process of its own. A world that takes too long is a finding too. */
export async function runChild({ plan, traceFile, limitSeconds }: Run): Promise<Outcome> {
  const more = traceFile === undefined ? [] : ['--trace', traceFile];
  const limit = limitSeconds === undefined ? '' : `ulimit -S -t ${Math.ceil(limitSeconds)}; `;
  const startSeconds = childSeconds();
  const program = [process.execPath, ...V8_OPTIONS, PROGRAM, ...argumentsOf(plan), ...more];
  const env = { ...process.env, TZ: 'UTC', NODE_COMPILE_CACHE: COMPILED };
  const child = spawn('bash', ['-c', `${limit}exec "$@"`, 'bash', ...program], { stdio: ['ignore', 'pipe', 'pipe'], env });
  const [printed, errors, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const seconds = childSeconds() - startSeconds;
  const hash = /^hash ([0-9a-f]{64})$/m.exec(printed)?.[1];
  if (code === 0 && hash !== undefined) return { printed, seconds, hash };
  return {
    printed: `${printed}${errors}`,
    seconds,
    finding: findingIn(printed) ?? { ...endOf(signal, errors), hours: plan.hours, parts: [] },
  };
}

/** How a program has ended that has printed nothing about its world. */
function endOf(signal: NodeJS.Signals | null, errors: string): Pick<Finding, 'invariant' | 'problem'> {
  if (signal === OUT_OF_TIME) return { invariant: 'a world ends', problem: 'it does not end' };
  const lines = errors.trim().split('\n');
  return { invariant: NOT_SIMULATED, problem: lines.find((line) => /^\w*Error\b/.test(line)) ?? signal ?? lines.at(-1) ?? '' };
}

/** Processor time of all children of this process that have ended, in seconds. */
function childSeconds(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The second field, the name of the program, stands in parentheses and may have blanks (proc_pid_stat(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}
