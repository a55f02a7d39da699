import type { ActionContext } from '@matter/main/node';
import { Read } from '@matter/main/protocol';
import type { Clock } from '../../core/clock.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { interactionError } from '../devices/interaction-error.ts';
import type { MatterDevices } from '../devices/matter-devices.ts';
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

const INTERVIEW_LIMIT_MS = 20_000;

/** Identify, ping, diagnostics: the small services that leave a device as it was. */
export class NodeMaintenance {
  readonly #devices: MatterDevices;
  readonly #clock: Clock;

  constructor(collaborators: { readonly devices: MatterDevices; readonly clock: Clock }) {
    this.#devices = collaborators.devices;
    this.#clock = collaborators.clock;
  }

  /** Blinks or beeps for `seconds`, 0 ends it (Application Clusters §1.2). NOT_SUPPORTED where nothing identifies. */
  async identify(device: DeviceId, seconds: number, signal: AbortSignal): Promise<void> {
    const endpoint = this.#devices.describe(device)?.endpoints.find(({ clusters }) => clusters.some(({ name }) => name === 'Identify'));
    if (!endpoint) throw new AtmoError('NOT_SUPPORTED', `${device} has no Identify cluster, so it cannot show itself`);
    const path = { device, endpoint: endpoint.endpoint, cluster: 'Identify', command: 'Identify' };
    await this.#devices.wholeNodes.invoke(path, { identifyTime: seconds }, { signal });
  }

  /** Time of one read of a small attribute over a session that stays open, in milliseconds. */
  async ping(device: DeviceId, signal: AbortSignal): Promise<{ readonly roundTripMs: number }> {
    const startMs = this.#clock.monotonic();
    await this.#root(device, signal).read('BasicInformation', 'DataModelRevision');
    return { roundTripMs: Math.round((this.#clock.monotonic() - startMs) * 10) / 10 };
  }

  /** Reads every attribute of the node again; structure and values follow. */
  async interview(device: DeviceId, signal: AbortSignal): Promise<readonly Device[]> {
    const peer = this.#devices.peerOf(device);
    const startedMs = this.#clock.monotonic();
    const everything = Read({ fabricFilter: true, attributes: [{}] });
    try {
      for await (const chunk of peer.interaction.read(everything, {
        abort: AbortSignal.any([signal, AbortSignal.timeout(INTERVIEW_LIMIT_MS)]),
      } as ActionContext))
        for await (const _ of chunk);
    } catch (error) {
      throw interactionError(error, {
        what: `Interview of ${device}`,
        isSent: true,
        isRead: true,
        isCancelled: signal.aborted,
        waitedMs: this.#clock.monotonic() - startedMs,
      });
    }
    return this.#devices.devicesOfNode(rootDevice(this.#devices, device).nodeId);
  }

  /** Every readable attribute of the diagnostics clusters that the node has, by cluster. */
  async diagnostics(device: DeviceId, signal: AbortSignal): Promise<JsonObject> {
    const root = rootDevice(this.#devices, device);
    const endpoint = this.#devices.describe(root.id)?.endpoints.find((each) => each.endpoint === 0);
    const clusters = endpoint?.clusters.filter(({ name }) => DIAGNOSTIC_CLUSTERS.includes(name)) ?? [];
    const result: Record<string, Json> = {
      node_id: root.nodeId,
      reachability: root.reachability,
      last_seen: new Date(root.lastSeenMs).toISOString(),
    };
    for (const { name, attributes } of clusters) {
      const paths = attributes.map((attribute) => ({ device: root.id, endpoint: 0, cluster: name, attribute: attribute.name }));
      const readings = await this.#devices.wholeNodes.read(paths, { signal });
      result[name] = Object.fromEntries(readings.map((reading) => [reading.path.attribute, reading.value]));
    }
    return result;
  }

  #root(device: DeviceId, signal: AbortSignal): NodeClusters {
    return new NodeClusters(this.#devices.wholeNodes, rootDevice(this.#devices, device).id, signal);
  }
}
