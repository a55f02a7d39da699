import type { TopologyLink, TopologyNode } from '../../core/devices/device-administration.ts';
import { text } from '../texts/text.ts';

/** A radio in the result of `hub:network_topology`. It is in a device of this hub, or it is a neighbour of such a device. */
export type NetworkNode = Omit<TopologyNode, 'device'> & { readonly device?: string };

/** A radio link in the result of `hub:network_topology`. */
type NetworkLink = Omit<TopologyLink, 'isChild'> & { readonly is_child: boolean };

/** The result of `hub:network_topology`. */
export interface Topology {
  readonly nodes: readonly NetworkNode[];
  readonly links: readonly NetworkLink[];
}

interface SignalQuality {
  readonly word: 'strong' | 'fair' | 'weak' | 'unknown';
  readonly isWeak: boolean;
}

/** A radio, and the neighbours whose signals it receives, strongest signal first. */
export interface NodeWithNeighbours {
  readonly node: NetworkNode;
  readonly hears: readonly { readonly name: string; readonly rssi?: number; readonly isChild: boolean; readonly hearing: SignalQuality }[];
}

const WEAK_DBM = -80;
const FAIR_DBM = -67;
const KINDS = ['thread', 'wifi', 'ethernet', 'unknown'] as const;

/** Returns the quality of a signal. `rssi` is its strength in dBm. A signal below -80 dBm is weak: in most homes, packets then get lost. */
export function signalQuality(rssi: number | undefined): SignalQuality {
  if (rssi === undefined) return { word: 'unknown', isWeak: false };
  if (rssi < WEAK_DBM) return { word: 'weak', isWeak: true };
  return { word: rssi < FAIR_DBM ? 'fair' : 'strong', isWeak: false };
}

/** Groups the radios by network. Thread comes first, then Wi-Fi, Ethernet and unknown networks. In each group, routers come first. */
export function networkGroups({ nodes, links }: Topology) {
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  const groups = Map.groupBy(nodes, groupKey);
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([, members]) => ({
    title: titleOf(members),
    nodes: members.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name)).map((node) => withNeighbours(node, links, names)),
  }));
}

function withNeighbours(node: NetworkNode, links: readonly NetworkLink[], names: ReadonlyMap<string, string>): NodeWithNeighbours {
  const own = links.filter(({ from }) => from === node.id).toSorted((a, b) => (b.rssi ?? -200) - (a.rssi ?? -200));
  const hears = own.map(({ to, rssi, is_child: isChild }) => ({
    name: names.get(to) ?? to,
    ...(rssi !== undefined && { rssi }),
    isChild,
    hearing: signalQuality(rssi),
  }));
  return { node, hears };
}

/**
 * Returns the key by which the radios are grouped and sorted. Radios that are not in a device of this hub share one key, because the name
 * of their network is unknown. This key comes after those of the Thread networks.
 */
function groupKey({ kind, network, device }: NetworkNode): string {
  const place = KINDS.indexOf(kind);
  return device === undefined ? `${place} \uffff` : `${place} ${network ?? ''}`;
}

function titleOf([first]: readonly NetworkNode[]): string {
  if (!first) return '';
  if (first.device === undefined) return text('networks.strangers');
  const channel = first.kind === 'thread' && first.channel !== undefined ? `, ${text('networks.channel', { channel: first.channel })}` : '';
  return `${text(`networks.kind_${first.kind}`)}${first.network === undefined ? '' : ` ${first.network}`}${channel}`;
}

function rank({ role }: NetworkNode): number {
  if (role === 'Leader') return 0;
  return role === 'Router' ? 1 : 2;
}
