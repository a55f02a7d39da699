import { ConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import type { NetworkKind, NetworkTopology, TopologyLink, TopologyNode } from '../../core/devices/device-administration.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { toAtmoError } from '../../core/errors.ts';
import { type Json, type JsonObject, objectsOf, present } from '../../core/json.ts';
import type { NodeAccess } from './node-clusters.ts';

interface SurveyParts {
  readonly directory: DeviceDirectory;
  readonly access: Pick<NodeAccess, 'read'>;
}

const AT_ONCE = 4;
/** Time limit for the reads from one node. If a sleepy device responds later, the result contains an error instead of its data. */
const NODE_LIMIT_MS = 8_000;
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  GeneralDiagnostics: ['NetworkInterfaces'],
  ThreadNetworkDiagnostics: ['Channel', 'RoutingRole', 'NetworkName', 'NeighborTable', 'RouteTable'],
  WiFiNetworkDiagnostics: ['Bssid', 'ChannelNumber', 'Rssi'],
  EthernetNetworkDiagnostics: ['PHYRate'],
};

/** Reads the network diagnostics of all nodes, a few at a time. For a node that does not respond, the result contains the reason. */
export class NetworkSurvey {
  readonly #parts: SurveyParts;

  constructor(parts: SurveyParts) {
    this.#parts = parts;
  }

  async topology(signal: AbortSignal): Promise<NetworkTopology> {
    const roots = this.#parts.directory.list().filter(({ parent }) => parent === undefined);
    const limiter = new ConcurrencyLimiter({ maxRunning: AT_ONCE });
    const reports = await Promise.all(roots.map((device) => limiter.run(() => this.#report(device, signal), signal)));
    signal.throwIfAborted();
    return topologyOf(reports);
  }

  async #report(device: Device, signal: AbortSignal): Promise<NetworkReport> {
    if (device.reachability === 'unreachable') return { device, general: {}, problem: 'is not reachable' };
    try {
      const read = await this.#read(device, AbortSignal.any([signal, AbortSignal.timeout(NODE_LIMIT_MS)]));
      const { GeneralDiagnostics: general = {}, ThreadNetworkDiagnostics: thread } = read;
      const { WiFiNetworkDiagnostics: wifi, EthernetNetworkDiagnostics: ethernet } = read;
      return present({ device, general, thread, wifi, ethernet });
    } catch (thrown) {
      return { device, general: {}, problem: toAtmoError(thrown).message };
    }
  }

  async #read(device: Device, signal: AbortSignal): Promise<Readonly<Record<string, JsonObject>>> {
    const root = this.#parts.directory.describe(device.id)?.endpoints.find(({ endpoint }) => endpoint === 0);
    const paths = (root?.clusters ?? []).flatMap(({ name: cluster, attributes }) =>
      attributes
        .filter(({ name }) => ATTRIBUTES[cluster]?.includes(name))
        .map(({ name }) => ({ device: device.id, endpoint: 0, cluster, attribute: name })),
    );
    if (paths.length === 0) return {};
    const byCluster = Map.groupBy(await this.#parts.access.read(paths, { signal }), ({ path }) => path.cluster);
    return Object.fromEntries(
      [...byCluster].map(([cluster, readings]) => [
        cluster,
        Object.fromEntries(readings.map(({ path, value }) => [path.attribute, value])),
      ]),
    );
  }
}

/** The network diagnostics of one node: for each cluster, the attributes by name. A cluster that the node lacks is absent or empty. */
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
 * Returns the network topology of the home from the diagnostics of its nodes (Core §11.12, §11.14, §11.15). A Thread neighbour is matched
 * to a device by the EUI-64 that the device reports as its hardware address. A neighbour that matches no device is listed without a device.
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

function nodeOf(report: NetworkReport): TopologyNode {
  const { device, thread, wifi, problem } = report;
  const { id, name, reachability } = device;
  const node = { id, device: id, name, reachability, kind: kindOf(report), problem };
  if (thread) {
    const { RoutingRole: role, NetworkName: network, Channel: channel } = thread;
    return present({ ...node, role: textOf(role), network: textOf(network), channel: numberOf(channel) });
  }
  const network =
    typeof wifi?.Bssid === 'string'
      ? Buffer.from(wifi.Bssid, 'base64')
          .toString('hex')
          .replace(/..(?=.)/g, '$&:')
      : undefined;
  return present({ ...node, network, channel: numberOf(wifi?.ChannelNumber), rssi: numberOf(wifi?.Rssi) });
}

/** Returns the topology node for a neighbour that matches no device: a border router, or a device of another fabric. */
function unknownNeighborOf(id: string, reports: readonly NetworkReport[]): TopologyNode {
  const address = id.slice('thread:'.length);
  const isRouter = reports.some(({ thread }) => objectsOf(thread?.RouteTable).some((route) => hexOf(route.extAddress) === address));
  return { id, name: `Thread ${isRouter ? 'router' : 'device'} ${address}`, kind: 'thread', ...(isRouter && { role: 'Router' }) };
}

function linksOf({ device, thread }: NetworkReport, idOf: (address: string) => string): readonly TopologyLink[] {
  return objectsOf(thread?.NeighborTable).flatMap((neighbour) => {
    const address = hexOf(neighbour.extAddress);
    if (address === undefined) return [];
    const rssi = typeof neighbour.averageRssi === 'number' ? neighbour.averageRssi : neighbour.lastRssi;
    const link = { from: device.id, to: idOf(address), isChild: neighbour.isChild === true };
    return [present({ ...link, rssi: numberOf(rssi), lqi: numberOf(neighbour.lqi) })];
  });
}

function kindOf({ general, thread, wifi, ethernet }: NetworkReport): NetworkKind {
  if (thread) return 'thread';
  if (wifi) return 'wifi';
  if (ethernet) return 'ethernet';
  const running = objectsOf(general.NetworkInterfaces).find(({ isOperational }) => isOperational === true);
  const kinds: Readonly<Record<string, NetworkKind>> = { Thread: 'thread', WiFi: 'wifi', Ethernet: 'ethernet' };
  return kinds[String(running?.type)] ?? 'unknown';
}

function addressesOf({ general }: NetworkReport): readonly string[] {
  return objectsOf(general.NetworkInterfaces)
    .map(({ hardwareAddress }) => (typeof hardwareAddress === 'string' ? Buffer.from(hardwareAddress, 'base64') : Buffer.alloc(0)))
    .filter((address) => address.length === EUI64_BYTES)
    .map((address) => address.toString('hex'));
}

/** Returns an EUI-64 as hexadecimal text. The value is a number, or decimal text if it needs more than 53 bits. */
function hexOf(value: Json | undefined): string | undefined {
  if (typeof value !== 'number' && !(typeof value === 'string' && /^\d{1,20}$/.test(value))) return undefined;
  return BigInt(value)
    .toString(16)
    .padStart(EUI64_BYTES * 2, '0');
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
