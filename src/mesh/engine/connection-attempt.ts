import type { MessageStream } from '@libp2p/interface';
import type { HubId } from '../../core/ids.ts';
import type { ConnectionGate, GatePeer } from './mesh-engine.ts';
import type { SocketEnds } from './tcp/socket-ends.ts';

/** A connection on its way through handshake and gate. */
export interface ConnectionAttempt {
  readonly direction: 'inbound' | 'outbound';
  /** `host:port` of the peer. */
  readonly address: string;
  readonly gate: ConnectionGate;
  readonly expect?: HubId | undefined;
  readonly signal: AbortSignal;
  /** Undefined when the socket was closed before it was looked at. */
  readonly ends: SocketEnds | undefined;
  /** Who passed the gate. */
  peer?: HubId;
  /** What ended it: libp2p passes only the text of an error on. */
  error?: unknown;
}

/** A hub that passed the gate, and the socket by which it came. */
export interface PassedPeer {
  readonly peer: GatePeer;
  readonly ends: SocketEnds | undefined;
}

/** Finds the attempt to which a stream belongs while libp2p passes it through its layers. */
export class ConnectionAttempts {
  readonly #attempts = new WeakMap<MessageStream, ConnectionAttempt>();
  readonly #passed = new Map<HubId, PassedPeer>();

  of(stream: MessageStream): ConnectionAttempt | undefined {
    return this.#attempts.get(stream);
  }

  set(stream: MessageStream, attempt: ConnectionAttempt): void {
    this.#attempts.set(stream, attempt);
  }

  /** `outer` carries the same connection as `inner`. */
  wrap(inner: MessageStream, outer: MessageStream): void {
    const attempt = this.of(inner);
    if (attempt) this.set(outer, attempt);
  }

  /** The hub passed the gate; its connection opens next. */
  pass(attempt: ConnectionAttempt, peer: GatePeer): void {
    attempt.peer = peer.id;
    this.#passed.set(peer.id, { peer, ends: attempt.ends });
  }

  /** The hub whose connection opens now. */
  takePassed(id: HubId | undefined): PassedPeer | undefined {
    if (id === undefined) return undefined;
    const passed = this.#passed.get(id);
    this.#passed.delete(id);
    return passed;
  }
}
