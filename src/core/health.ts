import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, repeat } from './clock.ts';
import type { Service } from './lifecycle.ts';

/**
 * What is wrong with the hub itself, one line for each subject: `/healthz`, `atmo doctor` and the page show it. Everyone may read
 * it, so a line names files and what to do, and never devices, people or secrets.
 */
export class HubProblems {
  readonly #lines = new Map<string, string>();

  /** Replaces what was said of the subject before. */
  raise(subject: string, line: string): void {
    this.#lines.set(subject, line);
  }

  clear(subject: string): void {
    this.#lines.delete(subject);
  }

  list(): readonly string[] {
    return [...this.#lines.values()];
  }
}

const BEAT_MS = 1_000;
/** What a busy machine may be late by. */
const SLACK_MS = 500;

/**
 * Notices when the process stood still: it was stopped, its memory was swapped out, or a slow disk held it up. What arrives right
 * afterwards may have waited in the kernel for as long, and nothing else tells since when.
 */
export class StallDetector implements Service {
  readonly #clock: Clock;
  #stop = () => {};
  #beatMs: number | undefined;
  /** Length of the standstill that the last beat noticed; 0 when it came in time. */
  #stoodMs = 0;

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
    this.#stoodMs = 0;
  }

  /** How long, in milliseconds, what arrives now may have waited; 0 while the process keeps pace. */
  get waitedMs(): number {
    const sinceBeatMs = this.#sinceBeatMs();
    // Timers run after sockets: the first that come to light do so before the beat.
    return isLate(sinceBeatMs) || this.#stoodMs > 0 ? this.#stoodMs + sinceBeatMs : 0;
  }

  #beat(): void {
    const sinceBeatMs = this.#sinceBeatMs();
    this.#stoodMs = isLate(sinceBeatMs) ? sinceBeatMs : 0;
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

/**
 * Lets the event loop look at all sockets, `turns` times: the end of a connection comes to light one turn after the bytes before it,
 * and what follows from it takes some more.
 */
export async function pollSockets(turns: number): Promise<void> {
  for (let turn = 0; turn <= turns; turn++) await nextTurn();
}

const BYTES_PER_KB = 1_024;

/**
 * Memory that a process takes now (proc_pid_status(5), VmRSS); 0 when it has ended. Not by statm(5), which counts in pages: they have
 * 4 KiB on most boards, 16 KiB on a Raspberry Pi 5.
 */
export function residentBytes(pid: number | undefined): number {
  try {
    const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) * BYTES_PER_KB;
  } catch {
    return 0;
  }
}
