import { generateKeyPairSync } from 'node:crypto';
import { Libp2pEngine } from '../../src/mesh/transport/libp2p-engine.ts';
import { openGate } from '../mesh/transport/engine-fixtures.ts';

/** A hub's engine in a process of its own; says its port and lives until it is killed. */
const engine = new Libp2pEngine({
  key: generateKeyPairSync('ed25519').privateKey,
  gate: openGate,
  listen: { host: '127.0.0.1', port: 0 },
});
await engine.start();
console.log(engine.listenAddresses()[0]?.split(':').at(-1));
