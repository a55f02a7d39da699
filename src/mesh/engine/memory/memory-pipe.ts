import { AtmoError } from '../../../core/errors.ts';
import type { MemoryNetwork } from './memory-network.ts';

/** What travels between two in-memory engines. Streams are numbered by the side that opened them: odd by the one that dialled. */
export type WireMessage =
  | { readonly type: 'hello'; readonly id: string; readonly publicKey: string }
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
    if (message.type === 'gossip' && this.#parts.network.isGossipLost()) return;
    this.#transmit(message);
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
