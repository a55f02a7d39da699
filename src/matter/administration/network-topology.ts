import type { NetworkKind, NetworkTopology, TopologyLink, TopologyNode } from '../../core/devices/device-administration.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { asObjects, type NodeAccess } from './node-clusters.ts';

interface SurveyParts {
  readonly directory: DeviceDirectory;
  readonly access: Pick<NodeAccess, 'read'>;
}

const AT_ONCE = 4;
/** A device that sleeps may take longer; it is told as one that did not answer. */
const NODE_LIMIT_MS = 8_000;
/** What each cluster is asked for. */
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  GeneralDiagnostics: ['NetworkInterfaces'],
  ThreadNetworkDiagnostics: ['Channel', 'RoutingRole', 'NetworkName', 'NeighborTable', 'RouteTable'],
  WiFiNetworkDiagnostics: ['Bssid', 'ChannelNumber', 'Rssi'],
  EthernetNetworkDiagnostics: ['PHYRate'],
};

/** Asks every node about its networks, a few at a time; one that does not answer is in the answer with the reason. */
export class NetworkSurvey {
  readonly #with: SurveyParts;

  constructor(parts: SurveyParts) {
    this.#with = parts;
  }

  async topology(signal: AbortSignal): Promise<NetworkTopology> {
    const roots = this.#with.directory.list().filter(({ parent }) => parent === undefined);
    const reports: NetworkReport[] = [];
    const waiting = [...roots.entries()];
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) reports[next[0]] = await this.#ask(next[1], signal);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    signal.throwIfAborted();
    return topologyOf(reports);
  }

  async #ask(device: Device, signal: AbortSignal): Promise<NetworkReport> {
    if (device.reachability === 'unreachable') return { device, general: {}, problem: 'is not reachable' };
    try {
      const read = await this.#read(device, AbortSignal.any([signal, AbortSignal.timeout(NODE_LIMIT_MS)]));
      const { GeneralDiagnostics: general = {}, ThreadNetworkDiagnostics: thread } = read;
      const { WiFiNetworkDiagnostics: wifi, EthernetNetworkDiagnostics: ethernet } = read;
      return { device, general, ...(thread && { thread }), ...(wifi && { wifi }), ...(ethernet && { ethernet }) };
    } catch (thrown) {
      return { device, general: {}, problem: toAtmoError(thrown).message };
    }
  }

  async #read(device: Device, signal: AbortSignal): Promise<Readonly<Record<string, JsonObject>>> {
    const root = this.#with.directory.describe(device.id)?.endpoints.find(({ endpoint }) => endpoint === 0);
    const paths = (root?.clusters ?? []).flatMap(({ name: cluster, attributes }) =>
      attributes
        .filter(({ name }) => ATTRIBUTES[cluster]?.includes(name))
        .map(({ name }) => ({ device: device.id, endpoint: 0, cluster, attribute: name })),
    );
    if (paths.length === 0) return {};
    const readings = await this.#with.access.read(paths, { signal });
    const byCluster = Map.groupBy(readings, ({ path }) => path.cluster);
    const entries = [...byCluster].map(
      ([cluster, own]) => [cluster, Object.fromEntries(own.map(({ path, value }) => [path.attribute, value]))] as const,
    );
    return Object.fromEntries(entries);
  }
}

/** What one node told of its networks, attributes by name; clusters that it has not are absent. */
export interface NetworkReport {
  readonly device: Pick<Device, 'id' | 'name' | 'reachability'>;
  readonly general: JsonObject;
  readonly thread?: JsonObject;
  readonly wifi?: JsonObject;
  readonly ethernet?: JsonObject;
  readonly problem?: string;
}

const EUI64_BYTES = 8;

/**
 * The networks of the home from what its nodes tell (Core §11.12, §11.14, §11.15). A neighbour is known by its EUI-64, which a
 * device of ours tells as the hardware address of its Thread interface; the others are nodes of their own without a device.
 */
export function topologyOf(reports: readonly NetworkReport[]): NetworkTopology {
  const owners = new Map(reports.flatMap((report) => addressesOf(report).map((address) => [address, report.device.id] as const)));
  const idOf = (address: string): string => owners.get(address) ?? `thread:${address}`;
  const links = reports.flatMap((report) => linksOf(report, idOf));
  const own = reports.map(nodeOf);
  const known = new Set(own.map(({ id }) => id));
  const strangers = [...new Set(links.map(({ to }) => to))].filter((id) => !known.has(id));
  return { nodes: [...own, ...strangers.map((id) => unknownNeighborOf(id, reports))], links };
}

function nodeOf({ device, general, thread, wifi, ethernet, problem }: NetworkReport): TopologyNode {
  const about = { id: device.id, device: device.id, name: device.name, reachability: device.reachability };
  const told = { ...about, kind: kindOf({ general, thread, wifi, ethernet }), ...(problem !== undefined && { problem }) };
  if (thread) {
    return { ...told, ...text('role', thread.RoutingRole), ...text('network', thread.NetworkName), ...number('channel', thread.Channel) };
  }
  if (!wifi) return told;
  const bssid = typeof wifi.Bssid === 'string' ? { network: colons(Buffer.from(wifi.Bssid, 'base64')) } : {};
  return { ...told, ...bssid, ...number('channel', wifi.ChannelNumber), ...number('rssi', wifi.Rssi) };
}

/** A border router, or a device of another fabric: all that is known is who hears it. */
function unknownNeighborOf(id: string, reports: readonly NetworkReport[]): TopologyNode {
  const address = id.slice('thread:'.length);
  const isRouter = reports.some(({ thread }) => asObjects(thread?.RouteTable ?? null).some((route) => hexOf(route.extAddress) === address));
  return { id, name: `Thread ${isRouter ? 'router' : 'device'} ${address}`, kind: 'thread', ...(isRouter && { role: 'Router' }) };
}

function linksOf({ device, thread }: NetworkReport, idOf: (address: string) => string): readonly TopologyLink[] {
  return asObjects(thread?.NeighborTable ?? null).flatMap((neighbour) => {
    const address = hexOf(neighbour.extAddress);
    if (address === undefined) return [];
    const rssi = typeof neighbour.averageRssi === 'number' ? neighbour.averageRssi : neighbour.lastRssi;
    const link = { from: device.id, to: idOf(address), isChild: neighbour.isChild === true };
    return [{ ...link, ...number('rssi', rssi), ...number('lqi', neighbour.lqi) }];
  });
}

function kindOf({
  general,
  thread,
  wifi,
  ethernet,
}: { readonly [Part in 'general' | 'thread' | 'wifi' | 'ethernet']: JsonObject | undefined }): NetworkKind {
  if (thread) return 'thread';
  if (wifi) return 'wifi';
  if (ethernet) return 'ethernet';
  const running = asObjects(general?.NetworkInterfaces ?? null).find(({ isOperational }) => isOperational === true);
  const kinds: Readonly<Record<string, NetworkKind>> = { Thread: 'thread', WiFi: 'wifi', Ethernet: 'ethernet' };
  return kinds[String(running?.type)] ?? 'unknown';
}

function addressesOf({ general }: NetworkReport): readonly string[] {
  return asObjects(general.NetworkInterfaces ?? null)
    .map(({ hardwareAddress }) => (typeof hardwareAddress === 'string' ? Buffer.from(hardwareAddress, 'base64') : Buffer.alloc(0)))
    .filter((address) => address.length === EUI64_BYTES)
    .map((address) => address.toString('hex'));
}

/** An EUI-64 that came as a number, or as digits where it has more than 53 bits. */
function hexOf(value: Json | undefined): string | undefined {
  if (typeof value !== 'number' && !(typeof value === 'string' && /^\d{1,20}$/.test(value))) return undefined;
  return BigInt(value)
    .toString(16)
    .padStart(EUI64_BYTES * 2, '0');
}

function colons(address: Buffer): string {
  return [...address].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}

function text<Name extends string>(name: Name, value: Json | undefined): Partial<Record<Name, string>> {
  return typeof value === 'string' && value !== '' ? ({ [name]: value } as Record<Name, string>) : {};
}

function number<Name extends string>(name: Name, value: Json | undefined): Partial<Record<Name, number>> {
  return typeof value === 'number' ? ({ [name]: value } as Record<Name, number>) : {};
}
