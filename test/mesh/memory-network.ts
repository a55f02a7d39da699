import { type Clock, orAborted } from '../../src/core/clock.ts';
import { AtmoError } from '../../src/core/errors.ts';

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

  /** What is sent in place of a message. A simulation overrides it for members that lie. */
  alters(_from: string, _to: string, message: WireMessage): readonly WireMessage[] {
    return [message];
  }

  /** Called with everything that one end of a connection sends. A simulation overrides it to note the messages. */
  sends(_from: string, _to: string, _message: WireMessage): void {}

  /** Returns whether the machine at an address confirms what arrives; undefined if hubs do not learn it. A simulation overrides it. */
  confirmsArrivals(_address: string): boolean | undefined {
    return undefined;
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

/** What travels between two in-memory engines. Streams are numbered by the side that opened them: odd by the one that dialled. */
export type WireMessage =
  | { readonly type: 'hello'; readonly id: string; readonly publicKey: string; readonly topic?: string }
  | { readonly type: 'gate'; readonly bytes: Uint8Array }
  | { readonly type: 'gossip'; readonly bytes: Uint8Array }
  | { readonly type: 'open'; readonly stream: number; readonly protocol: string }
  | { readonly type: 'opened' | 'unopened' | 'end' | 'reset'; readonly stream: number }
  | { readonly type: 'frame'; readonly stream: number; readonly bytes: Uint8Array }
  | { readonly type: 'taken'; readonly stream: number; readonly byteCount: number };

/** Both ends of one connection. */
export class MemoryPipe {
  readonly dialler: PipeEnd;
  readonly listener: PipeEnd;

  constructor(network: MemoryNetwork, from: string, to: string) {
    this.dialler = new PipeEnd({ network, pipe: this, local: from, remote: to });
    this.listener = new PipeEnd({ network, pipe: this, local: to, remote: from });
  }

  otherEnd(end: PipeEnd): PipeEnd {
    return end === this.dialler ? this.listener : this.dialler;
  }

  /** Sends what waited for a partition to end. */
  resume(): void {
    this.dialler.resume();
    this.listener.resume();
  }
}

interface PipeEndParts {
  readonly network: MemoryNetwork;
  readonly pipe: MemoryPipe;
  readonly local: string;
  readonly remote: string;
}

/** One end: messages are taken one by one until a listener hears them. */
export class PipeEnd {
  readonly remote: string;
  readonly #parts: PipeEndParts;
  readonly #inbox: WireMessage[] = [];
  #held: (WireMessage | 'closed')[] = [];
  #lastArrivalMs = 0;
  #listener: ((message: WireMessage) => void) | undefined;
  #closeListener: (() => void) | undefined;
  #wake: (() => void) | undefined;
  #isClosed = false;

  constructor(parts: PipeEndParts) {
    this.#parts = parts;
    this.remote = parts.remote;
  }

  send(message: WireMessage): void {
    if (this.#isClosed) return;
    const { network, local, remote } = this.#parts;
    for (const sent of network.alters(local, remote, message)) {
      network.sends(local, remote, sent);
      if (sent.type !== 'gossip' || !network.isGossipLost()) this.#transmit(sent);
    }
  }

  /** Returns whether all that was sent has arrived; undefined if the machine does not know. */
  hasArrived(): boolean | undefined {
    const { network, local, remote } = this.#parts;
    const confirms = network.confirmsArrivals(remote);
    return confirms && this.#held.length === 0 && !network.isCut(remote, local) && network.clock.monotonic() >= this.#lastArrivalMs;
  }

  /** The next message. NODE_UNAVAILABLE at the end of the connection; the signal's reason. */
  async take(signal: AbortSignal): Promise<WireMessage> {
    while (this.#inbox.length === 0 && !this.#isClosed && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
    }
    const message = this.#inbox.shift();
    if (message) return message;
    if (signal.aborted) throw signal.reason;
    throw new AtmoError('NODE_UNAVAILABLE', `${this.remote} closed the connection`);
  }

  /** From now on every message, also those that came before, goes to the listener. */
  listen(listener: (message: WireMessage) => void, closed: () => void): void {
    this.#listener = listener;
    this.#closeListener = closed;
    for (const message of this.#inbox.splice(0)) listener(message);
    if (this.#isClosed) this.#tellClosed();
  }

  /** The other end hears it after what was sent. */
  close(): void {
    if (this.#isClosed) return;
    this.#transmit('closed');
    this.#end();
  }

  resume(): void {
    for (const message of this.#held.splice(0)) this.#transmit(message);
  }

  #transmit(message: WireMessage | 'closed'): void {
    const { network, pipe, local, remote } = this.#parts;
    if (network.isCut(local, remote)) {
      this.#held.push(message);
      return;
    }
    const route = { from: local, to: remote, notBeforeMs: this.#lastArrivalMs };
    this.#lastArrivalMs = network.carry(route, () => pipe.otherEnd(this).#arrived(message));
  }

  #arrived(message: WireMessage | 'closed'): void {
    if (this.#isClosed) return;
    if (message === 'closed') this.#end();
    else if (this.#listener) this.#listener(message);
    else this.#inbox.push(message);
    this.#wake?.();
  }

  #end(): void {
    this.#isClosed = true;
    if (this.#held.length === 0) this.#parts.network.forget(this.#parts.pipe);
    this.#wake?.();
    this.#tellClosed();
  }

  #tellClosed(): void {
    const closed = this.#closeListener;
    this.#closeListener = undefined;
    closed?.();
  }
}

interface Delivery {
  readonly dueMs: number;
  /** Orders what falls due together. */
  readonly sequence: number;
  readonly deliver: () => void;
}

/** Runs what falls due, in order, with one timer for all of it; what is due now runs as a microtask. */
export class DeliveryQueue {
  readonly #clock: Clock;
  /** Binary heap: no entry is due before its parent. */
  readonly #heap: Delivery[] = [];
  #sequence = 0;
  #timer: { readonly dueMs: number; readonly cancel: () => void } | undefined;
  #microtaskWaits = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `dueMs` on the clock's monotonic time. */
  schedule(dueMs: number, deliver: () => void): void {
    this.#push({ dueMs, sequence: this.#sequence++, deliver });
    this.#arm();
  }

  #arm(): void {
    const first = this.#heap[0];
    if (!first || this.#microtaskWaits) return;
    const waitMs = first.dueMs - this.#clock.monotonic();
    if (waitMs <= 0) {
      this.#microtaskWaits = true;
      queueMicrotask(() => this.#run());
      return;
    }
    if (this.#timer && this.#timer.dueMs <= first.dueMs) return;
    this.#timer?.cancel();
    this.#timer = { dueMs: first.dueMs, cancel: this.#clock.after(waitMs, () => this.#run()) };
  }

  /** Leaves to a later microtask what deliveries schedule for now, so that promises get their turn in between. */
  #run(): void {
    this.#microtaskWaits = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    const end = this.#sequence;
    const nowMs = this.#clock.monotonic();
    for (let first = this.#heap[0]; first && first.dueMs <= nowMs && first.sequence < end; first = this.#heap[0]) {
      this.#pop();
      first.deliver();
    }
    this.#arm();
  }

  #push(delivery: Delivery): void {
    const heap = this.#heap;
    let index = heap.push(delivery) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(delivery, heap[parent])) break;
      heap[index] = heap[parent] as Delivery;
      index = parent;
    }
    heap[index] = delivery;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const child = earlierChild(heap, index);
      const next = heap[child];
      if (!next || !isBefore(next, last)) break;
      heap[index] = next;
      index = child;
    }
    heap[index] = last;
  }
}

function earlierChild(heap: readonly Delivery[], index: number): number {
  const left = 2 * index + 1;
  const right = heap[left + 1];
  return right && isBefore(right, heap[left]) ? left + 1 : left;
}

function isBefore(delivery: Delivery, other: Delivery | undefined): boolean {
  if (!other) return true;
  return delivery.dueMs < other.dueMs || (delivery.dueMs === other.dueMs && delivery.sequence < other.sequence);
}
