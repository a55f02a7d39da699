import type { BoundEndpoint, DeviceEndpoint } from '../../core/devices/device-administration.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { operateEntry, readAccessList, withEntry, withoutEntry, writeAccessList } from './access-list.ts';
import { addBinding, type BindingTarget, pointsTo, readBindings, removeBinding } from './binding-list.ts';
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
