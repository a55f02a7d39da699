import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import type { NetworkTopology } from '../../core/devices/network-topology.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NodeAccess } from './node-clusters.ts';
import { type NetworkReport, topologyOf } from './topology-of.ts';

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
