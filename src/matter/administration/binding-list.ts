import type { JsonObject } from '../../core/json.ts';
import { asObjects, type NodeClusters } from './node-clusters.ts';

/** Where a binding points: a cluster, or everything, on one endpoint of a node (Core §9.6.5.1). */
export interface BindingTarget {
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
export function pointsTo(entry: JsonObject, target: BindingTarget): boolean {
  const cluster = entry.cluster ?? undefined;
  return String(entry.node) === target.nodeId && entry.endpoint === target.endpoint && cluster === target.clusterId;
}
