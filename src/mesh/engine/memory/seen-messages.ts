import { createHash } from 'node:crypto';
import type { Clock } from '../../../core/time/clock.ts';

/** How long a message is remembered at least, as gossipsub does it. */
const REMEMBERED_MS = 120_000;
/** Messages of one generation: a flood ends a generation early. */
const MAX_REMEMBERED = 16_384;

/** Engines of one process hand the same bytes on: each message is hashed once. */
const ids = new WeakMap<Uint8Array, string>();

/** Which messages came already. */
export class SeenMessages {
  readonly #clock: Clock;
  #young = new Set<string>();
  #old = new Set<string>();
  #sinceMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Remembers the message; false when it came before. */
  add(message: Uint8Array): boolean {
    const id = idOf(message);
    if (this.#young.has(id) || this.#old.has(id)) return false;
    this.#turn();
    this.#young.add(id);
    return true;
  }

  #turn(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#sinceMs < REMEMBERED_MS && this.#young.size < MAX_REMEMBERED) return;
    this.#old = this.#young;
    this.#young = new Set();
    this.#sinceMs = nowMs;
  }
}

function idOf(message: Uint8Array): string {
  const known = ids.get(message);
  if (known !== undefined) return known;
  const id = createHash('sha256').update(message).digest('base64');
  ids.set(message, id);
  return id;
}
