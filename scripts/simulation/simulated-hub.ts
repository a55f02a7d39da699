import type { Clock } from '../../src/core/clock.ts';
import { type DeviceDirectory, NO_DEVICES } from '../../src/core/devices/device-directory.ts';
import { EventBus } from '../../src/core/events.ts';
import type { HubId } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import type { OpenEnvelope } from '../../src/mesh/gossip/announcement-validator.ts';
import { Gossip } from '../../src/mesh/gossip/gossip.ts';
import type { GossipLimits } from '../../src/mesh/gossip/gossip-limits.ts';
import type { StateTransitions } from '../../src/mesh/gossip/hub-record.ts';
import type { StatementSource } from '../../src/mesh/gossip/statement-exchange.ts';
import type { OpenSummary } from '../../src/mesh/sites/summary-store.ts';
import type { RegisteredTool } from '../../src/tools/definition/tool-definition.ts';
import { ToolRegistry } from '../../src/tools/registry/tool-registry.ts';
import type { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { MemoryKeyValueStore } from '../../test/memory-key-value-store.ts';
import { MemoryEngine } from '../../test/mesh/memory-engine.ts';
import type { MemoryNetwork } from '../../test/mesh/memory-network.ts';
import { makeIdentity, type SimulatedAuthority, type SimulatedIdentity } from './simulated-authority.ts';
import { OVERHEAD_BYTES, SimulatedLinks } from './simulated-links.ts';

/** What all hubs of a simulation share. */
export interface SimulatedWorld {
  readonly clock: Clock;
  readonly network: MemoryNetwork;
  readonly authority: SimulatedAuthority;
  readonly links: Map<HubId, SimulatedLinks>;
  readonly latencyMs: number;
  readonly limits: Partial<GossipLimits>;
  readonly open: OpenEnvelope;
  readonly openSummary: OpenSummary;
  /** Hubs by id, as far as they run. */
  readonly running: Map<HubId, SimulatedHub>;
  readonly steps: StateTransitions;
  readonly validator: SchemaValidator;
  readonly random: () => number;
}

/** What is special about one hub. */
export interface SimulatedHubOptions {
  readonly name: string;
  readonly tools: readonly RegisteredTool[];
  readonly devices?: DeviceDirectory;
  readonly statements?: readonly StatementSource[];
  readonly identity?: SimulatedIdentity;
  readonly store?: KeyValueStore;
  /** Whether it has a network; it has when absent. */
  readonly isOnline?: () => boolean;
  readonly site?: string;
}

/** A hub that only gossips: the real announcer, directory and exchanges over an engine in memory. */
export class SimulatedHub {
  readonly id: HubId;
  readonly registry: ToolRegistry;
  readonly engine: MemoryEngine;
  readonly links: SimulatedLinks;
  readonly gossip: Gossip;
  /** Gossip as a flood sends it: each message once to every neighbour but the one it came from. */
  readonly sent = { messages: 0, bytes: 0 };
  readonly site: string | undefined;
  readonly #tools: readonly RegisteredTool[];
  readonly #running: Map<HubId, SimulatedHub>;

  constructor(
    world: SimulatedWorld,
    {
      name,
      tools,
      devices = NO_DEVICES,
      statements = [],
      identity = makeIdentity(),
      store = new MemoryKeyValueStore(world.clock),
      isOnline = () => true,
      site,
    }: SimulatedHubOptions,
  ) {
    const { clock, network, authority, random, open, openSummary, steps, validator, limits } = world;
    const certificate = authority.certify(identity);
    this.id = identity.hubId;
    this.site = site;
    this.#running = world.running;
    this.#tools = tools;
    this.registry = new ToolRegistry({ validator });
    const self = { id: identity.hubId, publicKey: identity.rawKey };
    this.engine = new MemoryEngine({ network, address: `${name}:1`, self, topic: site, gate: { admit: async () => undefined } });
    this.links = new SimulatedLinks(this.engine, { clock, all: world.links, latencyMs: world.latencyMs });
    this.gossip = new Gossip(
      {
        hub: identity,
        engine: this.#countedEngine(),
        links: this.links,
        meshId: () => 'mesh-simulated',
        certificate: () => certificate,
        certificates: authority,
        statements,
        registry: this.registry,
        devices,
        capabilities: () => [{ type: 'light_control', description: `Lights of a home with ${devices.list().length} devices` }],
        isOnline,
        addresses: () => [`${name}:1`],
        validator,
        store,
        clock,
        logger: silentLogger,
        events: new EventBus(`hub:${name}`, clock),
        random,
        open,
        openSummary,
        steps,
        visitors: authority,
        time: { now: () => clock.now(), isTrusted: () => true },
        connect: async (id) => {
          const other = this.#running.get(id);
          if (other) await this.connect(other);
        },
      },
      { name, version: '0.0.0', announcesDevices: true, limits, site },
    );
  }

  async start(): Promise<void> {
    for (const tool of this.#tools) this.registry.register(tool);
    await this.engine.start();
    await this.gossip.start();
    this.#running.set(this.id, this);
  }

  async connect(other: SimulatedHub): Promise<void> {
    const [host = '', port] = other.engine.listenAddresses()[0]?.split(':') ?? [];
    await this.engine.connect({ host, port: Number(port) }, { signal: new AbortController().signal });
  }

  /** With a goodbye. */
  async stop(): Promise<void> {
    this.#running.delete(this.id);
    await this.gossip[Symbol.asyncDispose]();
    await this.engine[Symbol.asyncDispose]();
  }

  /** As a power cut does it. */
  async crash(): Promise<void> {
    this.#running.delete(this.id);
    await this.engine[Symbol.asyncDispose]();
  }

  /** True when all these hubs are known with all their tools and definitions. */
  knows(hubs: readonly SimulatedHub[]): boolean {
    if (this.gossip.directory.hubs().length < hubs.length - 1) return false;
    return hubs.every((hub) => hub === this || this.#lists(hub)) && this.gossip.directory.missingBlobs().size === 0;
  }

  /** The same for one hub. */
  knowsHub(hub: SimulatedHub): boolean {
    return this.#lists(hub) && this.gossip.directory.missingBlobs().size === 0;
  }

  #lists(hub: SimulatedHub): boolean {
    return this.gossip.directory.hub(hub.id)?.tools.length === hub.registry.size;
  }

  #countedEngine(): Pick<MemoryEngine, 'publish' | 'onGossip'> {
    const count = (copies: number, bytes: number) => {
      this.sent.messages += copies;
      this.sent.bytes += copies * (bytes + OVERHEAD_BYTES);
    };
    return {
      publish: (message) => {
        count(this.engine.listeners().length, message.length);
        return this.engine.publish(message);
      },
      onGossip: (validate) => {
        this.engine.onGossip((message, from) => {
          const verdict = validate(message, from);
          if (verdict === 'accept' && from !== this.id) count(this.engine.listeners().length - 1, message.length);
          return verdict;
        });
      },
    };
  }
}
