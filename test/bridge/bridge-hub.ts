import { expect, vi } from 'vitest';
import { BridgeService } from '../../src/bridge/bridge-service.ts';
import { BridgeStore } from '../../src/bridge/bridge-store.ts';
import { type BridgedThing, deviceThings, outputThing, sceneThing, sensorThing } from '../../src/bridge/bridged-things.ts';
import type { ThingQuery } from '../../src/bridge/thing-finder.ts';
import { OWNER } from '../../src/core/auth/principal.ts';
import type { BridgedEndpoint, BridgeNode, BridgeNodeOptions, EcosystemFabric } from '../../src/core/devices/matter-bridge.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { EventBus } from '../../src/core/events.ts';
import { HubProblems } from '../../src/core/health.ts';
import type { Json } from '../../src/core/json.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { FakeTokens } from './fake-tokens.ts';

/** A bridge without Matter. It keeps its fabrics, its endpoints and their last values when the hub stops, as a stored node does. */
export class FakeNode implements BridgeNode {
  readonly port = 5550;
  readonly shown = new Map<string, BridgedEndpoint>();
  readonly numbers = new Map<string, number>();
  fabrics: EcosystemFabric[] = [];
  cannotRemove = false;
  /** Names of the things that cannot be shown. */
  readonly hidden = new Set<string>();
  options: BridgeNodeOptions | undefined;

  async put(endpoint: BridgedEndpoint): Promise<number> {
    if (this.hidden.has(endpoint.name)) throw new AtmoError('STORAGE_FAILED', 'no space is left');
    this.shown.set(endpoint.id, endpoint);
    const number = endpoint.number ?? this.numbers.get(endpoint.id) ?? this.numbers.size + 2;
    this.numbers.set(endpoint.id, number);
    return number;
  }

  async remove(id: string): Promise<void> {
    this.shown.delete(id);
  }

  async update(id: string, { values, isReachable }: Parameters<BridgeNode['update']>[1]): Promise<void> {
    const before = this.shown.get(id);
    if (!before) return;
    this.shown.set(id, { ...before, isReachable: isReachable ?? before.isReachable, values: { ...before.values, ...values } });
  }

  async openWindow() {
    return { qrCode: 'MT:X', manualCode: '1', expiresAtMs: 0 };
  }

  async closeWindow(): Promise<void> {}

  ecosystems(): readonly EcosystemFabric[] {
    return this.fabrics;
  }

  async removeEcosystem(fabricIndex: number): Promise<void> {
    if (this.cannotRemove) throw new AtmoError('NODE_UNAVAILABLE', 'the fabric does not leave');
    this.fabrics = this.fabrics.filter((one) => one.fabricIndex !== fabricIndex);
    this.options?.onEcosystemsChanged();
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Returns a thing by its name. */
  named(name: string): BridgedEndpoint {
    return [...this.shown.values()].find((one) => one.name === name) ?? expect.unreachable(`${name} is not shown`);
  }
}

export const APPLE: EcosystemFabric = { fabricIndex: 1, fabricId: '01', identity: 'apple', vendorId: 0x1349, label: 'Home' };
export const pump = outputThing({ id: 'gpio/pump', title: 'Pump', device: 'gpio' }, 'pump');
export const siren: BridgedThing = {
  ...outputThing({ id: 'gpio/siren', title: 'Siren', device: 'gpio' }, 'siren'),
  isDangerous: true,
};
export const night = sceneThing({ id: 'night', name: 'Night', devices: ['lamp'] });
const attic = deviceThings({
  hub: 'hub-2',
  id: 'attic',
  name: 'Attic',
  type: 'on_off_light',
  sensors: [{ id: 'attic/is_on', kind: 'on_off', unit: '', title: 'on' }],
});

/** Returns a temperature sensor of the board. */
export function probe(name: string): BridgedThing {
  return sensorThing({ id: `shed/${name}`, kind: 'temperature', unit: '°C', title: name }, 'shed') ?? pump;
}

/** A subscription to another hub, with the function that sends it a value. */
interface Subscription {
  readonly hub: string;
  readonly subjects: readonly string[];
  readonly signal: AbortSignal;
  readonly send: (sensor: string, value: Json) => void;
}

/** A hub with bridges but without Matter, mesh and devices. What it stores outlives `restart`. */
export class BridgeHub {
  readonly clock = new ManualClock();
  readonly tokens = new FakeTokens(this.clock);
  readonly state = new MemoryKeyValueStore(this.clock);
  readonly nodes = new Map<number, FakeNode>();
  readonly things = new Map<string, readonly BridgedThing[]>([pump, siren, night].map((thing) => [thing.name, [thing]]));
  readonly readings = new Map<string, number>([
    ['gpio/pump', 0],
    ['gpio/siren', 0],
  ]);
  readonly calls: { readonly tool: string; readonly principal: string; readonly permissions: readonly string[] }[] = [];
  readonly problems = new HubProblems();
  readonly subscriptions: Subscription[] = [];
  readonly peers: object[] = [];
  /** The answer of each call. */
  answer: object = { status: 'success', result: null };
  /** Why no bridge can open. */
  fault: AtmoError | undefined;
  /** How often a bridge was opened or could not open. */
  opened = 0;
  events = new EventBus('hub', this.clock);
  #onScenesChanged = () => {};
  service = this.#service();

  constructor() {
    this.things.set('Attic', attic);
  }

  async restart(): Promise<void> {
    await this.service[Symbol.asyncDispose]();
    this.events = new EventBus('hub', this.clock);
    this.service = this.#service();
    await this.service.start();
  }

  add(text: string, mayBeDangerous = false) {
    return this.service.add({ text, principal: OWNER }, { mayBeDangerous });
  }

  node(number = 1): FakeNode {
    return this.nodes.get(number) ?? expect.unreachable(`there is no bridge ${number}`);
  }

  /** Gives a command as an ecosystem does. */
  async command(name: string, action: string, fabric = 'apple'): Promise<void> {
    await this.node().options?.onCommand({ endpoint: this.node().named(name).id, fabric, action, params: {} });
  }

  /** Starts the hub, bridges things, and lets Apple Home commission the bridge. */
  async commission(...names: readonly string[]): Promise<void> {
    await this.service.start();
    for (const name of names) await this.add(name, true);
    await this.service.openWindow(1, 900);
    this.node().fabrics = [APPLE];
    this.node().options?.onEcosystemsChanged();
    await vi.waitFor(() => expect(this.service.ecosystems()).toHaveLength(1));
  }

  /** Replaces a thing of this hub, or takes it away, as a change of a scene does. */
  change(name: string, thing?: BridgedThing): void {
    this.things.set(name, thing ? [thing] : []);
    this.#onScenesChanged();
  }

  /** Returns the permissions of the valid tokens. */
  granted(): readonly string[] {
    const records = this.tokens.valid().map((id) => this.tokens.find(id));
    return records.flatMap((record) => record?.permissions ?? []).sort();
  }

  #service(): BridgeService {
    const parts = {
      clock: this.clock,
      logger: { info() {}, warn() {}, error() {} },
      events: this.events,
      problems: this.problems,
      store: new BridgeStore(this.state),
      readings: {
        current: (id: string) => (this.readings.has(id) ? { value: this.readings.get(id), reachability: 'reachable' } : undefined),
      },
      tokens: this.tokens,
      pipeline: {
        call: async ({ tool, principal }: { tool: string; principal: { id: string; permissions: readonly string[] } }) => {
          if (tool !== 'core:list_sensors') this.calls.push({ tool, principal: principal.id, permissions: principal.permissions });
          return this.answer;
        },
      },
      mesh: {
        view: { peers: () => this.peers },
        events: {
          subscribe: (
            hub: string,
            { subjects, signal }: Subscription,
            listener: (event: { subject: string; data: { value: Json } }) => void,
          ) => {
            this.subscriptions.push({ hub, subjects, signal, send: (subject, value) => listener({ subject, data: { value } }) });
            return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          },
        },
      },
      finder: {
        find: async ({ text }: ThingQuery) => this.things.get(text) ?? expect.unreachable(`no ${text}`),
        current: ({ key }: BridgedThing) => [...this.things.values()].flat().find((thing) => thing.key === key),
      },
      onScenesChanged: (listener: () => void) => {
        this.#onScenesChanged = listener;
        return () => {};
      },
      nodes: {
        open: (options: BridgeNodeOptions, endpoints: readonly BridgedEndpoint[]) => this.#open(options, endpoints),
        erase: async (number: number) => void this.nodes.delete(number),
      },
    };
    return new BridgeService(parts as unknown as ConstructorParameters<typeof BridgeService>[0], { hubName: 'Home', firstPort: 5600 });
  }

  async #open(options: BridgeNodeOptions, endpoints: readonly BridgedEndpoint[]): Promise<FakeNode> {
    this.opened++;
    if (this.fault) throw this.fault;
    const node = this.nodes.get(options.number) ?? new FakeNode();
    this.nodes.set(options.number, node);
    node.options = options;
    // What a stored node shows first is what it has stored.
    for (const endpoint of endpoints) if (!node.shown.has(endpoint.id)) await node.put(endpoint);
    return node;
  }
}
