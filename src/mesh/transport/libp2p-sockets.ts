import type { Socket } from 'node:net';
import type { Upgrader } from '@libp2p/interface';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { RefusalCounter } from './admission.ts';
import type { ConnectionAttempt, ConnectionAttempts } from './connection-attempt.ts';
import { formatHostPort, unmappedAddress } from './host-port.ts';
import type { ConnectionGate, PeerAddress } from './mesh-engine.ts';
import { dialTcp, endsOf, TcpConnection, toMultiaddr, unreachable } from './tcp-connection.ts';
import type { InboundLimiter } from './tcp-listener.ts';

/** What brings sockets to libp2p is made of. */
export interface Libp2pSocketsCollaborators {
  readonly upgrader: Upgrader;
  readonly attempts: ConnectionAttempts;
  readonly limiter: InboundLimiter;
  readonly refusals: RefusalCounter;
  /** For connections that come in. */
  readonly gate: ConnectionGate;
  /** Ends what is on its way. */
  readonly signal: AbortSignal;
}

/** How to dial. */
export interface DialOptions {
  readonly gate: ConnectionGate;
  readonly signal: AbortSignal;
}

/** Takes TCP sockets through handshake and gate; what passes, libp2p reports as an open connection. */
export class Libp2pSockets {
  readonly #parts: Libp2pSocketsCollaborators;

  constructor(parts: Libp2pSocketsCollaborators) {
    this.#parts = parts;
  }

  /** Dials and passes the gate; throws as `MeshEngine.connect` says, or CONFLICT with the hub's id in the details. */
  async dial(address: PeerAddress, { gate, signal }: DialOptions): Promise<HubId> {
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
    this.#parts.attempts.set(connection, attempt);
    try {
      await this.#parts.upgrader.upgradeOutbound(connection, { signal });
      if (attempt.peer) return attempt.peer;
      throw new AtmoError('INTERNAL_ERROR', `The connection to ${attempt.address} opened without passing the gate`);
    } catch (error) {
      connection.abort(toError(error));
      throw this.#outboundFailure(attempt, address, error);
    }
  }

  /** Takes a socket that came in through handshake and gate, or ends it. */
  async accept(socket: Socket): Promise<void> {
    const { remoteAddress: host, remotePort: port } = socket;
    if (host === undefined || port === undefined) return void socket.destroy();
    const entry = this.#parts.limiter.enter(host);
    if (entry !== 'entered') {
      this.#parts.refusals.count(entry);
      return void socket.resetAndDestroy();
    }
    try {
      const hasFailed = !(await this.#upgrade(socket, { host: unmappedAddress(host), port }));
      if (hasFailed) this.#parts.limiter.failed(host);
    } finally {
      this.#parts.limiter.done();
    }
  }

  /** False for somebody who has no business here; a second connection to a hub is no failure. */
  async #upgrade(socket: Socket, { host, port }: PeerAddress): Promise<boolean> {
    const { attempts, upgrader, gate, signal, refusals } = this.#parts;
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
    this.#parts.refusals.count('handshake_failed');
    return unreachable(address, new Error('what listens there is no hub, or the pre-shared keys differ', { cause: failure }));
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
