import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, repeat } from './clock.ts';
import type { Service } from './lifecycle.ts';

/**
 * Problems of the hub itself, one line for each subject. `/healthz`, `atmo doctor` and the page show the lines to everyone. Therefore a
 * line names files and the remedy, but never devices, people or secrets.
 */
export class HubProblems {
  readonly #lines = new Map<string, string>();

  /** Adds a problem and replaces an earlier problem with the same subject. */
  raise(subject: string, line: string): void {
    this.#lines.set(subject, line);
  }

  clear(subject: string): void {
    this.#lines.delete(subject);
  }

  list(): readonly string[] {
    return [...this.#lines.values()];
  }

  /** Returns the line of a subject; undefined if the subject has no problem. */
  about(subject: string): string | undefined {
    return this.#lines.get(subject);
  }
}

/** Subject of HubProblems while no backup protects the hub as its schedule says. */
export const BACKUP_OVERDUE = 'backup.overdue';

const BEAT_MS = 1_000;
/** Milliseconds by which a busy machine can delay a timer. */
const SLACK_MS = 500;

/**
 * Detects stalls. In a stall, the process does not run, because it was stopped, swapped out or blocked by a slow disk. A message that
 * arrives right after a stall may have waited in the kernel for the whole stall.
 */
export class StallDetector implements Service {
  readonly #clock: Clock;
  #stop = () => {};
  #beatMs: number | undefined;
  /** Length in milliseconds of the stall that the last timer detected; 0 if the timer was on time. */
  #stallMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async start(): Promise<void> {
    this.#beatMs = this.#clock.monotonic();
    this.#stop = repeat(this.#clock, BEAT_MS, () => this.#beat());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    this.#beatMs = undefined;
    this.#stallMs = 0;
  }

  /** Returns for how many milliseconds a message that arrives now may have waited in the kernel; 0 if there was no stall. */
  get waitedMs(): number {
    const sinceBeatMs = this.#sinceBeatMs();
    // Sockets are read before timers run. So the first messages after a stall arrive before the timer has detected it.
    return isLate(sinceBeatMs) || this.#stallMs > 0 ? this.#stallMs + sinceBeatMs : 0;
  }

  #beat(): void {
    const sinceBeatMs = this.#sinceBeatMs();
    this.#stallMs = isLate(sinceBeatMs) ? sinceBeatMs : 0;
    this.#beatMs = this.#clock.monotonic();
  }

  #sinceBeatMs(): number {
    const nowMs = this.#clock.monotonic();
    return nowMs - (this.#beatMs ?? nowMs);
  }
}

function isLate(sinceBeatMs: number): boolean {
  return sinceBeatMs > BEAT_MS + SLACK_MS;
}

/** Lets the event loop poll all sockets `turns` times. A closed connection needs several turns until all its effects have happened. */
export async function pollSockets(turns: number): Promise<void> {
  for (let turn = 0; turn <= turns; turn++) await nextTurn();
}

/**
 * Returns the resident memory of a process in bytes (proc_pid_status(5), VmRSS); 0 if the process has ended. Does not use statm(5), which
 * counts pages: their size is 4 KiB on most boards, but 16 KiB on a Raspberry Pi 5.
 */
export function residentBytes(pid: number | undefined): number {
  try {
    const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) * 1_024;
  } catch {
    return 0;
  }
}
