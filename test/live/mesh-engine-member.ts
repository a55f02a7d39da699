import { generateKeyPairSync } from 'node:crypto';
import type { Connection } from '@libp2p/interface';
import { systemClock } from '../../src/core/clock.ts';
import { ConnectionAttempts, RefusalCounter } from '../../src/mesh/transport/admission.ts';
import { hubIdOfKey, toLibp2pKey } from '../../src/mesh/transport/libp2p-key.ts';
import { createNode, type Libp2pNode } from '../../src/mesh/transport/libp2p-node.ts';
import { Libp2pSockets } from '../../src/mesh/transport/libp2p-sockets.ts';
import type { PeerAddress } from '../../src/mesh/transport/mesh-engine.ts';
import { PeerTable } from '../../src/mesh/transport/peer-table.ts';
import { InboundLimiter } from '../../src/mesh/transport/tcp-connection.ts';
import { openGate } from '../mesh/transport/engine-fixtures.ts';

/** A member that passes the gate honestly and then says on its streams what the test wants. */
export interface BadMember extends AsyncDisposable {
  readonly node: Libp2pNode;
  readonly connection: Connection;
}

/** Connects a bad member to an engine. */
export async function joinBadly(to: PeerAddress): Promise<BadMember> {
  const key = generateKeyPairSync('ed25519').privateKey;
  const [attempts, refusals] = [new ConnectionAttempts(), new RefusalCounter()];
  const policy = { self: hubIdOfKey(key), slots: new PeerTable(systemClock, 8), refusals, clock: systemClock };
  const node = await createNode({ privateKey: toLibp2pKey(key), attempts, policy });
  const opened = Promise.withResolvers<Connection>();
  node.addEventListener('connection:open', ({ detail }) => opened.resolve(detail));
  await node.start();
  const sockets = new Libp2pSockets({
    upgrader: node.services.sockets.upgrader,
    attempts,
    refusals,
    limiter: new InboundLimiter(systemClock, { perSourcePerSecond: 1, pending: 1 }),
    gate: openGate,
    signal: new AbortController().signal,
  });
  await sockets.dial(to, { gate: openGate, signal: AbortSignal.timeout(5_000) });
  return { node, connection: await opened.promise, [Symbol.asyncDispose]: () => Promise.resolve(node.stop()) };
}
