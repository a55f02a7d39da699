import type { DeviceAccess, DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';

/** Returns the device that represents the whole node (endpoint 0) of a device. Throws DEVICE_NOT_FOUND if a device does not exist. */
export function rootDevice(directory: DeviceDirectory, id: DeviceId): Device {
  const device = directory.get(id);
  if (!device) throw new AtmoError('DEVICE_NOT_FOUND', `There is no device ${id}`, { device: id });
  return device.parent === undefined ? device : rootDevice(directory, device.parent);
}

/** The part of DeviceAccess that administration uses. Paths may name any endpoint of the node that a device belongs to. */
export interface NodeAccess extends Pick<DeviceAccess, 'read' | 'write' | 'invoke'> {
  /** Works as `read`, except that fabric-scoped lists contain the entries of all fabrics. */
  readonly readOfAllFabrics: DeviceAccess['read'];
}

/** The devices of a home, with access to every endpoint of their nodes. */
export interface NodeParts {
  readonly directory: DeviceDirectory;
  readonly access: NodeAccess;
}

/** Returns the clusters of the node that a device belongs to. Throws DEVICE_NOT_FOUND if the device does not exist. */
export function clustersOfNode({ directory, access }: NodeParts, device: DeviceId, signal: AbortSignal): NodeClusters {
  return new NodeClusters(access, rootDevice(directory, device).id, signal);
}

/** Reads, writes and invokes clusters of one node by endpoint, for administration; throws the errors of DeviceAccess. */
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

  /** Reads a list attribute of endpoint 0 with the entries of all fabrics. */
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

/** Returns the objects of a list attribute, or an empty list if the device sent another type of value. */
export function asObjects(value: Json): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isJsonObject(item)) : [];
}
