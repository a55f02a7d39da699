import type { GossipSub } from '@libp2p/gossipsub';
import { identify } from '@libp2p/identify';
import type { ConnectionProtector, Libp2p, PrivateKey, Upgrader } from '@libp2p/interface';
import { noise } from '@libp2p/noise';
import { preSharedKey } from '@libp2p/pnet';
import { yamux } from '@libp2p/yamux';
import { createLibp2p } from 'libp2p';
import type { AdmissionDesk } from '../admission.ts';
import { GATE_TIMEOUT_MS } from '../admission.ts';
import type { ConnectionAttempts } from '../connection-attempt.ts';
import { meshGossipsub } from './gossip-settings.ts';
import { MemberEncrypter } from './member-encrypter.ts';
import { silentLogger } from './silent-logger.ts';

/** libp2p's own limit only prunes; ours refuses at the gate and is below it. */
const NO_LIMIT = 100_000;

/** What a node is made of. */
export interface Libp2pNodeParts {
  readonly privateKey: PrivateKey;
  readonly attempts: ConnectionAttempts;
  readonly desk: AdmissionDesk;
  /** 32 bytes that every member has too. */
  readonly preSharedKey?: Uint8Array | undefined;
}

/** libp2p as the mesh uses it: sockets come from outside and go through `upgrader`. */
export type Libp2pNode = Libp2p<{ pubsub: GossipSub; sockets: { readonly upgrader: Upgrader } }>;

/** Makes a node that neither listens, dials, discovers nor pings by itself. It has not started. */
export async function createNode({ privateKey, attempts, desk, preSharedKey }: Libp2pNodeParts): Promise<Libp2pNode> {
  return await createLibp2p({
    start: false,
    privateKey,
    logger: silentLogger,
    nodeInfo: { name: 'atmosphere-edge', version: '1', userAgent: 'atmosphere-edge' },
    ...(preSharedKey && { connectionProtector: () => protector(preSharedKey, attempts) }),
    connectionEncrypters: [(components) => new MemberEncrypter({ noise: noise()(components), attempts, desk })],
    // The control stream has a heartbeat of its own: two more would only cost.
    streamMuxers: [yamux({ enableKeepAlive: false, maxInboundStreams: 256, maxOutboundStreams: 256 })],
    connectionMonitor: { enabled: false },
    connectionManager: {
      maxConnections: NO_LIMIT,
      inboundConnectionThreshold: NO_LIMIT,
      maxIncomingPendingConnections: NO_LIMIT,
      inboundUpgradeTimeout: GATE_TIMEOUT_MS,
      reconnectRetries: 0,
    },
    services: {
      identify: identify({ maxObservedAddresses: 1 }),
      pubsub: meshGossipsub(),
      sockets: ({ upgrader }: { upgrader: Upgrader }) => ({ upgrader }),
    },
  });
}

function protector(key: Uint8Array, attempts: ConnectionAttempts): ConnectionProtector {
  const text = `/key/swarm/psk/1.0.0/\n/base16/\n${Buffer.from(key).toString('hex')}`;
  const inner = preSharedKey({ psk: new TextEncoder().encode(text) })();
  return {
    protect: async (connection, options) => {
      const outer = await inner.protect(connection, options);
      attempts.wrap(connection, outer);
      return outer;
    },
  };
}
