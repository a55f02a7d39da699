import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { Clock } from '../../src/core/clock.ts';
import { seededRandom } from '../seeded-random.ts';
import type { DiskState } from './disk-state.ts';
import type { EventOwner, EventQueue } from './event-queue.ts';
import type { NetworkService } from './simulated-requests.ts';
import type { UnsyncedWrites } from './unsynced-writes.ts';

/** The time at which every world begins, milliseconds since 1970. It is after the time of every file of this machine. */
const BEGIN_MS = Date.UTC(2035, 0, 1);

const current = new AsyncLocalStorage<SimulatedProcess>();

/** Thrown in a process that was killed. Nothing that it does from then on has an effect. */
export class KilledError extends Error {
  constructor(name: string) {
    super(`The simulated process ${name} was killed`);
  }
}

/** A process of the simulated world: a hub between its start and its end, a person, or an agent. */
export class SimulatedProcess implements EventOwner {
  readonly name: string;
  /** Differs after each start of the machine. */
  readonly bootId: string;
  readonly random: () => number;
  readonly clock: Clock;
  isAlive = true;
  /** It speaks as hubs did before the optional features of the protocol. */
  isOlder = false;
  standsUntilMs = 0;
  /** Milliseconds by which its clock is ahead of the world's. */
  clockErrorMs = 0;
  /** What its disk refuses now. */
  diskState: DiskState = 'well';
  /** Learns which writes to the disk are synced; undefined for a process without a disk. */
  disk: UnsyncedWrites | undefined;
  /** What takes its requests to other machines; undefined for a process without any. */
  service: NetworkService | undefined;
  readonly #queue: EventQueue;
  /** The asynchronous context of the process. To make a new one for each message costs more than most messages. */
  readonly #context = current.run(this, () => new AsyncResource('SimulatedProcess'));

  constructor(queue: EventQueue, identity: { readonly name: string; readonly seed: number; readonly bootId?: string }) {
    this.#queue = queue;
    this.name = identity.name;
    this.bootId = identity.bootId ?? 'boot-0';
    this.random = seededRandom(identity.seed);
    this.clock = {
      now: () => Math.floor(this.wallMs()),
      monotonic: () => queue.nowMs,
      after: (delayMs, callback) => this.after(delayMs, callback),
    };
  }

  /** Milliseconds since 1970 by the clock of the process. */
  wallMs(): number {
    return BEGIN_MS + this.#queue.nowMs + this.clockErrorMs;
  }

  /** Calls `callback` in the process after a delay in milliseconds. The returned function cancels it. */
  after(delayMs: number, callback: () => void, kind = 'timer'): () => void {
    const context = new AsyncResource('SimulatedTimer');
    const dueMs = this.#queue.nowMs + Math.max(delayMs, 0);
    return this.#queue.schedule({ dueMs, owner: this, kind }, () => context.runInAsyncScope(callback));
  }

  /** Runs `work` as this process. */
  run<Result>(work: () => Result): Result {
    return this.#context.runInAsyncScope(work);
  }

  /** Ends the process as SIGKILL does. */
  kill(): void {
    this.isAlive = false;
  }

  /** Throws if the process was killed. */
  requireAlive(): void {
    if (!this.isAlive) throw new KilledError(this.name);
  }
}

/** Runs what the simulation itself does, and no process. */
export function asWorld<Result>(work: () => Result): Result {
  return current.exit(work);
}

/** Returns the process whose code runs now; undefined in the simulation itself. */
export function currentProcess(): SimulatedProcess | undefined {
  return current.getStore();
}
