import type { MessageStream } from '@libp2p/interface';
import { type Clock, orAborted } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { ReasonCounter } from '../reason-counter.ts';
import { type ConnectionGate, type GateChannel, type GatePeer, MAX_GATE_MESSAGE_BYTES } from './mesh-engine.ts';
import type { SocketEnds } from './tcp-connection.ts';

/** Time limit for the whole gate in milliseconds. */
export const GATE_TIMEOUT_MS = 5_000;
/** Longest message of a `GateTransport` in bytes. The first byte is the message type; the content follows. */
export const MAX_GATE_TRANSPORT_BYTES = MAX_GATE_MESSAGE_BYTES + 1;

const MESSAGE = 0;
const ADMITTED = 1;
const DUPLICATE = 2;
const REFUSED = 3;

/** Sends and reads messages over the encrypted connection until the peer is admitted. */
export interface GateTransport {
  write(message: Uint8Array): Promise<void>;
  /** Reads a message. Rejects with PAYLOAD_TOO_LARGE if it is too long, NODE_UNAVAILABLE if the peer closes, or the signal's reason. */
  read(signal: AbortSignal): Promise<Uint8Array>;
}

/** The connection slots of an engine. Each hub has at most one slot. */
export interface ConnectionSlots {
  isFullFor(id: HubId): boolean;
  claim(id: HubId): boolean;
  takeOver(id: HubId): void;
  release(id: HubId): void;
}

/** Collaborators that the admissions of all connections of an engine share. */
export interface AdmissionPolicy {
  readonly self: HubId;
  readonly slots: ConnectionSlots;
  readonly refusals: RefusalCounter;
  readonly clock: Clock;
}

interface AdmissionRequest {
  readonly transport: GateTransport;
  readonly gate: ConnectionGate;
  readonly peer: GatePeer;
  readonly expect?: HubId | undefined;
  readonly signal: AbortSignal;
}

/**
 * Runs the gate, then claims the connection slot of the peer. If two hubs dial each other at the same moment, the hub with the lower id
 * decides which connection stays. Rejects with the error of this hub's gate, PERMISSION_DENIED if either hub refuses, RESOURCE_EXCEEDED if
 * this hub has too many connections, CONFLICT if another connection to the hub exists (`hub` in the details is its id), TIMEOUT if the gate
 * takes too long, NODE_UNAVAILABLE if the peer closes the connection.
 */
export async function admit(policy: AdmissionPolicy, request: AdmissionRequest): Promise<void> {
  const timeout = new AbortController();
  const timedOut = () => timeout.abort(new AtmoError('TIMEOUT', `The gate of ${request.peer.address} took longer than 5 s`));
  const cancelTimeout = policy.clock.after(GATE_TIMEOUT_MS, timedOut);
  const end = () => timeout.abort(endOf(request));
  request.signal.addEventListener('abort', end);
  if (request.signal.aborted) end();
  try {
    await new Admission(policy, request, timeout.signal).run();
  } finally {
    cancelTimeout();
    request.signal.removeEventListener('abort', end);
  }
}

class Admission {
  readonly #policy: AdmissionPolicy;
  readonly #request: AdmissionRequest;
  readonly #signal: AbortSignal;
  #reason: RefusalReason | undefined;

  constructor(policy: AdmissionPolicy, request: AdmissionRequest, signal: AbortSignal) {
    this.#policy = policy;
    this.#request = request;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    try {
      this.#checkPeer();
      await this.#runGate();
      this.#checkSlot();
      await this.#agree();
    } catch (error) {
      this.#policy.refusals.count(this.#reason ?? reasonOf(error));
      await this.#sendRefusal(error);
      throw error;
    }
  }

  #checkPeer(): void {
    const { peer, expect } = this.#request;
    if (peer.id === this.#policy.self) throw this.#refusal('self', `${peer.address} is this hub itself`);
    if (expect !== undefined && peer.id !== expect) throw this.#refusal('wrong_hub', `${peer.address} is ${peer.id}, not ${expect}`);
    this.#checkSlot();
  }

  #checkSlot(): void {
    const { peer } = this.#request;
    if (!this.#policy.slots.isFullFor(peer.id)) return;
    this.#reason = 'too_many_connections';
    throw new AtmoError('RESOURCE_EXCEEDED', `No room for a connection to ${peer.id}: disconnect another hub, or raise the limit`);
  }

  async #runGate(): Promise<void> {
    const { gate, peer } = this.#request;
    const channel: GateChannel = { write: (message) => this.#write(message), read: () => this.#readMessage() };
    await orAborted(gate.admit(channel, peer), this.#signal);
  }

  async #agree(): Promise<void> {
    const { peer, transport } = this.#request;
    const { self, slots } = this.#policy;
    if (self > peer.id) {
      await transport.write(Uint8Array.of(ADMITTED));
      await this.#readAdmitted();
      slots.takeOver(peer.id);
      return;
    }
    await this.#readAdmitted();
    if (!slots.claim(peer.id)) throw this.#duplicate();
    try {
      await transport.write(Uint8Array.of(ADMITTED));
    } catch (error) {
      slots.release(peer.id);
      throw error;
    }
  }

  async #write(message: Uint8Array): Promise<void> {
    if (message.length > MAX_GATE_MESSAGE_BYTES)
      throw new AtmoError('PAYLOAD_TOO_LARGE', `A gate message of ${message.length} bytes is longer than ${MAX_GATE_MESSAGE_BYTES}`);
    const framed = new Uint8Array(message.length + 1);
    framed[0] = MESSAGE;
    framed.set(message, 1);
    await this.#request.transport.write(framed);
  }

  async #readMessage(): Promise<Uint8Array> {
    const { kind, body } = await this.#read();
    if (kind !== MESSAGE) throw this.#endedBy(kind);
    return body;
  }

  async #readAdmitted(): Promise<void> {
    const { kind } = await this.#read();
    if (kind !== ADMITTED) throw this.#endedBy(kind);
  }

  async #read(): Promise<{ kind: number | undefined; body: Uint8Array }> {
    const framed = await this.#request.transport.read(this.#signal);
    return { kind: framed[0], body: framed.subarray(1) };
  }

  #endedBy(kind: number | undefined): AtmoError {
    const { peer } = this.#request;
    if (kind === DUPLICATE) return this.#duplicate();
    if (kind === REFUSED) return this.#refusal('refused_by_peer', `${peer.id} at ${peer.address} refuses this hub`);
    return this.#refusal('gate_malformed', `${peer.id} at ${peer.address} sent a message that the gate does not allow`);
  }

  #duplicate(): AtmoError {
    this.#reason = 'duplicate';
    return new AtmoError('CONFLICT', `There is another connection to ${this.#request.peer.id} already`, { hub: this.#request.peer.id });
  }

  #refusal(reason: RefusalReason, problem: string): AtmoError {
    this.#reason = reason;
    return new AtmoError('PERMISSION_DENIED', `The connection was refused: ${problem}`);
  }

  /** Tells the peer only that it was refused or is connected already. The gate has already sent all else that the peer may know. */
  async #sendRefusal(error: unknown): Promise<void> {
    const isDuplicate = error instanceof AtmoError && error.code === 'CONFLICT';
    await this.#request.transport.write(Uint8Array.of(isDuplicate ? DUPLICATE : REFUSED)).catch(() => undefined);
  }
}

function endOf({ signal, peer }: AdmissionRequest): AtmoError {
  if (signal.reason instanceof AtmoError) return signal.reason;
  return new AtmoError('TIMEOUT', `The connection to ${peer.address} took too long`, {}, { cause: signal.reason });
}

function reasonOf(error: unknown): RefusalReason {
  if (!(error instanceof AtmoError)) return 'gate_refused';
  if (error.code === 'TIMEOUT') return 'gate_timeout';
  if (error.code === 'PAYLOAD_TOO_LARGE') return 'gate_message_too_long';
  return error.code === 'NODE_UNAVAILABLE' || error.code === 'CANCELLED' ? 'gate_closed' : 'gate_refused';
}

/** Reasons for which an engine refuses a connection, or drops a stream or message. */
type RefusalReason =
  | 'gate_refused'
  | 'refused_by_peer'
  | 'duplicate'
  | 'gate_timeout'
  | 'gate_closed'
  | 'gate_malformed'
  | 'gate_message_too_long'
  | 'handshake_failed'
  | 'inbound_rate'
  | 'too_many_pending'
  | 'wrong_hub'
  | 'self'
  | 'too_many_connections'
  | 'frame_too_long'
  | 'send_queue_full'
  | 'too_many_streams'
  | 'unknown_protocol'
  | 'gossip_too_long'
  | 'gossip_rejected'
  | 'gossip_broken'
  | 'gossip_own_refused';

/** Counts refusals by reason. */
export class RefusalCounter extends ReasonCounter<RefusalReason> {}

/** A connection that has not yet passed the handshake and the gate. */
export interface ConnectionAttempt {
  readonly direction: 'inbound' | 'outbound';
  /** Address of the peer as `host:port`. */
  readonly address: string;
  readonly gate: ConnectionGate;
  readonly expect?: HubId | undefined;
  readonly signal: AbortSignal;
  /** Both ends of the socket; undefined if the socket was already closed. */
  readonly ends: SocketEnds | undefined;
  /** Hub that passed the gate; absent until then. */
  peer?: HubId;
  /** Error that ended the attempt. It is kept here, because libp2p passes on only the text of an error. */
  error?: unknown;
}

/** A hub that has passed the gate, and both ends of its socket. */
export interface PassedPeer {
  readonly peer: GatePeer;
  readonly ends: SocketEnds | undefined;
}

/** Finds the connection attempt of a stream. If libp2p wraps the stream, `wrap` registers the wrapper for the same attempt. */
export class ConnectionAttempts {
  readonly #attempts = new WeakMap<MessageStream, ConnectionAttempt>();
  readonly #passed = new Map<HubId, PassedPeer>();

  of(stream: MessageStream): ConnectionAttempt | undefined {
    return this.#attempts.get(stream);
  }

  set(stream: MessageStream, attempt: ConnectionAttempt): void {
    this.#attempts.set(stream, attempt);
  }

  /** Registers `outer`, which wraps `inner`, for the attempt of `inner`. */
  wrap(inner: MessageStream, outer: MessageStream): void {
    const attempt = this.of(inner);
    if (attempt) this.set(outer, attempt);
  }

  /** Records that the hub has passed the gate. When its connection opens, `takePassed` reads the record. */
  pass(attempt: ConnectionAttempt, peer: GatePeer): void {
    attempt.peer = peer.id;
    this.#passed.set(peer.id, { peer, ends: attempt.ends });
  }

  /** Returns and removes the record of a hub that has passed the gate. */
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
  /** Beginning of the error message, such as `No hub answers at 10.0.0.1:7481`. */
  readonly problem: string;
  /** Signal of the caller. If it aborts, the error is CANCELLED. */
  readonly signal: AbortSignal;
  /** Aborts when the engine stops. Its reason is the error for callers. */
  readonly stopped: AbortSignal;
}

/** Provides a signal that aborts with NODE_UNAVAILABLE after `limitMs`, or CANCELLED if the caller aborts. Dispose it after the wait. */
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
