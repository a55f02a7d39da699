import type { BoundEndpoint, DeviceEndpoint } from '../../core/devices/device-administration.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { operateEntry, readAccessList, withEntry, withoutEntry, writeAccessList } from './access-control-list.ts';
import { asObjects, type NodeAccess, NodeClusters, rootDevice } from './node-clusters.ts';

/** Direct links from one device to another, each with the access that the target has to grant. */
export class DeviceBindings {
  readonly #directory: DeviceDirectory;
  readonly #access: NodeAccess;
  readonly #adminNodeId: () => string;

  constructor(collaborators: { readonly directory: DeviceDirectory; readonly access: NodeAccess; readonly adminNodeId: () => string }) {
    this.#directory = collaborators.directory;
    this.#access = collaborators.access;
    this.#adminNodeId = collaborators.adminNodeId;
  }

  read(device: DeviceId, endpoint: number, signal: AbortSignal): Promise<readonly JsonObject[]> {
    return this.#bindingsOf({ device, endpoint }, this.#clusters(device, signal));
  }

  /** Access first, so that a bound switch never meets a lamp that refuses it. */
  async bind(source: DeviceEndpoint, target: BoundEndpoint, signal: AbortSignal): Promise<void> {
    const sourceNode = this.#clusters(source.device, signal);
    const point = this.#bindingTarget(target);
    // A source that cannot be bound must not leave a right behind.
    await this.#bindingsOf(source, sourceNode);
    const targetNode = this.#clusters(target.device, signal);
    const entry = operateEntry(rootDevice(this.#directory, source.device).nodeId, point);
    await writeAccessList(targetNode, withEntry(await readAccessList(targetNode), entry), this.#adminNodeId());
    await addBinding(sourceNode, source.endpoint, point);
  }

  /** Takes the binding away, then the access, unless another binding of the same node still needs it. */
  async unbind(source: DeviceEndpoint, target: BoundEndpoint, signal: AbortSignal): Promise<void> {
    const sourceNode = this.#clusters(source.device, signal);
    const point = this.#bindingTarget(target);
    await removeBinding(sourceNode, source.endpoint, point);
    if (await this.#stillBound(sourceNode, source.device, point)) return;
    const targetNode = this.#clusters(target.device, signal);
    const entry = operateEntry(rootDevice(this.#directory, source.device).nodeId, point);
    await writeAccessList(targetNode, withoutEntry(await readAccessList(targetNode), entry), this.#adminNodeId());
  }

  /** Most devices hold no bindings; the codes of what they have instead help nobody who wants to bind. */
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
    const endpoints = this.#directory.describe(device)?.endpoints ?? [];
    const withBindings = endpoints.filter(({ clusters }) => clusters.some(({ name }) => name === 'Binding'));
    const lists = await Promise.all(withBindings.map(({ endpoint }) => readBindings(source, endpoint)));
    return asObjects(lists.flat()).some((entry) => pointsTo(entry, target));
  }

  #bindingTarget(target: BoundEndpoint): BindingTarget {
    const nodeId = rootDevice(this.#directory, target.device).nodeId;
    if (target.cluster === undefined) return { nodeId, endpoint: target.endpoint };
    const endpoint = this.#directory.describe(target.device)?.endpoints.find((each) => each.endpoint === target.endpoint);
    const cluster = endpoint?.clusters.find(({ name }) => name === target.cluster);
    if (cluster) return { nodeId, endpoint: target.endpoint, clusterId: cluster.id };
    const known = endpoint?.clusters.map(({ name }) => name) ?? [];
    throw new AtmoError(
      'NOT_SUPPORTED',
      `Endpoint ${target.endpoint} of ${target.device} has no cluster ${target.cluster}; it has ${known.join(', ') || 'none'}`,
      { known },
    );
  }

  #clusters(device: DeviceId, signal: AbortSignal): NodeClusters {
    return new NodeClusters(this.#access, rootDevice(this.#directory, device).id, signal);
  }
}

/** Where a binding points: a cluster, or everything, on one endpoint of a node (Core §9.6.5.1). */
interface BindingTarget {
  readonly nodeId: string;
  readonly endpoint: number;
  readonly clusterId?: number;
}

/** The endpoint's entries of our fabric, in the JSON form of Binding.Binding. */
export async function readBindings(clusters: NodeClusters, endpoint: number): Promise<readonly JsonObject[]> {
  return asObjects(await clusters.read('Binding', 'Binding', endpoint));
}

/** Adds the target to the endpoint's bindings; answers whether it was new. */
export async function addBinding(clusters: NodeClusters, endpoint: number, target: BindingTarget): Promise<boolean> {
  const present = await readBindings(clusters, endpoint);
  if (present.some((entry) => pointsTo(entry, target))) return false;
  await clusters.write('Binding', 'Binding', { endpoint, value: [...present, toEntry(target)] });
  return true;
}

/** Takes the target away; answers whether it was there. */
export async function removeBinding(clusters: NodeClusters, endpoint: number, target: BindingTarget): Promise<boolean> {
  const present = await readBindings(clusters, endpoint);
  const left = present.filter((entry) => !pointsTo(entry, target));
  if (left.length === present.length) return false;
  await clusters.write('Binding', 'Binding', { endpoint, value: left });
  return true;
}

function toEntry(target: BindingTarget): JsonObject {
  const entry = { node: target.nodeId, endpoint: target.endpoint };
  return target.clusterId === undefined ? entry : { ...entry, cluster: target.clusterId };
}

/** Whether an entry of the list is this binding, with the same cluster or likewise without one. */
function pointsTo(entry: JsonObject, target: BindingTarget): boolean {
  const cluster = entry.cluster ?? undefined;
  return String(entry.node) === target.nodeId && entry.endpoint === target.endpoint && cluster === target.clusterId;
}
