import type { ClientNode } from '@matter/main/node';
import type { Clock } from '../../core/clock.ts';
import type { DeviceAccess, DeviceDirectory } from '../../core/device-directory.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { NodeClusters, rootDevice } from './node-clusters.ts';

/** Clusters that tell how a node is doing, and what of each is worth a look (Core §11.12 to §11.16, §9.16). */
const DIAGNOSTIC_CLUSTERS = [
  'GeneralDiagnostics',
  'SoftwareDiagnostics',
  'ThreadNetworkDiagnostics',
  'WiFiNetworkDiagnostics',
  'EthernetNetworkDiagnostics',
  'IcdManagement',
  'TimeSynchronization',
  'PowerSource',
];

/** Identify, ping, diagnostics: the small services that leave a device as it was. */
export class NodeCare {
  readonly #directory: DeviceDirectory;
  readonly #access: DeviceAccess;
  readonly #clock: Clock;

  constructor(collaborators: { readonly directory: DeviceDirectory; readonly access: DeviceAccess; readonly clock: Clock }) {
    this.#directory = collaborators.directory;
    this.#access = collaborators.access;
    this.#clock = collaborators.clock;
  }

  /** Blinks or beeps for `seconds`, 0 ends it (Application Clusters §1.2). NOT_SUPPORTED where nothing identifies. */
  async identify(device: DeviceId, seconds: number, signal: AbortSignal): Promise<void> {
    const endpoint = this.#directory.describe(device)?.endpoints.find(({ clusters }) => clusters.some(({ name }) => name === 'Identify'));
    if (!endpoint) throw new AtmoError('NOT_SUPPORTED', `${device} has no Identify cluster, so it cannot show itself`);
    const path = { device, endpoint: endpoint.endpoint, cluster: 'Identify', command: 'Identify' };
    await this.#access.invoke(path, { identifyTime: seconds }, { signal });
  }

  /** Time of one read of a small attribute over a session that stays open, in milliseconds. */
  async ping(device: DeviceId, signal: AbortSignal): Promise<{ readonly roundTripMs: number }> {
    const startMs = this.#clock.monotonic();
    await this.#root(device, signal).read('BasicInformation', 'DataModelRevision');
    return { roundTripMs: Math.round((this.#clock.monotonic() - startMs) * 10) / 10 };
  }

  /** Every readable attribute of the diagnostics clusters that the node has, by cluster. */
  async diagnostics(device: DeviceId, signal: AbortSignal): Promise<JsonObject> {
    const root = rootDevice(this.#directory, device);
    const endpoint = this.#directory.describe(root.id)?.endpoints.find((each) => each.endpoint === 0);
    const clusters = endpoint?.clusters.filter(({ name }) => DIAGNOSTIC_CLUSTERS.includes(name)) ?? [];
    const result: Record<string, Json> = {
      node_id: root.nodeId,
      reachability: root.reachability,
      last_seen: new Date(root.lastSeenMs).toISOString(),
    };
    for (const { name, attributes } of clusters) {
      const paths = attributes.map((attribute) => ({ device: root.id, endpoint: 0, cluster: name, attribute: attribute.name }));
      const readings = await this.#access.read(paths, { signal });
      result[name] = Object.fromEntries(readings.map((reading) => [reading.path.attribute, reading.value]));
    }
    return result;
  }

  #root(device: DeviceId, signal: AbortSignal): NodeClusters {
    return new NodeClusters(this.#access, rootDevice(this.#directory, device).id, signal);
  }
}

/** Ends a node's membership of our fabric. `isForced` forgets one that does not answer; it then needs a factory reset. */
export async function decommissionNode(peer: ClientNode, isForced: boolean, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = () =>
    reject(
      new AtmoError(
        'DEVICE_UNREACHABLE',
        'The device did not answer, so it still believes that it belongs to this hub; remove it by force and factory-reset it',
      ),
    );
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    if (signal.aborted) giveUp();
    await Promise.race([peer.decommission(), promise]);
  } catch (error) {
    if (!isForced) throw error;
    await peer.delete();
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
