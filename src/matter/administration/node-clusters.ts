import type { DeviceAccess, DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json, JsonObject } from '../../core/json.ts';

/** The device that stands for the whole node: the one that holds endpoint 0. Throws DEVICE_NOT_FOUND. */
export function rootDevice(directory: DeviceDirectory, id: DeviceId): Device {
  const device = directory.get(id);
  if (!device) throw new AtmoError('DEVICE_NOT_FOUND', `There is no device ${id}`, { device: id });
  return device.parent === undefined ? device : rootDevice(directory, device.parent);
}

/** The part of DeviceAccess that administration uses; paths may name any endpoint of a device's whole node. */
export interface NodeAccess extends Pick<DeviceAccess, 'read' | 'write' | 'invoke'> {
  /** As `read`, with the entries of all fabrics in lists that are kept per fabric. */
  readonly readOfAllFabrics: DeviceAccess['read'];
}

/** Clusters of one node by endpoint, for administration; errors as DeviceAccess. */
export class NodeClusters {
  readonly #access: NodeAccess;
  readonly #root: DeviceId;
  readonly #signal: AbortSignal;

  constructor(access: NodeAccess, root: DeviceId, signal: AbortSignal) {
    this.#access = access;
    this.#root = root;
    this.#signal = signal;
  }

  async read(cluster: string, attribute: string, endpoint = 0): Promise<Json> {
    const [reading] = await this.#access.read([{ device: this.#root, endpoint, cluster, attribute }], { signal: this.#signal });
    return reading?.value ?? null;
  }

  /** A list of the root endpoint with the entries of all fabrics. */
  async readOfAllFabrics(cluster: string, attribute: string): Promise<Json> {
    const path = { device: this.#root, endpoint: 0, cluster, attribute };
    const [reading] = await this.#access.readOfAllFabrics([path], { signal: this.#signal });
    return reading?.value ?? null;
  }

  write(cluster: string, attribute: string, value: { readonly endpoint?: number; readonly value: Json }): Promise<void> {
    return this.#access.write({ device: this.#root, endpoint: value.endpoint ?? 0, cluster, attribute }, value.value, {
      signal: this.#signal,
    });
  }

  invoke(
    cluster: string,
    command: string,
    request: { readonly endpoint?: number; readonly fields?: JsonObject } = {},
  ): Promise<JsonObject | null> {
    return this.#access.invoke({ device: this.#root, endpoint: request.endpoint ?? 0, cluster, command }, request.fields ?? {}, {
      signal: this.#signal,
    });
  }
}

/** A list attribute as objects; anything else the device says is an empty list. */
export function asObjects(value: Json): readonly JsonObject[] {
  return Array.isArray(value)
    ? value.filter((item): item is JsonObject => typeof item === 'object' && item !== null && !Array.isArray(item))
    : [];
}
