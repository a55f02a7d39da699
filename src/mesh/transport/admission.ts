import { type Clock, orAborted } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { type ConnectionGate, type GateChannel, type GatePeer, MAX_GATE_MESSAGE_BYTES } from './mesh-engine.ts';

/** What the gate may take in all, milliseconds. */
export const GATE_TIMEOUT_MS = 5_000;
/** Longest message of a `GateTransport`: one byte tells what it is. */
export const MAX_GATE_TRANSPORT_BYTES = MAX_GATE_MESSAGE_BYTES + 1;

const MESSAGE = 0;
const ADMITTED = 1;
const DUPLICATE = 2;
const REFUSED = 3;

/** Messages over the encrypted connection before it is handed on. */
export interface GateTransport {
  write(message: Uint8Array): Promise<void>;
  /** Rejects with the signal's reason, with PAYLOAD_TOO_LARGE for a message that is too long, or when the peer closes. */
  read(signal: AbortSignal): Promise<Uint8Array>;
}

/** Which connections there may be. */
export interface ConnectionSlots {
  isFullFor(id: HubId): boolean;
  claim(id: HubId): boolean;
  takeOver(id: HubId): void;
  release(id: HubId): void;
}

/** What stays the same for all connections of an engine. */
export interface AdmissionPolicy {
  readonly self: HubId;
  readonly seats: ConnectionSlots;
  readonly refusals: RefusalCounter;
  readonly clock: Clock;
}

/** One connection that wants to be one. */
export interface AdmissionRequest {
  readonly transport: GateTransport;
  readonly gate: ConnectionGate;
  readonly peer: GatePeer;
  readonly expect?: HubId | undefined;
  readonly signal: AbortSignal;
}

/**
 * Runs the gate, then agrees with the other hub that this is the one connection between the two. Of such a pair the hub
 * with the lower id decides, so that hubs that dial each other at the same moment keep the same connection. On return the
 * peer's seat is taken. Throws PERMISSION_DENIED for a refusal on either side, or what the own gate threw; RESOURCE_EXCEEDED
 * when there are too many connections; CONFLICT when there is another connection to the hub, whose id the details tell as `hub`; TIMEOUT; NODE_UNAVAILABLE when
 * the peer closed.
 */
export async function admit(desk: AdmissionPolicy, applicant: AdmissionRequest): Promise<void> {
  const timeout = new AbortController();
  const timedOut = () => timeout.abort(new AtmoError('TIMEOUT', `The gate of ${applicant.peer.address} took longer than 5 s`));
  const cancelTimeout = desk.clock.after(GATE_TIMEOUT_MS, timedOut);
  const end = () => timeout.abort(endOf(applicant));
  applicant.signal.addEventListener('abort', end);
  if (applicant.signal.aborted) end();
  try {
    await new Admission(desk, applicant, timeout.signal).run();
  } finally {
    cancelTimeout();
    applicant.signal.removeEventListener('abort', end);
  }
}

class Admission {
  readonly #desk: AdmissionPolicy;
  readonly #applicant: AdmissionRequest;
  readonly #signal: AbortSignal;
  #reason: RefusalReason | undefined;

  constructor(desk: AdmissionPolicy, applicant: AdmissionRequest, signal: AbortSignal) {
    this.#desk = desk;
    this.#applicant = applicant;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    try {
      this.#checkPeer();
      await this.#runGate();
      this.#checkSeat();
      await this.#agree();
    } catch (error) {
      this.#desk.refusals.count(this.#reason ?? reasonOf(error));
      await this.#tell(error);
      throw error;
    }
  }

  #checkPeer(): void {
    const { peer, expect } = this.#applicant;
    if (peer.id === this.#desk.self) throw this.#refusal('self', `${peer.address} is this hub itself`);
    if (expect !== undefined && peer.id !== expect) throw this.#refusal('wrong_hub', `${peer.address} is ${peer.id}, not ${expect}`);
    this.#checkSeat();
  }

  #checkSeat(): void {
    const { peer } = this.#applicant;
    if (!this.#desk.seats.isFullFor(peer.id)) return;
    this.#reason = 'too_many_connections';
    throw new AtmoError('RESOURCE_EXCEEDED', `No room for a connection to ${peer.id}: disconnect another hub, or raise the limit`);
  }

  async #runGate(): Promise<void> {
    const { gate, peer } = this.#applicant;
    const channel: GateChannel = { write: (message) => this.#write(message), read: () => this.#readMessage() };
    await orAborted(gate.admit(channel, peer), this.#signal);
  }

  async #agree(): Promise<void> {
    const { peer, transport } = this.#applicant;
    const { self, seats } = this.#desk;
    if (self > peer.id) {
      await transport.write(Uint8Array.of(ADMITTED));
      await this.#readAdmitted();
      seats.takeOver(peer.id);
      return;
    }
    await this.#readAdmitted();
    if (!seats.claim(peer.id)) throw this.#duplicate();
    try {
      await transport.write(Uint8Array.of(ADMITTED));
    } catch (error) {
      seats.release(peer.id);
      throw error;
    }
  }

  async #write(message: Uint8Array): Promise<void> {
    if (message.length > MAX_GATE_MESSAGE_BYTES)
      throw new AtmoError('PAYLOAD_TOO_LARGE', `A gate message of ${message.length} bytes is longer than ${MAX_GATE_MESSAGE_BYTES}`);
    const framed = new Uint8Array(message.length + 1);
    framed[0] = MESSAGE;
    framed.set(message, 1);
    await this.#applicant.transport.write(framed);
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
    const framed = await this.#applicant.transport.read(this.#signal);
    return { kind: framed[0], body: framed.subarray(1) };
  }

  #endedBy(kind: number | undefined): AtmoError {
    const { peer } = this.#applicant;
    if (kind === DUPLICATE) return this.#duplicate();
    if (kind === REFUSED) return this.#refusal('refused_by_peer', `${peer.id} at ${peer.address} does not let this hub in`);
    return this.#refusal('gate_malformed', `${peer.id} at ${peer.address} does not keep to the protocol of the gate`);
  }

  #duplicate(): AtmoError {
    this.#reason = 'duplicate';
    return new AtmoError('CONFLICT', `There is another connection to ${this.#applicant.peer.id} already`, { hub: this.#applicant.peer.id });
  }

  #refusal(reason: RefusalReason, problem: string): AtmoError {
    this.#reason = reason;
    return new AtmoError('PERMISSION_DENIED', `The connection was refused: ${problem}`);
  }

  /** The peer learns that it was refused, not why: what it may know, the gate has said. */
  async #tell(error: unknown): Promise<void> {
    const isDuplicate = error instanceof AtmoError && error.code === 'CONFLICT';
    await this.#applicant.transport.write(Uint8Array.of(isDuplicate ? DUPLICATE : REFUSED)).catch(() => undefined);
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

/** Why an engine turned something away. */
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

/** Counts what was turned away, by reason. */
export class RefusalCounter {
  readonly #counts = new Map<RefusalReason, number>();

  count(reason: RefusalReason): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  totals(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}
