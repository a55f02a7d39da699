import type { AttributePath, CommandPath } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { AttributeShape, CommandShape } from '../model/cluster-shape.ts';
import type { KnownDevice, NodeDevices } from './node-devices.ts';
import { clustersOf, type PeerCluster } from './peer-clusters.ts';

/** A cluster of a device, found by its names. */
export interface ResolvedCluster {
  readonly node: NodeDevices;
  readonly known: KnownDevice;
  readonly endpoint: number;
  readonly cluster: PeerCluster;
}

/** Which endpoints of its node a path may name: those of the device, or, for administration, all. */
export type PathScope = 'device' | 'node';

/** The cluster that a path names; NOT_SUPPORTED tells which endpoints and clusters there are. */
export function resolveCluster(
  place: { readonly node: NodeDevices; readonly known: KnownDevice; readonly scope: PathScope },
  path: { readonly endpoint: number; readonly cluster: string },
): ResolvedCluster {
  const { node, known, scope } = place;
  const endpoints = scope === 'device' ? known.planned.endpoints : [...node.node.endpoints].map(({ number }) => number);
  const endpoint = endpoints.includes(path.endpoint) ? node.endpoint(path.endpoint) : undefined;
  if (endpoint === undefined) throw absent(`${known.device.id} has no endpoint ${path.endpoint}`, endpoints.map(String));
  const clusters = clustersOf(endpoint);
  const cluster = clusters.get(path.cluster);
  if (cluster === undefined)
    throw absent(`Endpoint ${path.endpoint} of ${known.device.id} has no cluster ${path.cluster}`, [...clusters.keys()]);
  return { node, known, endpoint: path.endpoint, cluster };
}

/** The attribute that a path names; NOT_SUPPORTED tells which there are. */
export function resolveAttribute(resolved: ResolvedCluster, path: AttributePath): AttributeShape {
  const { attributes } = resolved.cluster.shape;
  const attribute = attributes.get(path.attribute);
  if (attribute === undefined) throw absent(`${path.cluster} of ${path.device} has no attribute ${path.attribute}`, [...attributes.keys()]);
  return attribute;
}

/** The command that a path names; NOT_SUPPORTED tells which there are. */
export function resolveCommand(resolved: ResolvedCluster, path: CommandPath): CommandShape {
  const { commands } = resolved.cluster.shape;
  const command = commands.get(path.command);
  if (command === undefined) throw absent(`${path.cluster} of ${path.device} takes no command ${path.command}`, [...commands.keys()]);
  return command;
}

function absent(what: string, names: readonly string[]): AtmoError {
  const there = names.length > 0 ? `there are ${names.join(', ')}` : 'there are none';
  return new AtmoError('NOT_SUPPORTED', `${what}; ${there}`, { available: names });
}
