import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Service } from '../service.ts';
import type { Clock } from './clock.ts';
import { repeat } from './repeat.ts';

const BEAT_MS = 1_000;
/** What a busy machine may be late by. */
const SLACK_MS = 500;

/**
 * Notices when the process stood still: it was stopped, its memory was swapped out, or a slow disk held it up. What arrives right
 * afterwards may have waited in the kernel for as long, and nothing else tells since when.
 */
export class Standstill implements Service {
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
