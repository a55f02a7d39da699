import type { FabricInfo } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { asObjects, type NodeClusters } from './node-clusters.ts';

/** The fabrics that a node is a member of (Core §11.18.5.2). */
export async function readFabrics(clusters: NodeClusters): Promise<readonly FabricInfo[]> {
  const ours = await clusters.read('OperationalCredentials', 'CurrentFabricIndex');
  const fabrics = asObjects(await clusters.readOfAllFabrics('OperationalCredentials', 'Fabrics'));
  return fabrics.map((fabric) => ({
    fabricIndex: numberOf(fabric.fabricIndex),
    label: typeof fabric.label === 'string' ? fabric.label : '',
    vendorId: numberOf(fabric.vendorId),
    fabricId: String(fabric.fabricId ?? ''),
    isOurs: fabric.fabricIndex === ours,
  }));
}

/** Removes another controller's fabric. CONFLICT for our own, which only decommissioning removes; NOT_FOUND for an absent one. */
export async function removeForeignFabric(clusters: NodeClusters, fabricIndex: number): Promise<void> {
  const fabrics = await readFabrics(clusters);
  const fabric = fabrics.find((known) => known.fabricIndex === fabricIndex);
  const known = fabrics.map((each) => each.fabricIndex);
  if (!fabric) throw new AtmoError('NOT_FOUND', `The device has no fabric ${fabricIndex}; it has ${known.join(', ')}`, { known });
  if (fabric.isOurs) throw new AtmoError('CONFLICT', `Fabric ${fabricIndex} is this hub's own; remove the device instead`, { fabricIndex });
  await removeFabric(clusters, fabricIndex);
}

/** CLUSTER_STATUS when the device keeps the fabric. */
export async function removeFabric(clusters: NodeClusters, fabricIndex: number): Promise<void> {
  const answer = await clusters.invoke('OperationalCredentials', 'RemoveFabric', { fields: { fabricIndex } });
  if (answer?.statusCode === 'Ok') return;
  throw new AtmoError('CLUSTER_STATUS', `The device refused to remove fabric ${fabricIndex}: ${String(answer?.statusCode)}`, answer ?? {});
}

const numberOf = (value: Json | undefined): number => (typeof value === 'number' ? value : Number(value ?? 0));
