import { AtmoError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time/clock.ts';

/** Asking the system takes 20 µs, a call of a local tool not much more. */
const LOOK_EVERY_MS = 1_000;

interface MemoryCollaborators {
  readonly clock: Clock;
  /** Bytes that the process can still get. */
  readonly availableMemory: () => number;
}

/** Refuses new work while the board has next to no memory left (source 001, resource check); looks once a second. */
export class MemoryFloor {
  readonly #collaborators: MemoryCollaborators;
  readonly #minFreeBytes: number;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #freeBytes = Number.POSITIVE_INFINITY;

  constructor(collaborators: MemoryCollaborators, options: { readonly minFreeBytes: number }) {
    this.#collaborators = collaborators;
    this.#minFreeBytes = options.minFreeBytes;
  }

  /** RESOURCE_EXCEEDED when less than the floor is left. */
  check(): void {
    const nowMs = this.#collaborators.clock.monotonic();
    if (nowMs - this.#lookedMs >= LOOK_EVERY_MS) {
      this.#lookedMs = nowMs;
      this.#freeBytes = this.#collaborators.availableMemory();
    }
    if (this.#freeBytes >= this.#minFreeBytes) return;
    throw new AtmoError('RESOURCE_EXCEEDED', `The hub has only ${megabytes(this.#freeBytes)} of memory left; try again in a moment`);
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
