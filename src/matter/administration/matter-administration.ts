import type {
  BoundEndpoint,
  CommissionProgress,
  CommissionRequest,
  CommissionResult,
  CredentialSet,
  DeviceAdministration,
  DeviceEndpoint,
  FabricInfo,
  GroupInfo,
  HalfCommissioned,
  NetworkTopology,
  RecognisedDevice,
  ShareCode,
  UpdateList,
  UpdateResult,
} from '../../core/devices/device-administration.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { type CredentialSetStore, fetchActiveDataset } from '../commissioning/network-credentials.ts';
import type { MatterDevices } from '../devices/matter-devices.ts';
import type { SoftwareUpdates, UpdateRequest } from '../updates/software-updates.ts';
import { readAccessList, writeAccessList } from './access-control-list.ts';
import type { DeviceBindings } from './bindings.ts';
import { type DeviceSharing, decommissionNode, readFabrics, removeForeignFabric } from './fabrics.ts';
import type { GroupAdministration } from './groups.ts';
import type { NetworkSurvey } from './network-topology.ts';
import { NodeClusters, rootDevice } from './node-clusters.ts';
import type { NodeMaintenance } from './node-maintenance.ts';

interface Cancellable {
  readonly signal: AbortSignal;
}

export interface AdministrationParts {
  readonly devices: MatterDevices;
  readonly commissioner: Pick<DeviceAdministration, 'commission' | 'halfCommissioned' | 'forget'>;
  readonly credentials: CredentialSetStore;
  /** Made when it is first used, since it needs the crypto of the running node. */
  readonly sharing: () => DeviceSharing;
  readonly care: NodeMaintenance;
  readonly survey: NetworkSurvey;
  /** Loaded when it is first used: few hubs ever update a device. */
  readonly updates: () => Promise<SoftwareUpdates>;
  readonly groups: GroupAdministration;
  readonly bindings: DeviceBindings;
  /** This hub's own operational node id, decimal text. */
  readonly adminNodeId: () => string;
}

/** Everything an administrator does with Matter devices; each method is one line to the part that does it. */
export class MatterAdministration implements DeviceAdministration {
  readonly #parts: AdministrationParts;

  constructor(parts: AdministrationParts) {
    this.#parts = parts;
  }

  commission(
    request: CommissionRequest,
    options: Cancellable & { onProgress(progress: CommissionProgress): void },
  ): Promise<CommissionResult> {
    return this.#parts.commissioner.commission(request, options);
  }

  halfCommissioned(): readonly HalfCommissioned[] {
    return this.#parts.commissioner.halfCommissioned();
  }

  forget(id: string): void {
    this.#parts.commissioner.forget(id);
  }

  async decommission(device: DeviceId, options: Cancellable & { readonly isForced: boolean }): Promise<readonly DeviceId[]> {
    const root = this.#root(device);
    const gone = this.#parts.devices.list().filter((each) => each.nodeId === root.nodeId);
    const leaving = { clusters: this.#clusters(root.id, options.signal), peer: this.#parts.devices.peerOf(root.id) };
    await decommissionNode(leaving, options.isForced);
    const ids = gone.map(({ id }) => id);
    this.#parts.groups.forget(ids);
    return ids;
  }

  /** The label first: when the device does not answer, nothing is renamed. One that keeps no label is renamed here only. */
  async rename(device: DeviceId, name: string, options: Cancellable): Promise<Device> {
    const label = this.#labelPath(device);
    try {
      if (label) await this.#parts.devices.wholeNodes.write(label, truncateUtf8(name, NODE_LABEL_BYTES), options);
    } catch (error) {
      if (!(error instanceof AtmoError && REFUSALS.has(error.code))) throw error;
    }
    return this.#parts.devices.rename(device, name);
  }

  recognised(): readonly RecognisedDevice[] {
    return this.#parts.devices.recognised();
  }

  restore(device: DeviceId): Device {
    return this.#parts.devices.restore(device);
  }

  setArea(device: DeviceId, area: string | null): Device {
    return this.#parts.devices.setArea(device, area);
  }

  identify(device: DeviceId, seconds: number, { signal }: Cancellable): Promise<void> {
    return this.#parts.care.identify(device, seconds, signal);
  }

  ping(device: DeviceId, { signal }: Cancellable): Promise<{ readonly roundTripMs: number }> {
    return this.#parts.care.ping(device, signal);
  }

  interview(device: DeviceId, { signal }: Cancellable): Promise<readonly Device[]> {
    return this.#parts.care.interview(device, signal);
  }

  share(device: DeviceId, seconds: number, { signal }: Cancellable): Promise<ShareCode> {
    return this.#parts.sharing().open(this.#clusters(device, signal), this.#root(device), seconds);
  }

  closeShare(device: DeviceId, { signal }: Cancellable): Promise<void> {
    return this.#parts.sharing().close(this.#clusters(device, signal));
  }

  fabrics(device: DeviceId, { signal }: Cancellable): Promise<readonly FabricInfo[]> {
    return readFabrics(this.#clusters(device, signal));
  }

  removeFabric(device: DeviceId, fabricIndex: number, { signal }: Cancellable): Promise<void> {
    return removeForeignFabric(this.#clusters(device, signal), fabricIndex);
  }

  diagnostics(device: DeviceId, { signal }: Cancellable): Promise<JsonObject> {
    return this.#parts.care.diagnostics(device, signal);
  }

  topology({ signal }: Cancellable): Promise<NetworkTopology> {
    return this.#parts.survey.topology(signal);
  }

  async updates(): Promise<UpdateList> {
    return (await this.#parts.updates()).list();
  }

  async update(device: DeviceId, request: UpdateRequest): Promise<UpdateResult> {
    return (await this.#parts.updates()).update(device, request);
  }

  groups(): readonly GroupInfo[] {
    return this.#parts.groups.list();
  }

  createGroup(name: string, members: readonly DeviceEndpoint[], { signal }: Cancellable): Promise<GroupInfo> {
    return this.#parts.groups.create(name, members, signal);
  }

  addGroupMember(group: number, member: DeviceEndpoint, { signal }: Cancellable): Promise<GroupInfo> {
    return this.#parts.groups.add(group, member, signal);
  }

  removeGroupMember(group: number, member: DeviceEndpoint, { signal }: Cancellable): Promise<GroupInfo> {
    return this.#parts.groups.remove(group, member, signal);
  }

  deleteGroup(group: number, { signal }: Cancellable): Promise<void> {
    return this.#parts.groups.delete(group, signal);
  }

  invokeGroup(group: number, cluster: string, name: string, fields: JsonObject, { signal }: Cancellable): Promise<void> {
    return this.#parts.groups.invoke(group, { cluster, name, fields }, signal);
  }

  accessControl(device: DeviceId, { signal }: Cancellable): Promise<readonly JsonObject[]> {
    return readAccessList(this.#clusters(device, signal));
  }

  setAccessControl(device: DeviceId, entries: readonly JsonObject[], { signal }: Cancellable): Promise<void> {
    return writeAccessList(this.#clusters(device, signal), entries, this.#parts.adminNodeId());
  }

  bindings(device: DeviceId, endpoint: number, { signal }: Cancellable): Promise<readonly JsonObject[]> {
    return this.#parts.bindings.read(device, endpoint, signal);
  }

  bind(source: DeviceEndpoint, target: BoundEndpoint, { signal }: Cancellable): Promise<void> {
    return this.#parts.bindings.bind(source, target, signal);
  }

  unbind(source: DeviceEndpoint, target: BoundEndpoint, { signal }: Cancellable): Promise<void> {
    return this.#parts.bindings.unbind(source, target, signal);
  }

  credentials(): readonly CredentialSet[] {
    return this.#parts.credentials.list();
  }

  setWifi(name: string, ssid: string, password: string): void {
    this.#parts.credentials.setWifi(name, ssid, password);
  }

  setThread(name: string, datasetHex: string): void {
    this.#parts.credentials.setThread(name, datasetHex);
  }

  async importThread(name: string, routerUrl: string, options: Cancellable): Promise<CredentialSet> {
    return this.#parts.credentials.setThread(name, await fetchActiveDataset(routerUrl, options));
  }

  removeCredentials(name: string): boolean {
    return this.#parts.credentials.remove(name);
  }

  #root(device: DeviceId): Device {
    return rootDevice(this.#parts.devices, device);
  }

  #clusters(device: DeviceId, signal: AbortSignal): NodeClusters {
    return new NodeClusters(this.#parts.devices.wholeNodes, this.#root(device).id, signal);
  }

  #labelPath(device: DeviceId) {
    const isNode = this.#parts.devices.get(device)?.kind === 'node';
    if (isNode) return { device, endpoint: 0, cluster: 'BasicInformation', attribute: 'NodeLabel' };
    const endpoints = this.#parts.devices.describe(device)?.endpoints ?? [];
    const cluster = 'BridgedDeviceBasicInformation';
    const bridged = endpoints.find(({ clusters }) =>
      clusters.some(({ name, attributes }) => name === cluster && hasWritableLabel(attributes)),
    );
    return bridged && { device, endpoint: bridged.endpoint, cluster, attribute: 'NodeLabel' };
  }
}

/** What a device answers that does not let its label be written. */
const REFUSALS: ReadonlySet<string> = new Set(['CLUSTER_STATUS', 'NOT_SUPPORTED']);

/** Length limit of NodeLabel (Core §11.1.5.6). */
const NODE_LABEL_BYTES = 32;

const hasWritableLabel = (attributes: readonly { readonly name: string; readonly writable: boolean }[]): boolean =>
  attributes.some(({ name, writable }) => name === 'NodeLabel' && writable);

/** The longest beginning of a text that fits into `limit` bytes of UTF-8 without cutting a character. */
export function truncateUtf8(text: string, limit: number): string {
  let end = '';
  for (const character of text) {
    if (Buffer.byteLength(end + character) > limit) return end;
    end += character;
  }
  return end;
}
