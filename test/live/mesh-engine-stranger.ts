import { generateKeyPairSync } from 'node:crypto';
import type { ConnectionEncrypter, MessageStream, SecuredConnection, Upgrader } from '@libp2p/interface';
import { noise } from '@libp2p/noise';
import { type LengthPrefixedStream, lpStream } from '@libp2p/utils';
import { yamux } from '@libp2p/yamux';
import { createLibp2p } from 'libp2p';
import { toLibp2pKey } from '../../src/mesh/transport/libp2p-key.ts';
import type { PeerAddress } from '../../src/mesh/transport/mesh-engine.ts';
import { dialTcp, silentLogger, TcpConnection, toMultiaddr } from '../../src/mesh/transport/tcp-connection.ts';
import type { Stranger } from '../mesh/transport/engine-lab.ts';

/** A libp2p node with a key of its own that speaks Noise under the hub's protocol name and then says at the gate what the test wants. */
export async function knock(to: PeerAddress): Promise<Stranger> {
  const inGate = Promise.withResolvers<LengthPrefixedStream>();
  const cut = Promise.withResolvers<void>();
  const node = await createLibp2p({
    start: false,
    privateKey: toLibp2pKey(generateKeyPairSync('ed25519').privateKey),
    logger: silentLogger,
    connectionEncrypters: [(components) => new GateCrasher(noise()(components), inGate.resolve)],
    streamMuxers: [yamux()],
    services: { sockets: ({ upgrader }: { upgrader: Upgrader }) => ({ upgrader }) },
  });
  const connection = new TcpConnection(await dialTcp(to, AbortSignal.timeout(5_000)), 'outbound', toMultiaddr(to.host, to.port));
  connection.addEventListener('close', () => cut.resolve());
  node.services.sockets.upgrader
    .upgradeOutbound(connection, { signal: AbortSignal.timeout(30_000) })
    .catch(() => connection.abort(new Error('over')));
  const gate = await inGate.promise;
  return { write: (message) => void gate.write(message).catch(() => undefined), cut: cut.promise };
}

class GateCrasher implements ConnectionEncrypter {
  readonly protocol = '/atmosphere-edge/noise/1';
  readonly #noise: ConnectionEncrypter;
  readonly #inGate: (messages: LengthPrefixedStream) => void;

  constructor(noise: ConnectionEncrypter, inGate: (messages: LengthPrefixedStream) => void) {
    this.#noise = noise;
    this.#inGate = inGate;
  }

  async secureOutbound(connection: MessageStream): Promise<SecuredConnection> {
    const secured = await this.#noise.secureOutbound(connection);
    this.#inGate(lpStream(secured.connection));
    return await new Promise<SecuredConnection>(() => undefined);
  }

  async secureInbound(connection: MessageStream): Promise<SecuredConnection> {
    return await this.#noise.secureInbound(connection);
  }
}
