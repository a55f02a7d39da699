import type { HubId } from '../../src/core/ids.ts';
import { selectNeighbours } from '../../src/mesh/discovery/neighbour-choice.ts';
import { GOSSIP_LIMITS } from '../../src/mesh/gossip/gossip-limits.ts';
import type { RegisteredTool } from '../../src/tools/definition/tool-definition.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { MemoryNetwork } from '../../test/mesh/memory-network.ts';
import { seededRandom } from '../../test/seeded-random.ts';
import { SharedStates } from './shared-states.ts';
import { SharedVerification } from './shared-verification.ts';
import { SimulatedAuthority } from './simulated-authority.ts';
import { SimulatedHub, type SimulatedHubOptions, type SimulatedWorld } from './simulated-hub.ts';
import { SimulationClock } from './simulation-clock.ts';

interface SimulationOptions {
  /** One way, milliseconds. */
  readonly latencyMs?: number;
  readonly seed?: number;
}

/** Hubs in one process that connect and hear of each other as real ones do. What is the same on all of them is kept once. */
export class SimulatedMesh implements AsyncDisposable {
  readonly clock = new SimulationClock();
  readonly network: MemoryNetwork;
  readonly authority = new SimulatedAuthority();
  readonly verification = new SharedVerification();
  readonly hubs: SimulatedHub[] = [];
  readonly #world: SimulatedWorld;

  constructor({ latencyMs = 2, seed = 1 }: SimulationOptions = {}) {
    const random = seededRandom(seed);
    this.network = new MemoryNetwork({ clock: this.clock, latencyMs: () => latencyMs, random });
    this.#world = {
      clock: this.clock,
      network: this.network,
      authority: this.authority,
      links: new Map(),
      latencyMs,
      limits: { maxHubs: 2_048, maxBytes: 16 * GOSSIP_LIMITS.maxBytes },
      open: this.verification.open,
      openSummary: this.verification.openSummary,
      running: new Map(),
      steps: new SharedStates(),
      validator: new SchemaValidator(),
      random,
    };
  }

  /** Starts a hub that knows nobody. */
  async add(options: Partial<SimulatedHubOptions> & { readonly tools: readonly RegisteredTool[] }): Promise<SimulatedHub> {
    const hub = new SimulatedHub(this.#world, { name: `hub${this.hubs.length}`, ...options });
    this.hubs.push(hub);
    await hub.start();
    return hub;
  }

  /** Connects a hub with those that it chooses; done once time went on. */
  async join(hub: SimulatedHub): Promise<void> {
    await Promise.all(dialsOf(hub, this.hubs, (other) => !hub.links.to(other)));
  }

  /** Connects all hubs with those that they choose, at the same moment. */
  async connectAll(): Promise<void> {
    const dials = this.hubs.flatMap((hub) => dialsOf(hub, this.hubs, (other) => hub.id < other));
    await this.clock.run(20);
    await Promise.all(dials);
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

/** Connects a hub with those of `hubs` that it chooses and that `isDialled` allows. */
export function dialsOf(hub: SimulatedHub, hubs: readonly SimulatedHub[], isDialled: (id: HubId) => boolean): readonly Promise<void>[] {
  const byId = new Map(hubs.map((other) => [other.id, other]));
  const chosen = [...selectNeighbours(hub.id, byId.keys())].filter(isDialled);
  return chosen.flatMap((id) => byId.get(id) ?? []).map((other) => hub.connect(other));
}
