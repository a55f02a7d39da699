import type { ActionContext } from '@matter/main/node';
import { Read } from '@matter/main/protocol';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { interactionError } from '../devices/interaction-error.ts';
import type { MatterDevices } from '../devices/matter-devices.ts';
import { clustersOfNode, rootDevice } from './node-clusters.ts';

/** Clusters with diagnostics of a node (Core §11.12 to §11.16, §9.16). */
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

/** Identify, ping, interview and diagnostics: services that do not change a device. */
export class NodeMaintenance {
  readonly #devices: MatterDevices;
  readonly #clock: Clock;

  constructor(devices: MatterDevices, clock: Clock) {
    this.#devices = devices;
    this.#clock = clock;
  }

  /** Makes the device blink or beep for `seconds`; 0 ends it (Application Clusters §1.2). Throws NOT_SUPPORTED without an Identify cluster. */
  async identify(device: DeviceId, seconds: number, signal: AbortSignal): Promise<void> {
    const endpoint = this.#devices.describe(device)?.endpoints.find(({ clusters }) => clusters.some(({ name }) => name === 'Identify'));
    if (!endpoint) throw new AtmoError('NOT_SUPPORTED', `${device} has no Identify cluster, so it cannot show itself`);
    const path = { device, endpoint: endpoint.endpoint, cluster: 'Identify', command: 'Identify' };
    await this.#devices.wholeNodes.invoke(path, { identifyTime: seconds }, { signal });
  }

  /** Measures one read of a small attribute over an established session, in milliseconds. */
  async ping(device: DeviceId, signal: AbortSignal): Promise<{ readonly roundTripMs: number }> {
    const startMs = this.#clock.monotonic();
    const parts = { directory: this.#devices, access: this.#devices.wholeNodes };
    await clustersOfNode(parts, device, signal).read('BasicInformation', 'DataModelRevision');
    return { roundTripMs: Math.round((this.#clock.monotonic() - startMs) * 10) / 10 };
  }

  /** Reads every attribute of the node again; the devices are updated by the reports. */
  async interview(device: DeviceId, signal: AbortSignal): Promise<readonly Device[]> {
    const peer = this.#devices.peerOf(device);
    const startedMs = this.#clock.monotonic();
    const everything = Read({ fabricFilter: true, attributes: [{}] });
    const abort = AbortSignal.any([signal, AbortSignal.timeout(INTERVIEW_LIMIT_MS)]);
    try {
      for await (const chunk of peer.interaction.read(everything, { abort } as ActionContext)) for await (const _ of chunk);
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

  /** Reads all attributes of the node's diagnostics clusters, by cluster. */
  async diagnostics(device: DeviceId, signal: AbortSignal): Promise<JsonObject> {
    const root = rootDevice(this.#devices, device);
    const endpoint = this.#devices.describe(root.id)?.endpoints.find((each) => each.endpoint === 0);
    const clusters = endpoint?.clusters.filter(({ name }) => DIAGNOSTIC_CLUSTERS.includes(name)) ?? [];
    const result: Record<string, Json> = {
      node_id: root.nodeId,
      reachability: root.reachability,
      last_seen: isoTime(root.lastSeenMs),
    };
    for (const { name, attributes } of clusters) {
      const paths = attributes.map((attribute) => ({ device: root.id, endpoint: 0, cluster: name, attribute: attribute.name }));
      const readings = await this.#devices.wholeNodes.read(paths, { signal });
      result[name] = Object.fromEntries(readings.map((reading) => [reading.path.attribute, reading.value]));
    }
    return result;
  }
}
