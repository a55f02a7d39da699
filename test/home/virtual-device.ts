import { AtmoError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json.ts';
import type { CommandRecord } from './command-log.ts';
import type { Pairing } from './device-node.ts';
import type { DevicePlace } from './device-place.ts';
import type { Request } from './device-protocol.ts';
import type { BridgedSpec, DeviceSpec } from './home-spec.ts';
import { fromJson, toJson } from './raw-value.ts';

/**
 * One device of the home as a test holds it. Endpoints go by Matter number or part id, clusters and members by
 * specification or matter.js name; values are raw Matter units. What it reads comes from the device's own process.
 */
export class VirtualDevice {
  readonly spec: DeviceSpec;
  readonly #place: DevicePlace;
  #pairing: Pairing | undefined;

  constructor(spec: DeviceSpec, place: DevicePlace) {
    this.spec = spec;
    this.#place = place;
  }

  get name(): string {
    return this.spec.name;
  }

  /** IPv6 address of its host. */
  get address(): string {
    return this.#place.address;
  }

  get pairing(): Pairing {
    if (!this.#pairing) throw new AtmoError('CONFLICT', `${this.name} has not started`);
    return { ...this.#pairing, port: this.#place.port(this.name) ?? this.#pairing.port };
  }

  async readPairing(): Promise<void> {
    this.#pairing = (await this.#request('pairing')) as unknown as Pairing;
  }

  async get(endpoint: number | string, cluster: string, member: string): Promise<unknown> {
    return fromJson(await this.#request('get', { endpoint, cluster, member }));
  }

  /** All attributes of its parts, by `part/cluster/attribute`, in the form of `toJson`. */
  async state(): Promise<Readonly<Record<string, Json>>> {
    return (await this.#request('state')) as Readonly<Record<string, Json>>;
  }

  /** `where` is [endpoint, cluster, attribute]. */
  async set(
    ...[endpoint, cluster, member, value]: [endpoint: number | string, cluster: string, member: string, value: unknown]
  ): Promise<void> {
    await this.#request('set', { endpoint, cluster, member, value: toJson(value) });
  }

  async emit(
    ...[endpoint, cluster, member, payload]: [endpoint: number | string, cluster: string, event: string, payload: unknown]
  ): Promise<void> {
    await this.#request('emit', { endpoint, cluster, member, payload: toJson(payload) });
  }

  /** Every command that reached the device since its process started, in order. */
  async commands(): Promise<readonly CommandRecord[]> {
    return (await this.#request('commands')) as unknown as readonly CommandRecord[];
  }

  async addBridged(bridged: BridgedSpec): Promise<void> {
    await this.#request('addBridged', toJson(bridged) as Record<string, Json>);
  }

  async removeBridged(id: string): Promise<void> {
    await this.#request('removeBridged', { id });
  }

  /** Factory reset; the device runs on and can be commissioned again. */
  async reset(): Promise<void> {
    await this.#request('reset');
  }

  /** As if the plug was pulled: SIGKILL, and its host falls silent. */
  powerOff(): Promise<void> {
    return this.#place.powerOff();
  }

  powerOn(options: { readonly port?: number } = {}): Promise<void> {
    return this.#place.powerOn(options.port);
  }

  async restart(options: { readonly port?: number } = {}): Promise<void> {
    await this.powerOff();
    await this.powerOn(options);
  }

  /** Packets vanish; the device runs on and does not notice. */
  linkDown(): Promise<void> {
    return this.#place.linkDown();
  }

  linkUp(): Promise<void> {
    return this.#place.linkUp();
  }

  #request(op: Request['op'], params: Request['params'] = {}): Promise<Json> {
    return this.#place.request({ device: this.name, op, params });
  }
}
