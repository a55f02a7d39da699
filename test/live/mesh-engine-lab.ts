import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { HubId } from '../../src/core/ids.ts';
import { Libp2pEngine, type Libp2pEngineOptions } from '../../src/mesh/transport/libp2p-engine.ts';
import { hubIdOfKey } from '../../src/mesh/transport/libp2p-key.ts';
import type { MeshEngine, PeerAddress } from '../../src/mesh/transport/mesh-engine.ts';
import { openGate } from '../mesh/transport/engine-fixtures.ts';
import type { EngineLab, LabIdentity, LabOptions, Stranger } from '../mesh/transport/engine-lab.ts';
import { knock } from './mesh-engine-stranger.ts';

const HOST = '127.0.0.1';

/** Engines over TCP on 127.0.0.1. */
export class Libp2pLab implements EngineLab {
  readonly #engines: Libp2pEngine[] = [];
  readonly #keys = new Map<HubId, KeyObject>();

  identity(): LabIdentity {
    const { privateKey } = generateKeyPairSync('ed25519');
    const id = hubIdOfKey(privateKey);
    this.#keys.set(id, privateKey);
    return { id };
  }

  async engine(options: LabOptions = {}): Promise<Libp2pEngine> {
    const { identity = this.identity(), gate = openGate, maxConnections, at } = options;
    return await this.start(identity, { gate, listen: { host: HOST, port: at?.port ?? 0 }, ...(maxConnections && { maxConnections }) });
  }

  /** An engine with any of the settings of this kind. */
  async start(identity: LabIdentity, parts: Omit<Libp2pEngineOptions, 'key'>): Promise<Libp2pEngine> {
    const key = this.#keys.get(identity.id) ?? generateKeyPairSync('ed25519').privateKey;
    const engine = new Libp2pEngine({ key, ...parts });
    this.#engines.push(engine);
    await engine.start();
    return engine;
  }

  addressOf(engine: MeshEngine): PeerAddress {
    return { host: HOST, port: Number(engine.listenAddresses()[0]?.split(':').at(-1)) };
  }

  nowhere(): PeerAddress {
    return { host: HOST, port: 1 };
  }

  async stranger(to: PeerAddress): Promise<Stranger> {
    return await knock(to);
  }

  async pass(ms: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, ms));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const engine of this.#engines) await engine[Symbol.asyncDispose]();
  }
}
