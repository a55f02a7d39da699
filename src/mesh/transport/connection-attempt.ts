import type { MessageStream } from '@libp2p/interface';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { ConnectionGate, GatePeer } from './mesh-engine.ts';
import type { SocketEnds } from './tcp-connection.ts';

/** A connection before the end of handshake and gate. */
export interface ConnectionAttempt {
  readonly direction: 'inbound' | 'outbound';
  /** `host:port` of the peer. */
  readonly address: string;
  readonly gate: ConnectionGate;
  readonly expect?: HubId | undefined;
  readonly signal: AbortSignal;
  /** Undefined when the socket was already closed. */
  readonly ends: SocketEnds | undefined;
  /** The hub that passed the gate. */
  peer?: HubId;
  /** The error that ended it: libp2p passes only the text on. */
  error?: unknown;
}

/** A hub that passed the gate, and the ends of its socket. */
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

  /** Records that `outer` wraps the connection `inner`. */
  wrap(inner: MessageStream, outer: MessageStream): void {
    const attempt = this.of(inner);
    if (attempt) this.set(outer, attempt);
  }

  /** Records that the hub passed the gate; its connection opens next. */
  pass(attempt: ConnectionAttempt, peer: GatePeer): void {
    attempt.peer = peer.id;
    this.#passed.set(peer.id, { peer, ends: attempt.ends });
  }

  /** Returns and forgets the hub whose connection opens now. */
  takePassed(id: HubId | undefined): PassedPeer | undefined {
    if (id === undefined) return undefined;
    const passed = this.#passed.get(id);
    this.#passed.delete(id);
    return passed;
  }
}

interface TimeLimitOptions {
  readonly clock: Clock;
  readonly limitMs: number;
  /** Begins the message of the error: `No hub answers at 10.0.0.1:7481`. */
  readonly problem: string;
  /** Signal of the caller; its abort becomes CANCELLED. */
  readonly signal: AbortSignal;
  /** Aborts at the end of the engine; its reason is passed on. */
  readonly stopped: AbortSignal;
}

/** Aborts with NODE_UNAVAILABLE when the time is over and with CANCELLED when the caller aborts. Dispose it when the wait ends. */
export class TimeLimit implements Disposable {
  readonly signal: AbortSignal;
  readonly #release: () => void;

  constructor({ clock, limitMs, problem, signal, stopped }: TimeLimitOptions) {
    const controller = new AbortController();
    const cancelTimer = clock.after(limitMs, () => {
      controller.abort(new AtmoError('NODE_UNAVAILABLE', `${problem} within ${limitMs / 1_000} s`));
    });
    const cancel = () => controller.abort(new AtmoError('CANCELLED', 'The caller cancelled the connection', {}, { cause: signal.reason }));
    const stop = () => controller.abort(stopped.reason);
    signal.addEventListener('abort', cancel);
    stopped.addEventListener('abort', stop);
    if (stopped.aborted) stop();
    if (signal.aborted) cancel();
    this.signal = controller.signal;
    this.#release = () => {
      cancelTimer();
      signal.removeEventListener('abort', cancel);
      stopped.removeEventListener('abort', stop);
    };
  }

  [Symbol.dispose](): void {
    this.#release();
  }
}
