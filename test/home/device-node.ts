import { Endpoint } from '@matter/main';
import { BridgedDeviceBasicInformationServer } from '@matter/main/behaviors/bridged-device-basic-information';
import type { ServerNode } from '@matter/main/node';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json.ts';
import { CommandLog } from './command-log.ts';
import { createNode } from './create-node.ts';
import { DEVICE_TYPES } from './device-types.ts';
import type { BridgedSpec, DeviceSpec } from './home-spec.ts';
import { type DeviceType, overlay, type Part, type PartState } from './part.ts';
import { fromJson, toJson } from './raw-value.ts';

/** The codes a person would find on the device. */
export interface Pairing {
  readonly manualCode: string;
  readonly qrCode: string;
  readonly passcode: number;
  readonly discriminator: number;
  readonly port: number;
}

/** An endpoint by its Matter number or by the part id of its device type; a cluster or member by its specification or matter.js name. */
export interface Address {
  readonly endpoint: number | string;
  readonly cluster: string;
  readonly member: string;
}

/** One device of the virtual home inside its own process. */
export class DeviceNode {
  readonly commands = new CommandLog();
  readonly #spec: DeviceSpec;
  readonly #node: ServerNode;
  readonly #parts = new Map<string, Endpoint>();

  private constructor(spec: DeviceSpec, node: ServerNode) {
    this.#spec = spec;
    this.#node = node;
  }

  /** Builds the node from its stored state, or from the spec at its first start. Not reachable before `start`. */
  static async create(spec: DeviceSpec): Promise<DeviceNode> {
    const type = await deviceType(spec.type);
    const node = await createNode(spec, type);
    const device = new DeviceNode(spec, node);
    for (const part of type.parts) await device.#addPart(node, part, spec.state ?? {});
    for (const bridged of spec.bridged ?? []) await device.addBridged(bridged);
    return device;
  }

  async start(): Promise<void> {
    await this.#node.start();
    this.commands.watch(this.#node);
  }

  get pairing(): Pairing {
    const { passcode, discriminator } = this.#spec;
    const { manualPairingCode, qrPairingCode } = this.#node.state.commissioning.pairingCodes;
    return { manualCode: manualPairingCode, qrCode: qrPairingCode, passcode, discriminator, port: this.#spec.port };
  }

  get(address: Address): Json {
    const { endpoint, cluster, member } = this.#resolve(address);
    return toJson(endpoint.stateOf(cluster)[member]);
  }

  /** All attributes of its parts, by `part/cluster/attribute`. */
  state(): Json {
    const all = [...this.#parts].flatMap(([part, endpoint]) =>
      Object.keys(endpoint.behaviors.supported).flatMap((cluster) =>
        Object.entries(endpoint.stateOf(cluster)).map(([name, value]) => [`${part}/${cluster}/${name}`, toJson(value)] as const),
      ),
    );
    return Object.fromEntries(all);
  }

  async set(address: Address, value: Json): Promise<void> {
    const { endpoint, cluster, member } = this.#resolve(address);
    await endpoint.setStateOf(cluster, { [member]: fromJson(value) });
  }

  /** Emits an event of the cluster as the hardware would. */
  async emit(address: Address, payload: Json): Promise<void> {
    const endpoint = this.#endpoint(address.endpoint);
    const type = endpoint.behaviors.supported[this.#cluster(endpoint, address.cluster)];
    await endpoint.act((agent) => {
      const behavior = type && (agent.get(type) as unknown as Emitting);
      const name = behavior && matching(memberNames(behavior.events), address.member);
      const event = name === undefined ? undefined : behavior?.events[name];
      if (event === undefined || behavior === undefined) throw missing('event', address.member, this.#spec.name);
      event.emit(fromJson(payload), behavior.context);
    });
  }

  /** Puts one more device behind the bridge, also while the node runs. */
  async addBridged({ id, name, type, state = {} }: BridgedSpec): Promise<void> {
    const part = (await deviceType(type)).parts[0];
    const bridge = this.#parts.get('bridge');
    if (!part || !bridge) throw missing('bridge', id, this.#spec.name);
    const bridgedDeviceBasicInformation = {
      nodeLabel: name,
      productName: type,
      serialNumber: `serial-${id}`,
      uniqueId: `unique-${id}`,
      reachable: true,
    };
    const identified: Part = {
      ...part,
      id,
      type: withBehavior(part.type, BridgedDeviceBasicInformationServer),
      state: overlay(part.state, { bridgedDeviceBasicInformation }),
    };
    await this.#addPart(bridge, identified, { [id]: state[part.id] ?? state[id] ?? {} });
    if (this.#node.lifecycle.isReady) this.commands.watch(this.#node);
  }

  async removeBridged(id: string): Promise<void> {
    await this.#endpoint(id).delete();
    this.#parts.delete(id);
  }

  /** Factory reset: fabrics and state are gone, the device can be commissioned again. */
  async reset(): Promise<void> {
    await this.#node.erase();
    await this.start();
  }

  async close(): Promise<void> {
    await this.#node.close();
  }

  async #addPart(parent: Endpoint, part: Part, over: Readonly<Record<string, PartState>>): Promise<void> {
    const state = overlay(part.state, fromJson((over[part.id] ?? {}) as Json) as PartState);
    const endpoint = new Endpoint(part.type, { id: part.id, ...state } as Endpoint.Options);
    this.#parts.set(part.id, endpoint);
    await parent.add(endpoint);
    for (const below of part.parts ?? []) await this.#addPart(endpoint, below, over);
  }

  #resolve(address: Address): Resolved {
    const endpoint = this.#endpoint(address.endpoint);
    const cluster = this.#cluster(endpoint, address.cluster);
    const member = matching(Object.keys(endpoint.stateOf(cluster)), address.member);
    if (member === undefined) throw missing('attribute', `${cluster}.${address.member}`, this.#spec.name);
    return { endpoint, cluster, member };
  }

  #endpoint(name: number | string): Endpoint {
    if (Number(name) === 0) return this.#node;
    const found = this.#parts.get(String(name)) ?? [...this.#parts.values()].find(({ number }) => number === Number(name));
    if (!found) throw missing('endpoint', String(name), `${this.#spec.name}, which has ${[...this.#parts.keys()].join(', ')}`);
    return found;
  }

  #cluster(endpoint: Endpoint, name: string): string {
    const found = matching(Object.keys(endpoint.behaviors.supported), name);
    if (found === undefined) throw missing('cluster', name, `endpoint ${endpoint.id} of ${this.#spec.name}`);
    return found;
  }
}

interface Resolved {
  readonly endpoint: Endpoint;
  readonly cluster: string;
  readonly member: string;
}

interface Emitting {
  readonly events: Readonly<Record<string, { emit(payload: unknown, context: unknown): void }>>;
  readonly context: unknown;
}

function deviceType(name: string): Promise<DeviceType> {
  const load = DEVICE_TYPES[name];
  if (!load) throw new AtmoError('NOT_FOUND', `No device type ${name}; there are ${Object.keys(DEVICE_TYPES).join(', ')}`);
  return load();
}

/** The name among `names` that is the same but for case and punctuation, so that PM25 finds pm25 and OnOff finds onOff. */
function matching(names: readonly string[], name: string): string | undefined {
  return names.find((candidate) => plain(candidate) === plain(name));
}

/** Also the members that classes define, which Object.keys leaves out. */
function memberNames(object: object): readonly string[] {
  const parent: unknown = Object.getPrototypeOf(object);
  const inherited = typeof parent === 'object' && parent !== null && parent !== Object.prototype ? memberNames(parent) : [];
  return [...Object.getOwnPropertyNames(object), ...inherited];
}

function plain(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();
}

function missing(kind: string, name: string, place: string): AtmoError {
  return new AtmoError('NOT_FOUND', `No ${kind} ${name} on ${place}`);
}

function withBehavior(type: Part['type'], behavior: unknown): Part['type'] {
  return (type as unknown as { with(behavior: unknown): Part['type'] }).with(behavior);
}
