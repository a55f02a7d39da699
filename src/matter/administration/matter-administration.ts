import type { ActionContext } from '@matter/main/node';
import { Read } from '@matter/main/protocol';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { DeviceAdministration } from '../../core/devices/device-administration.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { type CredentialSetStore, fetchActiveDataset } from '../commissioning/network-credentials.ts';
import { interactionError } from '../devices/device-interactions.ts';
import type { MatterDevices } from '../devices/matter-devices.ts';
import type { SoftwareUpdates } from '../updates/software-updates.ts';
import type { DeviceBindings } from './bindings.ts';
import { type DeviceSharing, decommissionNode, readFabrics, removeForeignFabric } from './fabrics.ts';
import type { GroupAdministration } from './groups.ts';
import type { NetworkSurvey } from './network-topology.ts';
import { clustersOfNode, readAccessList, rootDevice, writeAccessList } from './node-clusters.ts';

/** The services that `matterAdministration` calls. */
export interface AdministrationParts {
  readonly devices: MatterDevices;
  readonly commissioner: Pick<DeviceAdministration, 'commission' | 'halfCommissioned' | 'forget'>;
  readonly credentials: CredentialSetStore;
  /** Creates the sharing service. Called for each use, because the service needs the crypto of the running Matter node. */
  readonly sharing: () => DeviceSharing;
  readonly maintenance: NodeMaintenance;
  readonly survey: NetworkSurvey;
  /** Returns the update service. Its code is loaded when first used, because few hubs ever update a device. */
  readonly updates: () => Promise<SoftwareUpdates>;
  readonly groups: GroupAdministration;
  readonly bindings: DeviceBindings;
  /** Returns the operational node id of this hub as decimal text. */
  readonly adminNodeId: () => string;
}

/** Returns the administration of Matter devices; each method calls the service that does the work. */
export function matterAdministration(parts: AdministrationParts): DeviceAdministration {
  const { devices, commissioner, credentials, sharing, maintenance, survey, updates, groups, bindings, adminNodeId } = parts;
  const clusters = (device: DeviceId, signal: AbortSignal) =>
    clustersOfNode({ directory: devices, access: devices.wholeNodes }, device, signal);
  return {
    commission: (request, options) => commissioner.commission(request, options),
    halfCommissioned: () => commissioner.halfCommissioned(),
    forget: (id) => commissioner.forget(id),
    async decommission(device, { signal, isForced }) {
      const root = rootDevice(devices, device);
      const removed = devices.devicesOfNode(root.nodeId).map(({ id }) => id);
      await decommissionNode({ clusters: clusters(root.id, signal), peer: devices.peerOf(root.id) }, isForced);
      groups.forget(removed);
      return removed;
    },
    /** Writes the name to the device first. So if the device does not respond, both the device and the hub keep the old name. */
    async rename(device, name, options) {
      const label = labelPath(devices, device);
      try {
        if (label) await devices.wholeNodes.write(label, truncateUtf8(name, NODE_LABEL_BYTES), options);
      } catch (error) {
        if (!(error instanceof AtmoError && REFUSALS.has(error.code))) throw error;
      }
      return devices.rename(device, name);
    },
    recognised: () => devices.recognised(),
    restore: (device) => devices.restore(device),
    takeOver: (device, replaced) => devices.takeOver(device, replaced),
    setArea: (device, area) => devices.setArea(device, area),
    identify: (device, seconds, { signal }) => maintenance.identify(device, seconds, signal),
    ping: (device, { signal }) => maintenance.ping(device, signal),
    interview: (device, { signal }) => maintenance.interview(device, signal),
    diagnostics: (device, { signal }) => maintenance.diagnostics(device, signal),
    share: (device, seconds, { signal }) => sharing().open(clusters(device, signal), rootDevice(devices, device), seconds),
    closeShare: (device, { signal }) => sharing().close(clusters(device, signal)),
    fabrics: (device, { signal }) => readFabrics(clusters(device, signal)),
    removeFabric: (device, fabricIndex, { signal }) => removeForeignFabric(clusters(device, signal), fabricIndex),
    topology: ({ signal }) => survey.topology(signal),
    updates: async () => (await updates()).list(),
    update: async (device, request) => (await updates()).update(device, request),

    groups: () => groups.list(),
    createGroup: (name, members, { signal }) => groups.create(name, members, signal),
    addGroupMember: (group, member, { signal }) => groups.add(group, member, signal),
    removeGroupMember: (group, member, { signal }) => groups.remove(group, member, signal),
    deleteGroup: (group, { signal }) => groups.delete(group, signal),
    invokeGroup: (group, cluster, name, fields, { signal }) => groups.invoke(group, { cluster, name, fields }, signal),

    accessControl: (device, { signal }) => readAccessList(clusters(device, signal)),
    setAccessControl: (device, entries, { signal }) => writeAccessList(clusters(device, signal), entries, adminNodeId()),
    bindings: (device, endpoint, { signal }) => bindings.read(device, endpoint, signal),
    bind: (source, target, { signal }) => bindings.bind(source, target, signal),
    unbind: (source, target, { signal }) => bindings.unbind(source, target, signal),

    credentials: () => credentials.list(),
    setWifi: async (name, ssid, password) => credentials.setWifi(name, ssid, password),
    setThread: async (name, datasetHex) => void credentials.setThread(name, datasetHex),
    importThread: async (name, routerUrl, options) => credentials.setThread(name, await fetchActiveDataset(routerUrl, options)),
    removeCredentials: (name) => credentials.remove(name),
  };
}

/** Error codes of a device that refuses to change its label. The hub then changes only the name that it stores itself. */
const REFUSALS: ReadonlySet<string> = new Set(['CLUSTER_STATUS', 'NOT_SUPPORTED']);

/** Maximum length of NodeLabel in bytes (Core §11.1.5.6). */
const NODE_LABEL_BYTES = 32;

/** Returns the attribute path of a device's NodeLabel, or undefined if the device has no writable NodeLabel. */
function labelPath(devices: MatterDevices, device: DeviceId) {
  const attribute = 'NodeLabel';
  if (devices.get(device)?.kind === 'node') return { device, endpoint: 0, cluster: 'BasicInformation', attribute };
  const cluster = 'BridgedDeviceBasicInformation';
  const bridged = devices
    .describe(device)
    ?.endpoints.find(({ clusters }) =>
      clusters.some((each) => each.name === cluster && each.attributes.some(({ name, writable }) => name === attribute && writable)),
    );
  return bridged && { device, endpoint: bridged.endpoint, cluster, attribute };
}

/** Returns the longest prefix of a text that fits into `limit` bytes of UTF-8 without cutting a character. */
export function truncateUtf8(text: string, limit: number): string {
  let end = '';
  for (const character of text) {
    if (Buffer.byteLength(end + character) > limit) return end;
    end += character;
  }
  return end;
}

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

/** Provides identify, ping, interview and diagnostics, which do not change a device. */
export class NodeMaintenance {
  readonly #devices: MatterDevices;
  readonly #clock: Clock;

  constructor(devices: MatterDevices, clock: Clock) {
    this.#devices = devices;
    this.#clock = clock;
  }

  /** Makes the device blink or beep for `seconds`; 0 ends it. Throws NOT_SUPPORTED if it lacks Identify (Application Clusters §1.2). */
  async identify(device: DeviceId, seconds: number, signal: AbortSignal): Promise<void> {
    const endpoint = this.#devices.describe(device)?.endpoints.find(({ clusters }) => clusters.some(({ name }) => name === 'Identify'));
    if (!endpoint) throw new AtmoError('NOT_SUPPORTED', `${device} has no Identify cluster, so it cannot show itself`);
    const path = { device, endpoint: endpoint.endpoint, cluster: 'Identify', command: 'Identify' };
    await this.#devices.wholeNodes.invoke(path, { identifyTime: seconds }, { signal });
  }

  /** Measures how long it takes to read one small attribute. If there is no session yet, the time includes the connection setup. */
  async ping(device: DeviceId, signal: AbortSignal): Promise<{ readonly roundTripMs: number }> {
    const startMs = this.#clock.monotonic();
    const parts = { directory: this.#devices, access: this.#devices.wholeNodes };
    await clustersOfNode(parts, device, signal).read('BasicInformation', 'DataModelRevision');
    return { roundTripMs: Math.round((this.#clock.monotonic() - startMs) * 10) / 10 };
  }

  /** Reads every attribute of the node again; returns the updated devices of the node. */
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

  /** Reads all attributes of the node's diagnostics clusters; returns them by cluster name. */
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
