import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { hubIdOf } from '../../../src/codec/public-key.ts';
import type { HubId } from '../../../src/core/ids.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import type { BucketRate } from '../../../src/mesh/rate-limit.ts';
import { ControlLinks } from '../../../src/mesh/rpc/control-links.ts';
import type { PeerLink } from '../../../src/mesh/rpc/peer-link.ts';
import type { ConnectionGate, MeshEngine } from '../../../src/mesh/transport/mesh-engine.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryEngine } from '../memory-engine.ts';
import { MemoryNetwork } from '../memory-network.ts';
import { runClock } from '../run-clock.ts';

/** Lets everybody in. */
export const OPEN_GATE: ConnectionGate = {
  admit: async (channel, { direction }) => {
    if (direction === 'outbound') await channel.write(Uint8Array.of(1));
    await channel.read();
    if (direction === 'inbound') await channel.write(Uint8Array.of(1));
  },
};

export interface HubIdentity {
  readonly id: HubId;
  readonly publicKey: string;
  readonly key: KeyObject;
  readonly verifyKey: KeyObject;
}

/** Hub keys, lowest id first. */
export function identities(count: number): readonly HubIdentity[] {
  const made = Array.from({ length: count }, () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const raw = publicKey.export({ format: 'jwk' }).x ?? '';
    return { id: hubIdOf(raw), publicKey: raw, key: privateKey, verifyKey: publicKey };
  });
  return made.sort((a, b) => (a.id < b.id ? -1 : 1));
}

export class CountedDrops {
  readonly counts: Record<string, number> = {};
  count(reason: string): void {
    this.counts[reason] = (this.counts[reason] ?? 0) + 1;
  }
}

interface HubOptions {
  readonly rate?: BucketRate;
  readonly linksRun?: boolean;
  /** What the links see instead of the engine. */
  readonly wrap?: (engine: MeshEngine) => MeshEngine;
}

/** Engines in one memory network, each with its links. */
export class LinkFixture implements AsyncDisposable {
  readonly #latencyMs: () => number;
  readonly clock = new ManualClock();
  readonly network: MemoryNetwork;
  readonly hubs: {
    readonly identity: HubIdentity;
    readonly engine: MemoryEngine;
    readonly links: ControlLinks;
    readonly drops: CountedDrops;
  }[] = [];

  constructor({ latencyMs = 0 }: { readonly latencyMs?: number | (() => number) } = {}) {
    this.#latencyMs = typeof latencyMs === 'number' ? () => latencyMs : latencyMs;
    this.network = new MemoryNetwork({ clock: this.clock, latencyMs: this.#latencyMs });
  }

  async add(identity: HubIdentity, options: HubOptions = {}) {
    const { id, publicKey } = identity;
    const engine = new MemoryEngine({ network: this.network, address: `${id}:1`, self: { id, publicKey }, gate: OPEN_GATE });
    const drops = new CountedDrops();
    const seen = options.wrap?.(engine) ?? engine;
    const links = new ControlLinks({ engine: seen, clock: this.clock, logger: silentLogger, drops }, options);
    await engine.start();
    if (options.linksRun ?? true) await links.start();
    const hub = { identity, engine, links, drops };
    this.hubs.push(hub);
    return hub;
  }

  /** Dials, and lets the control streams be opened. */
  async connect(from: number, to: number): Promise<void> {
    const target = this.hubs[to]?.engine.id ?? '';
    const dialled = this.hubs[from]?.engine.connect({ host: target, port: 1 }, { signal: new AbortController().signal });
    const latencyMs = this.#latencyMs();
    const greetingMs = 12 * latencyMs;
    const stepMs = latencyMs || 250;
    await this.run(greetingMs, stepMs);
    await dialled;
    await this.run(greetingMs, stepMs);
  }

  run(ms: number, stepMs?: number): Promise<void> {
    return runClock(this.clock, ms, stepMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { links, engine } of this.hubs) {
      await links[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    }
  }
}

export function requireLink(link: PeerLink | undefined): PeerLink {
  if (link) return link;
  throw new Error('there is no link');
}

export const never = new AbortController().signal;
