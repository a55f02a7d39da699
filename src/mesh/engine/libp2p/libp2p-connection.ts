import type { Connection } from '@libp2p/interface';
import { AtmoError } from '../../../core/errors.ts';
import type { PassedPeer } from '../connection-attempt.ts';
import type { ArrivalCheck, EnginePeer } from '../mesh-engine.ts';
import type { TableConnection } from '../peer-table.ts';
import type { RefusalCounter } from '../refusal-counter.ts';
import { arrivalCheck } from '../tcp/socket-ends.ts';
import { Libp2pStream, type StreamRoute } from './libp2p-stream.ts';

/** A libp2p connection to a hub that passed the gate. */
export class Libp2pConnection implements TableConnection, StreamRoute {
  readonly peer: EnginePeer;
  /** Address of this machine that it uses. */
  readonly localHost: string | undefined;
  readonly hasArrived: ArrivalCheck | undefined;
  readonly #connection: Connection;

  constructor(connection: Connection, { peer, ends }: PassedPeer) {
    this.#connection = connection;
    this.peer = peer;
    this.localHost = ends?.localHost;
    this.hasArrived = ends && arrivalCheck(ends);
  }

  is(connection: Connection): boolean {
    return this.#connection === connection;
  }

  get remotePeer(): Connection['remotePeer'] {
    return this.#connection.remotePeer;
  }

  /** NODE_UNAVAILABLE when the peer does not take the stream; the signal's reason. */
  async openStream(protocol: string, refusals: RefusalCounter, signal: AbortSignal): Promise<Libp2pStream> {
    try {
      const stream = new Libp2pStream(await this.#connection.newStream(protocol, { signal }), this, refusals);
      const abort = () => stream.abort();
      signal.addEventListener('abort', abort, { once: true });
      await stream.taken().finally(() => signal.removeEventListener('abort', abort));
      return stream;
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      const problem = `${this.peer.id} takes no stream of ${protocol}: it does not know the protocol, or has too many`;
      throw new AtmoError('NODE_UNAVAILABLE', problem, {}, { cause });
    }
  }

  drop(): void {
    this.#connection.abort(new Error('ended by this hub'));
  }

  /** Ends it after what was sent. */
  async close(): Promise<void> {
    await this.#connection.close().catch(() => this.drop());
  }
}
