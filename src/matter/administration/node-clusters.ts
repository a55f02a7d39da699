import type { DeviceAccess, DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { type Json, type JsonObject, objectsOf } from '../../core/json.ts';

/** Returns the device that represents the whole node (endpoint 0) of device `id`. Throws DEVICE_NOT_FOUND if no device has this id. */
export function rootDevice(directory: DeviceDirectory, id: DeviceId): Device {
  const device = directory.get(id);
  if (!device) throw new AtmoError('DEVICE_NOT_FOUND', `There is no device ${id}`, { device: id });
  return device.parent === undefined ? device : rootDevice(directory, device.parent);
}

/** The part of DeviceAccess that administration uses. A path may name any endpoint of the device's node. */
export interface NodeAccess extends Pick<DeviceAccess, 'read' | 'write' | 'invoke'> {
  /** Reads like `read`, but a fabric-scoped list contains the entries of all fabrics. */
  readonly readOfAllFabrics: DeviceAccess['read'];
}

/** Gives access to the devices of a home and to every endpoint of their nodes. */
export interface NodeParts {
  readonly directory: DeviceDirectory;
  readonly access: NodeAccess;
}

/** Returns the clusters of the node that a device belongs to. Throws DEVICE_NOT_FOUND if the device does not exist. */
export function clustersOfNode({ directory, access }: NodeParts, device: DeviceId, signal: AbortSignal): NodeClusters {
  return new NodeClusters(access, rootDevice(directory, device).id, signal);
}

/** Reads, writes and invokes the clusters of one node, on any endpoint, for administration. Throws the same errors as DeviceAccess. */
export class NodeClusters {
  readonly #access: NodeAccess;
  readonly #root: DeviceId;
  readonly #options: { readonly signal: AbortSignal };

  constructor(access: NodeAccess, root: DeviceId, signal: AbortSignal) {
    this.#access = access;
    this.#root = root;
    this.#options = { signal };
  }

  async read(cluster: string, attribute: string, endpoint = 0): Promise<Json> {
    const [reading] = await this.#access.read([{ device: this.#root, endpoint, cluster, attribute }], this.#options);
    return reading?.value ?? null;
  }

  /** Reads a list attribute of endpoint 0 with the entries of all fabrics. */
  async readOfAllFabrics(cluster: string, attribute: string): Promise<Json> {
    const path = { device: this.#root, endpoint: 0, cluster, attribute };
    const [reading] = await this.#access.readOfAllFabrics([path], this.#options);
    return reading?.value ?? null;
  }

  write(cluster: string, attribute: string, { endpoint = 0, value }: { readonly endpoint?: number; readonly value: Json }): Promise<void> {
    return this.#access.write({ device: this.#root, endpoint, cluster, attribute }, value, this.#options);
  }

  invoke(
    cluster: string,
    command: string,
    { endpoint = 0, fields = {} }: { readonly endpoint?: number; readonly fields?: JsonObject } = {},
  ): Promise<JsonObject | null> {
    return this.#access.invoke({ device: this.#root, endpoint, cluster, command }, fields, this.#options);
  }
}

/** An access control entry in the JSON form of AccessControl.Acl (Core §9.10.5.6). */
type AccessEntry = JsonObject;

/** Reads the access control entries that the device has for our fabric. */
export async function readAccessList(clusters: NodeClusters): Promise<readonly AccessEntry[]> {
  return objectsOf(await clusters.read('AccessControl', 'Acl'));
}

/** Replaces the device's access control list. Throws CONFLICT if no entry lets `adminNodeId` administer the device. */
export async function writeAccessList(clusters: NodeClusters, entries: readonly AccessEntry[], adminNodeId: string): Promise<void> {
  if (!entries.some((entry) => grantsAdministration(entry, adminNodeId))) {
    throw new AtmoError(
      'CONFLICT',
      `No entry would let this hub (node ${adminNodeId}) administer the device; keep one with privilege Administer and authMode Case`,
    );
  }
  await clusters.write('AccessControl', 'Acl', { value: entries });
}

/** Returns the access control entry that lets a node operate an endpoint, or only one cluster of the endpoint (Core §9.10.7). */
export function operateEntry(nodeId: string, target: { readonly endpoint: number; readonly clusterId?: number }): AccessEntry {
  const { endpoint, clusterId = null } = target;
  return { privilege: 'Operate', authMode: 'Case', subjects: [nodeId], targets: [{ cluster: clusterId, endpoint, deviceType: null }] };
}

/** Returns the access control entry that lets the members of a group use all clusters of a device. */
export function groupEntry(groupId: number): AccessEntry {
  return { privilege: 'Operate', authMode: 'Group', subjects: [String(groupId)], targets: null };
}

/** Returns the list with the entry added, or the unchanged list if it already has an equal entry. */
export function withEntry(entries: readonly AccessEntry[], entry: AccessEntry): readonly AccessEntry[] {
  return entries.some((known) => signature(known) === signature(entry)) ? entries : [...entries, entry];
}

/** Returns the list without the entry. The order of subjects and targets in an entry makes no difference. */
export function withoutEntry(entries: readonly AccessEntry[], entry: AccessEntry): readonly AccessEntry[] {
  return entries.filter((known) => signature(known) !== signature(entry));
}

function grantsAdministration(entry: AccessEntry, nodeId: string): boolean {
  const reaches = subjectsOf(entry).length === 0 || subjectsOf(entry).includes(nodeId);
  const targets = Array.isArray(entry.targets) ? entry.targets : [];
  return entry.privilege === 'Administer' && entry.authMode === 'Case' && reaches && targets.length === 0;
}

function signature(entry: AccessEntry): string {
  const targets = objectsOf(entry.targets).map((target) => `${target.cluster ?? ''}/${target.endpoint ?? ''}/${target.deviceType ?? ''}`);
  return [entry.privilege, entry.authMode, ...subjectsOf(entry).toSorted(), '|', ...targets.toSorted()].join(' ');
}

function subjectsOf(entry: AccessEntry): string[] {
  return Array.isArray(entry.subjects) ? entry.subjects.map(String) : [];
}
