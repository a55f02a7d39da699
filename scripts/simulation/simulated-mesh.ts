import { MemoryNetwork } from '../../src/mesh/engine/memory-network.ts';
import { GOSSIP_LIMITS } from '../../src/mesh/gossip/gossip-limits.ts';
import type { RegisteredTool } from '../../src/tools/tool-definition.ts';
import { SharedVerification } from './shared-verification.ts';
import { SimulatedAuthority } from './simulated-authority.ts';
import { SimulatedHub, type SimulatedHubOptions, type SimulatedWorld } from './simulated-hub.ts';
import { SimulationClock } from './simulation-clock.ts';

interface SimulationOptions {
  /** Most neighbours of a hub, and how many it has where there are enough others. */
  readonly degree: number;
  /** One way, milliseconds. */
  readonly latencyMs?: number;
  readonly seed?: number;
}

/** Hubs in one process that hear of each other over a random graph. */
export class SimulatedMesh implements AsyncDisposable {
  readonly clock = new SimulationClock();
  readonly network: MemoryNetwork;
  readonly authority = new SimulatedAuthority();
  readonly verification = new SharedVerification();
  readonly hubs: SimulatedHub[] = [];
  readonly #world: SimulatedWorld;
  readonly #degree: number;
  readonly #random: () => number;

  constructor({ degree, latencyMs = 2, seed = 1 }: SimulationOptions) {
    this.#degree = degree;
    this.#random = seededRandom(seed);
    this.network = new MemoryNetwork({ clock: this.clock, latencyMs: () => latencyMs, random: this.#random });
    this.#world = {
      clock: this.clock,
      network: this.network,
      authority: this.authority,
      links: new Map(),
      latencyMs,
      limits: { maxHubs: 2_048, maxBytes: 16 * GOSSIP_LIMITS.maxBytes },
      open: this.verification.open,
      random: this.#random,
    };
  }

  /** Starts a hub that knows nobody. */
  async add(options: Partial<SimulatedHubOptions> & { readonly tools: readonly RegisteredTool[] }): Promise<SimulatedHub> {
    const hub = new SimulatedHub(this.#world, { name: `hub${this.hubs.length}`, ...options });
    this.hubs.push(hub);
    await hub.start();
    return hub;
  }

  /** Connects a hub with random others that have room; done once time went on. */
  async join(hub: SimulatedHub): Promise<void> {
    const dials: Promise<void>[] = [];
    const others = shuffled(this.hubs, this.#random).filter((other) => other !== hub && !hub.links.to(other.id));
    for (const other of others.filter(({ links }) => links.links().length < this.#degree)) {
      if (dials.length >= this.#degree - hub.links.links().length) break;
      dials.push(hub.connect(other));
    }
    // Where all are full the one that comes last still gets a neighbour.
    if (dials.length === 0 && hub.links.links().length === 0 && others[0]) dials.push(hub.connect(others[0]));
    await Promise.all(dials);
  }

  /** A random graph, each hub connected with two that came before it at least where there are as many. */
  async connectAll(): Promise<void> {
    for (const [index, hub] of this.hubs.entries()) {
      const before = shuffled(this.hubs.slice(0, index), this.#random);
      const free = before.filter(({ links }) => links.links().length < this.#degree);
      const dials = (free.length > 0 ? free : before).slice(0, Math.ceil(this.#degree / 2)).map((other) => hub.connect(other));
      const done = Promise.all(dials);
      await this.clock.run(20);
      await done;
    }
  }

  /** Simulated milliseconds until all know all with all definitions, or `withinMs`. */
  async converge(withinMs: number): Promise<number> {
    const unsure = new Set(this.hubs);
    return await this.clock.run(withinMs, () => {
      for (const hub of unsure) {
        if (!hub.knows(this.hubs)) return false;
        unsure.delete(hub);
      }
      return true;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const hub of this.hubs) await hub.crash();
  }
}

/** Mulberry32: the same numbers in every run. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const result = [...items];
  for (let index = result.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1));
    const item = result[index] as Item;
    result[index] = result[other] as Item;
    result[other] = item;
  }
  return result;
}
