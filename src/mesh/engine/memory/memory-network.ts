import { AtmoError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { orAborted } from '../../../core/time/or-aborted.ts';
import { DeliveryQueue } from './delivery-queue.ts';
import { MemoryPipe, type PipeEnd } from './memory-pipe.ts';

/** What listens on an address of the network. */
export interface MemoryListener {
  accept(end: PipeEnd): void;
}

/** How a `MemoryNetwork` behaves; addresses are `host:port`. */
export interface MemoryNetworkOptions {
  readonly clock: Clock;
  /** One way, milliseconds; 0 when absent. What is sent over one connection never overtakes. */
  readonly latencyMs?: (from: string, to: string) => number;
  /** Numbers from 0 to below 1, for losses. */
  readonly random?: () => number;
}

/** A network inside the process, to which in-memory engines attach. Delays, losses and partitions are the test's. */
export class MemoryNetwork {
  readonly clock: Clock;
  readonly #latencyMs: (from: string, to: string) => number;
  readonly #random: () => number;
  readonly #queue: DeliveryQueue;
  readonly #listeners = new Map<string, MemoryListener>();
  readonly #pipes = new Set<MemoryPipe>();
  #groupOf: ((address: string) => unknown) | undefined;
  #gossipLoss = 0;

  constructor({ clock, latencyMs = () => 0, random = Math.random }: MemoryNetworkOptions) {
    this.clock = clock;
    this.#latencyMs = latencyMs;
    this.#random = random;
    this.#queue = new DeliveryQueue(clock);
  }

  /** CONFLICT when something listens there. The answer stops listening. */
  listen(address: string, listener: MemoryListener): () => void {
    if (this.#listeners.has(address)) throw new AtmoError('CONFLICT', `The address ${address} is taken by another engine`);
    this.#listeners.set(address, listener);
    return () => this.#listeners.delete(address);
  }

  /** A connection to whatever listens at `to` when it arrives there. NODE_UNAVAILABLE when nothing does or the signal aborts first. */
  async dial(from: string, to: string, signal: AbortSignal): Promise<PipeEnd> {
    const { promise, resolve, reject } = Promise.withResolvers<PipeEnd>();
    if (!signal.aborted && !this.isCut(from, to)) this.#arrive(from, to, { resolve, reject });
    return await orAborted(promise, signal);
  }

  /** From now on the share of gossip messages that are lost on the way, 0 to 1. Streams lose nothing, as over TCP. */
  loseGossip(share: number): void {
    this.#gossipLoss = share;
  }

  /** From now on only addresses for which `groupOf` answers the same reach each other; what is sent waits, as over TCP. */
  partition(groupOf: (address: string) => unknown): void {
    this.#groupOf = groupOf;
  }

  /** Ends the partition: what waits is sent. */
  heal(): void {
    this.#groupOf = undefined;
    for (const pipe of this.#pipes) pipe.resume();
  }

  isCut(from: string, to: string): boolean {
    return this.#groupOf !== undefined && this.#groupOf(from) !== this.#groupOf(to);
  }

  isGossipLost(): boolean {
    return this.#gossipLoss > 0 && this.#random() < this.#gossipLoss;
  }

  /** Runs `deliver` when something sent now arrives, but not before `notBeforeMs`; answers when that is. */
  carry(route: { readonly from: string; readonly to: string; readonly notBeforeMs: number }, deliver: () => void): number {
    const dueMs = Math.max(route.notBeforeMs, this.clock.monotonic() + this.#latencyMs(route.from, route.to));
    this.#queue.schedule(dueMs, deliver);
    return dueMs;
  }

  forget(pipe: MemoryPipe): void {
    this.#pipes.delete(pipe);
  }

  #arrive(from: string, to: string, dial: { resolve(end: PipeEnd): void; reject(error: AtmoError): void }): void {
    this.carry({ from, to, notBeforeMs: 0 }, () => {
      const listener = this.#listeners.get(to);
      if (!listener) {
        dial.reject(new AtmoError('NODE_UNAVAILABLE', `Nobody answers at ${to}: connection refused`));
        return;
      }
      const pipe = new MemoryPipe(this, from, to);
      this.#pipes.add(pipe);
      listener.accept(pipe.listener);
      dial.resolve(pipe.dialler);
    });
  }
}
