import type { BoundEndpoint, DeviceEndpoint } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { type JsonObject, objectsOf, present } from '../../core/json.ts';
import {
  clustersOfNode,
  type NodeClusters,
  type NodeParts,
  operateEntry,
  readAccessList,
  rootDevice,
  withEntry,
  withoutEntry,
  writeAccessList,
} from './node-clusters.ts';

interface BindingParts extends NodeParts {
  readonly adminNodeId: () => string;
}

/** Reads, adds and removes bindings between devices, and grants the source node the access that it needs on the target. */
export class DeviceBindings {
  readonly #parts: BindingParts;

  constructor(parts: BindingParts) {
    this.#parts = parts;
  }

  read(device: DeviceId, endpoint: number, signal: AbortSignal): Promise<readonly JsonObject[]> {
    return this.#bindingsOf({ device, endpoint }, clustersOfNode(this.#parts, device, signal));
  }

  /** Grants the access on the target first and then adds the binding, so that the target never refuses a command of the source. */
  async bind(source: DeviceEndpoint, target: BoundEndpoint, signal: AbortSignal): Promise<void> {
    const sourceNode = clustersOfNode(this.#parts, source.device, signal);
    const point = this.#bindingTarget(target);
    // This read comes before the target grants any access: it throws an error if the source has no Binding cluster.
    await this.#bindingsOf(source, sourceNode);
    const targetNode = clustersOfNode(this.#parts, target.device, signal);
    const entry = operateEntry(rootDevice(this.#parts.directory, source.device).nodeId, point);
    await writeAccessList(targetNode, withEntry(await readAccessList(targetNode), entry), this.#parts.adminNodeId());
    await addBinding(sourceNode, source.endpoint, point);
  }

  /** Removes the binding. If the source node has no other binding to the same target, also revokes its access on the target. */
  async unbind(source: DeviceEndpoint, target: BoundEndpoint, signal: AbortSignal): Promise<void> {
    const sourceNode = clustersOfNode(this.#parts, source.device, signal);
    const point = this.#bindingTarget(target);
    await removeBinding(sourceNode, source.endpoint, point);
    if (await this.#stillBound(sourceNode, source.device, point)) return;
    const targetNode = clustersOfNode(this.#parts, target.device, signal);
    const entry = operateEntry(rootDevice(this.#parts.directory, source.device).nodeId, point);
    await writeAccessList(targetNode, withoutEntry(await readAccessList(targetNode), entry), this.#parts.adminNodeId());
  }

  /** Reads the bindings of an endpoint. Throws NOT_SUPPORTED with advice if the endpoint has no Binding cluster; most devices have none. */
  async #bindingsOf({ device, endpoint }: DeviceEndpoint, node: NodeClusters): Promise<readonly JsonObject[]> {
    try {
      return await readBindings(node, endpoint);
    } catch (error) {
      if (!(error instanceof AtmoError) || error.code !== 'NOT_SUPPORTED') throw error;
      const message = `Part ${endpoint} of ${device} cannot control other devices by itself; let an automation of the hub do it`;
      throw new AtmoError('NOT_SUPPORTED', message, error.details, { cause: error });
    }
  }

  async #stillBound(source: NodeClusters, device: DeviceId, target: BindingTarget): Promise<boolean> {
    const endpoints = this.#parts.directory.describe(device)?.endpoints ?? [];
    const withBindings = endpoints.filter(({ clusters }) => clusters.some(({ name }) => name === 'Binding'));
    const lists = await Promise.all(withBindings.map(({ endpoint }) => readBindings(source, endpoint)));
    return objectsOf(lists.flat()).some((entry) => pointsTo(entry, target));
  }

  #bindingTarget(target: BoundEndpoint): BindingTarget {
    const { directory } = this.#parts;
    const { nodeId } = rootDevice(directory, target.device);
    if (target.cluster === undefined) return { nodeId, endpoint: target.endpoint };
    const endpoint = directory.describe(target.device)?.endpoints.find((each) => each.endpoint === target.endpoint);
    const cluster = endpoint?.clusters.find(({ name }) => name === target.cluster);
    if (cluster) return { nodeId, endpoint: target.endpoint, clusterId: cluster.id };
    const known = endpoint?.clusters.map(({ name }) => name) ?? [];
    throw new AtmoError(
      'NOT_SUPPORTED',
      `Endpoint ${target.endpoint} of ${target.device} has no cluster ${target.cluster}; it has ${known.join(', ') || 'none'}`,
      { known },
    );
  }
}

/** Target of a binding: an endpoint of a node, or one cluster on the endpoint (Core §9.6.5.1). */
interface BindingTarget {
  readonly nodeId: string;
  readonly endpoint: number;
  readonly clusterId?: number;
}

/** Reads the bindings that an endpoint has for our fabric, in the JSON form of Binding.Binding. */
export async function readBindings(clusters: NodeClusters, endpoint: number): Promise<readonly JsonObject[]> {
  return objectsOf(await clusters.read('Binding', 'Binding', endpoint));
}

/** Adds a target to the bindings of an endpoint. Returns false if the endpoint was already bound to the target. */
export async function addBinding(clusters: NodeClusters, endpoint: number, target: BindingTarget): Promise<boolean> {
  const bound = await readBindings(clusters, endpoint);
  if (bound.some((entry) => pointsTo(entry, target))) return false;
  await clusters.write('Binding', 'Binding', {
    endpoint,
    value: [...bound, present({ node: target.nodeId, endpoint: target.endpoint, cluster: target.clusterId })],
  });
  return true;
}

/** Removes a target from the bindings of an endpoint. Returns false if the endpoint was not bound to the target. */
export async function removeBinding(clusters: NodeClusters, endpoint: number, target: BindingTarget): Promise<boolean> {
  const bound = await readBindings(clusters, endpoint);
  const left = bound.filter((entry) => !pointsTo(entry, target));
  if (left.length === bound.length) return false;
  await clusters.write('Binding', 'Binding', { endpoint, value: left });
  return true;
}

/** Returns whether a binding points to the target: same node, same endpoint, and the same cluster (or no cluster in both). */
function pointsTo(entry: JsonObject, target: BindingTarget): boolean {
  const cluster = entry.cluster ?? undefined;
  return String(entry.node) === target.nodeId && entry.endpoint === target.endpoint && cluster === target.clusterId;
}
