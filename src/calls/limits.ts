import { getHeapStatistics } from 'node:v8';
import { type Principal, principalKey } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';

/** Deepest nesting of composed tools. */
export const MAX_COMPOSITION_DEPTH = 4;
/** Deepest nesting of calls that are checked in advance. It is enough for composed tools inside a sequence. */
export const MAX_CALL_DEPTH = MAX_COMPOSITION_DEPTH + 2;
/** Largest number of calls inside one call. */
export const MAX_NESTED_CALLS = 256;

/** Returns the error of a call with more or deeper inner calls than can be checked. */
export function tooManyCalls(tool: string): AtmoError {
  const message = `${tool} would make more than ${MAX_NESTED_CALLS} calls, or nest them more than ${MAX_CALL_DEPTH} deep; call its steps by themselves`;
  return new AtmoError('RESOURCE_EXCEEDED', message, { permanent: true });
}

/** Milliseconds without a call after which a session ends. The next call of the session begins a new count. */
const IDLE_MS = 3_600_000;
const MAX_SESSIONS = 4_096;

/** Limits the calls of a session, which stops a model in an endless loop. The rate limits stop a caller that uses many sessions. */
export class SessionCallLimit {
  readonly #clock: Clock;
  readonly #maxCalls: number;
  /** Call counts by session. The session whose last call is the oldest comes first. */
  readonly #sessions = new Map<string, { readonly calls: number; readonly lastMs: number }>();

  constructor(clock: Clock, options: { readonly maxCalls: number }) {
    this.#clock = clock;
    this.#maxCalls = options.maxCalls;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Counts one call. Throws RATE_LIMITED if the session has reached its limit. A call without a session is not counted. */
  charge(principal: Principal, sessionId: string | undefined): void {
    if (sessionId === undefined || this.#maxCalls === Number.POSITIVE_INFINITY) return;
    const key = JSON.stringify([principalKey(principal), sessionId]);
    const nowMs = this.#clock.monotonic();
    const known = this.#sessions.get(key);
    const calls = known && nowMs - known.lastMs < IDLE_MS ? known.calls : 0;
    if (known && calls >= this.#maxCalls) throw this.#refusal(IDLE_MS - (nowMs - known.lastMs));
    this.#sessions.delete(key);
    this.#sessions.set(key, { calls: calls + 1, lastMs: nowMs });
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
  }

  #refusal(retryAfterMs: number): AtmoError {
    return new AtmoError(
      'RATE_LIMITED',
      `This session has made all of its ${this.#maxCalls} calls; end it and tell a person what it was after, or begin another session`,
      { max_calls: this.#maxCalls, retry_after_ms: Math.ceil(retryAfterMs) },
    );
  }
}

/** Milliseconds between measurements. One measurement of the free memory takes 30 µs, almost as long as a call of a local tool. */
const CHECK_INTERVAL_MS = 1_000;

/** Port: what the process can take still, in bytes. */
export interface FreeMemory {
  /** Memory of the machine or of the control group. */
  availableMemory(): number;
  /** Memory of V8's heap below its bound, at which V8 ends the process. */
  availableHeap(): number;
}

/** Returns the bytes that V8's heap can take still (v8.getHeapStatistics). Garbage that is not collected yet counts as used. */
export function availableHeap(): number {
  const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics();
  return limit - used;
}

interface MemoryGuardCollaborators {
  readonly clock: Clock;
  readonly process: FreeMemory;
}

/** Refuses new work while almost no memory is free, be it of the machine or of V8's heap. Measures the free memory at most once a second. */
export class MemoryGuard {
  readonly #collaborators: MemoryGuardCollaborators;
  readonly #minFreeBytes: number;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #freeBytes = Number.POSITIVE_INFINITY;

  constructor(collaborators: MemoryGuardCollaborators, options: { readonly minFreeBytes: number }) {
    this.#collaborators = collaborators;
    this.#minFreeBytes = options.minFreeBytes;
  }

  /** Throws RESOURCE_EXCEEDED if less memory than the limit is free. */
  check(): void {
    const nowMs = this.#collaborators.clock.monotonic();
    if (nowMs - this.#lookedMs >= CHECK_INTERVAL_MS) {
      this.#lookedMs = nowMs;
      const { process } = this.#collaborators;
      this.#freeBytes = Math.min(process.availableMemory(), process.availableHeap());
    }
    if (this.#freeBytes >= this.#minFreeBytes) return;
    throw new AtmoError('RESOURCE_EXCEEDED', `The hub has only ${megabytes(this.#freeBytes)} of memory left; try again in a moment`);
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
