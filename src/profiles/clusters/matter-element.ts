import type { AttributeDescription, ClusterDescription, CommandDescription, DeviceDescription } from '../../core/devices/device-model.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';

/** A command or attribute of a device, found by its name. */
export type MatterElement = { readonly endpoint: number; readonly cluster: ClusterDescription } & (
  | { readonly kind: 'command'; readonly command: CommandDescription }
  | { readonly kind: 'attribute'; readonly attribute: AttributeDescription }
);

/** Names as a caller wrote them. */
export interface ElementQuery {
  readonly endpoint?: number;
  readonly cluster: string;
  readonly command?: string;
  readonly attribute?: string;
}

/**
 * Finds it in any letter case and with or without underscores. Without an endpoint: 1 where it has the cluster, else the
 * first that has. NOT_SUPPORTED names what the device has instead, VALIDATION_ERROR when neither or both are asked for.
 */
export function findElement(description: DeviceDescription, query: ElementQuery): MatterElement {
  if ((query.command === undefined) === (query.attribute === undefined)) {
    throw new AtmoError('VALIDATION_ERROR', 'Give either command or attribute. Example: {"cluster": "OnOff", "command": "On"}');
  }
  const { endpoint, cluster } = findCluster(description, query);
  const where = `${cluster.name} on endpoint ${endpoint} of ${description.device.id}`;
  if (query.command !== undefined) {
    return {
      kind: 'command',
      endpoint,
      cluster,
      command: named(cluster.commands, query.command) ?? absent('command', query.command, { where, known: cluster.commands }),
    };
  }
  const name = query.attribute ?? '';
  return {
    kind: 'attribute',
    endpoint,
    cluster,
    attribute: named(cluster.attributes, name) ?? absent('attribute', name, { where, known: cluster.attributes }),
  };
}

function findCluster(
  description: DeviceDescription,
  query: ElementQuery,
): { readonly endpoint: number; readonly cluster: ClusterDescription } {
  const all = description.endpoints.flatMap(({ endpoint, clusters }) => clusters.map((cluster) => ({ endpoint, cluster })));
  const fits = all.filter(({ cluster }) => plain(cluster.name) === plain(query.cluster));
  const found =
    query.endpoint === undefined
      ? (fits.find(({ endpoint }) => endpoint === 1) ?? fits[0])
      : fits.find(({ endpoint }) => endpoint === query.endpoint);
  if (found) return found;
  const here = query.endpoint === undefined ? all : all.filter(({ endpoint }) => endpoint === query.endpoint);
  const where = query.endpoint === undefined ? description.device.id : `endpoint ${query.endpoint} of ${description.device.id}`;
  return absent('cluster', query.cluster, { where, known: here.map(({ cluster }) => cluster) });
}

function named<Item extends { readonly name: string }>(items: readonly Item[], name: string): Item | undefined {
  return items.find((item) => plain(item.name) === plain(name));
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll('_', '').replaceAll('-', '');
}

function absent(
  what: string,
  name: string,
  place: { readonly where: string; readonly known: readonly { readonly name: string }[] },
): never {
  const known = [...new Set(place.known.map((item) => item.name))];
  const [near] = nearestTexts(name, known);
  const hint = near === undefined ? `it has ${known.slice(0, 20).join(', ') || 'none'}` : `did you mean ${near}?`;
  throw new AtmoError('NOT_SUPPORTED', `There is no ${what} ${JSON.stringify(name.slice(0, 80))} in ${place.where}; ${hint}`, {
    [`${what}s`]: known,
  });
}
