import type { DeviceAdministration } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { type CredentialSetStore, fetchActiveDataset } from '../commissioning/network-credentials.ts';
import type { MatterDevices } from '../devices/matter-devices.ts';
import type { SoftwareUpdates } from '../updates/software-updates.ts';
import { readAccessList, writeAccessList } from './access-control-list.ts';
import type { DeviceBindings } from './bindings.ts';
import { type DeviceSharing, decommissionNode, readFabrics, removeForeignFabric } from './fabrics.ts';
import type { GroupAdministration } from './groups.ts';
import type { NetworkSurvey } from './network-topology.ts';
import { clustersOfNode, rootDevice } from './node-clusters.ts';
import type { NodeMaintenance } from './node-maintenance.ts';

/** The parts that do the administration. */
export interface AdministrationParts {
  readonly devices: MatterDevices;
  readonly commissioner: Pick<DeviceAdministration, 'commission' | 'halfCommissioned' | 'forget'>;
  readonly credentials: CredentialSetStore;
  /** Made at first use, since it needs the crypto of the running node. */
  readonly sharing: () => DeviceSharing;
  readonly maintenance: NodeMaintenance;
  readonly survey: NetworkSurvey;
  /** Loaded at first use: few hubs ever update a device. */
  readonly updates: () => Promise<SoftwareUpdates>;
  readonly groups: GroupAdministration;
  readonly bindings: DeviceBindings;
  /** Operational node id of this hub, decimal text. */
  readonly adminNodeId: () => string;
}

/** The administration of Matter devices; each method calls the part that does it. */
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
    /** Writes the label first: when the device does not answer, nothing is renamed. A device without a label is renamed on the hub only. */
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
    setWifi: (name, ssid, password) => credentials.setWifi(name, ssid, password),
    setThread: (name, datasetHex) => void credentials.setThread(name, datasetHex),
    importThread: async (name, routerUrl, options) => credentials.setThread(name, await fetchActiveDataset(routerUrl, options)),
    removeCredentials: (name) => credentials.remove(name),
  };
}

/** Codes of a device that does not let its label be written. */
const REFUSALS: ReadonlySet<string> = new Set(['CLUSTER_STATUS', 'NOT_SUPPORTED']);

/** Length limit of NodeLabel (Core §11.1.5.6). */
const NODE_LABEL_BYTES = 32;

/** Path of the NodeLabel of a device; undefined for a device without a writable one. */
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

/** The longest beginning of a text that fits into `limit` bytes of UTF-8 without cutting a character. */
export function truncateUtf8(text: string, limit: number): string {
  let end = '';
  for (const character of text) {
    if (Buffer.byteLength(end + character) > limit) return end;
    end += character;
  }
  return end;
}
