import type { DeviceAccess, DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';

/** Returns the device of the whole node, which has endpoint 0. Throws DEVICE_NOT_FOUND. */
export function rootDevice(directory: DeviceDirectory, id: DeviceId): Device {
  const device = directory.get(id);
  if (!device) throw new AtmoError('DEVICE_NOT_FOUND', `There is no device ${id}`, { device: id });
  return device.parent === undefined ? device : rootDevice(directory, device.parent);
}

/** The part of DeviceAccess that administration uses; paths may name any endpoint of a device's whole node. */
export interface NodeAccess extends Pick<DeviceAccess, 'read' | 'write' | 'invoke'> {
  /** Reads as `read`; fabric-scoped lists hold the entries of all fabrics. */
  readonly readOfAllFabrics: DeviceAccess['read'];
}

/** The devices of a home, with access to whole nodes. */
export interface NodeParts {
  readonly directory: DeviceDirectory;
  readonly access: NodeAccess;
}

/** Clusters of the node of a device. Throws DEVICE_NOT_FOUND. */
export function clustersOfNode({ directory, access }: NodeParts, device: DeviceId, signal: AbortSignal): NodeClusters {
  return new NodeClusters(access, rootDevice(directory, device).id, signal);
}

/** Clusters of one node by endpoint, for administration; errors as DeviceAccess. */
export class NodeClusters {
  readonly #access: NodeAccess;
  readonly #root: DeviceId;
  readonly #options: { readonly signal: AbortSignal };

  constructor(access: NodeAccess, root: DeviceId, signal: AbortSignal) {
    this.#access = access;
    this.#root = root;
    this.#options = { signal };
  }

  async read(cluster: string, attribute: string, endpoint = 0): Promise<Json> {
    const [reading] = await this.#access.read([{ device: this.#root, endpoint, cluster, attribute }], this.#options);
    return reading?.value ?? null;
  }

  /** Reads a list of the root endpoint with the entries of all fabrics. */
  async readOfAllFabrics(cluster: string, attribute: string): Promise<Json> {
    const path = { device: this.#root, endpoint: 0, cluster, attribute };
    const [reading] = await this.#access.readOfAllFabrics([path], this.#options);
    return reading?.value ?? null;
  }

  write(cluster: string, attribute: string, { endpoint = 0, value }: { readonly endpoint?: number; readonly value: Json }): Promise<void> {
    return this.#access.write({ device: this.#root, endpoint, cluster, attribute }, value, this.#options);
  }

  invoke(
    cluster: string,
    command: string,
    { endpoint = 0, fields = {} }: { readonly endpoint?: number; readonly fields?: JsonObject } = {},
  ): Promise<JsonObject | null> {
    return this.#access.invoke({ device: this.#root, endpoint, cluster, command }, fields, this.#options);
  }
}

/** Returns a list attribute as objects; an empty list for any other value of a device. */
export function asObjects(value: Json): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isJsonObject(item)) : [];
}
