import type { Socket } from 'node:net';
import type { Upgrader } from '@libp2p/interface';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { ConnectionAttempt, ConnectionAttempts, RefusalCounter } from './admission.ts';
import { type ConnectionGate, formatHostPort, type PeerAddress, unmappedAddress } from './mesh-engine.ts';
import { dialTcp, endsOf, type InboundLimiter, TcpConnection, toMultiaddr, unreachable } from './tcp-connection.ts';

interface Libp2pSocketsCollaborators {
  readonly upgrader: Upgrader;
  readonly attempts: ConnectionAttempts;
  readonly limiter: InboundLimiter;
  readonly refusals: RefusalCounter;
  readonly gate: ConnectionGate;
  /** If it aborts, the unfinished inbound connection attempts end. */
  readonly signal: AbortSignal;
}

/** Runs the handshake and the gate on TCP sockets. An admitted socket becomes an open connection of libp2p. */
export class Libp2pSockets {
  readonly #collaborators: Libp2pSocketsCollaborators;

  constructor(collaborators: Libp2pSocketsCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Dials a hub and passes the gate. Rejects like `MeshEngine.connect`, or with CONFLICT if another connection to the hub exists. */
  async dial(address: PeerAddress, { gate, signal }: { readonly gate: ConnectionGate; readonly signal: AbortSignal }): Promise<HubId> {
    const socket = await dialTcp(address, signal);
    const attempt: ConnectionAttempt = {
      direction: 'outbound',
      address: formatHostPort(address),
      gate,
      expect: address.expect,
      signal,
      ends: endsOf(socket),
    };
    const connection = new TcpConnection(socket, 'outbound', toMultiaddr(address.host, address.port));
    this.#collaborators.attempts.set(connection, attempt);
    try {
      await this.#collaborators.upgrader.upgradeOutbound(connection, { signal });
      if (attempt.peer) return attempt.peer;
      throw new AtmoError('INTERNAL_ERROR', `The connection to ${attempt.address} opened without passing the gate`);
    } catch (error) {
      connection.abort(toError(error));
      throw this.#outboundFailure(attempt, address, error);
    }
  }

  /** Runs the handshake and the gate on an inbound socket. Closes the socket if a limit or the gate refuses it. */
  async accept(socket: Socket): Promise<void> {
    const { remoteAddress: host, remotePort: port } = socket;
    if (host === undefined || port === undefined) return void socket.destroy();
    const entry = this.#collaborators.limiter.enter(host);
    if (entry !== 'entered') {
      this.#collaborators.refusals.count(entry);
      return void socket.resetAndDestroy();
    }
    try {
      const hasFailed = !(await this.#upgrade(socket, { host: unmappedAddress(host), port }));
      if (hasFailed) this.#collaborators.limiter.failed(host);
    } finally {
      this.#collaborators.limiter.done();
    }
  }

  /** Runs the handshake and the gate. Returns false if they fail, but true if they fail only because the hub has another connection. */
  async #upgrade(socket: Socket, { host, port }: PeerAddress): Promise<boolean> {
    const { attempts, upgrader, gate, signal, refusals } = this.#collaborators;
    const connection = new TcpConnection(socket, 'inbound', toMultiaddr(host, port));
    const address = formatHostPort({ host, port });
    const attempt: ConnectionAttempt = { direction: 'inbound', address, gate, signal, ends: endsOf(socket) };
    attempts.set(connection, attempt);
    try {
      await upgrader.upgradeInbound(connection, { signal });
      return true;
    } catch (error) {
      if (!attempt.error) refusals.count('handshake_failed');
      connection.abort(toError(error));
      return attempt.error instanceof AtmoError && attempt.error.code === 'CONFLICT';
    }
  }

  #outboundFailure(attempt: ConnectionAttempt, address: PeerAddress, error: unknown): AtmoError {
    if (attempt.signal.aborted && attempt.signal.reason instanceof AtmoError) return attempt.signal.reason;
    if (attempt.error instanceof AtmoError) return attempt.error;
    const failure = toError(attempt.error ?? error);
    if (attempt.error) return new AtmoError('INTERNAL_ERROR', `The gate failed for ${attempt.address}`, {}, { cause: failure });
    this.#collaborators.refusals.count('handshake_failed');
    return unreachable(address, new Error('another service listens there, or the pre-shared keys differ', { cause: failure }));
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
