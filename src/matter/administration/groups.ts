import { randomBytes } from 'node:crypto';
import { Matter, type Model, type ValueModel } from '@matter/main/model';
import type { ActionContext, Peers } from '@matter/main/node';
import { type Fabric, Invoke, PeerAddress } from '@matter/main/protocol';
import { ClusterId, CommandId, GroupId, NodeId, TlvOfModel } from '@matter/main/types';
import type { DeviceEndpoint, GroupInfo } from '../../core/devices/device-administration.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { withDefaultOptions } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import { type DeviceId, parseDeviceId } from '../../core/ids.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { standardClusterShape } from '../model/standard-model.ts';
import { fromJson } from '../model/value-json.ts';
import { groupEntry, readAccessList, withEntry, withoutEntry } from './access-control-list.ts';
import { asObjects, type NodeAccess, NodeClusters, rootDevice } from './node-clusters.ts';

/** Groups of devices that obey one multicast frame; the book is the truth, devices follow it. */
export class GroupAdministration {
  readonly #book: GroupStore;
  readonly #directory: DeviceDirectory;
  readonly #access: NodeAccess;
  readonly #cast: () => GroupMulticast;

  constructor(collaborators: {
    readonly book: GroupStore;
    readonly directory: DeviceDirectory;
    readonly access: NodeAccess;
    readonly cast: () => GroupMulticast;
  }) {
    this.#book = collaborators.book;
    this.#directory = collaborators.directory;
    this.#access = collaborators.access;
    this.#cast = collaborators.cast;
  }

  list(): readonly GroupInfo[] {
    return this.#book.list();
  }

  /** All or nothing: when a member refuses, those that joined leave again. One that then does not answer keeps the group. */
  async create(name: string, members: readonly DeviceEndpoint[], signal: AbortSignal): Promise<GroupInfo> {
    const { id } = this.#book.create(name);
    try {
      for (const member of members) await this.add(id, member, signal);
    } catch (error) {
      await this.delete(id, signal).catch(() => undefined);
      throw error;
    }
    return this.#book.get(id);
  }

  async add(id: number, member: DeviceEndpoint, signal: AbortSignal): Promise<GroupInfo> {
    const group = this.#book.get(id);
    await joinGroup(this.#clusters(member.device, signal), member.endpoint, {
      groupId: id,
      groupName: group.name,
      epochKey: this.#book.epochKey(),
    });
    return this.#book.withMember(id, member);
  }

  async remove(id: number, member: DeviceEndpoint, signal: AbortSignal): Promise<GroupInfo> {
    const group = this.#book.get(id);
    const root = rootDevice(this.#directory, member.device).id;
    const isLastOfNode = !group.members.some((other) => other.endpoint !== member.endpoint && this.#rootOf(other.device) === root);
    await leaveGroup(this.#clusters(member.device, signal), member.endpoint, { groupId: id, isLastOfNode });
    return this.#book.withoutMember(id, member);
  }

  /** Takes all members out, then forgets the group. A device that does not answer keeps the group, and the error says so. */
  async delete(id: number, signal: AbortSignal): Promise<void> {
    for (const member of this.#book.get(id).members) {
      if (this.#directory.get(member.device)) await this.remove(id, member, signal);
    }
    this.#book.delete(id);
  }

  /** Devices that left the home are members of nothing. */
  forget(devices: readonly DeviceId[]): void {
    for (const group of this.#book.list())
      for (const member of group.members) if (devices.includes(member.device)) this.#book.withoutMember(group.id, member);
  }

  async invoke(
    id: number,
    command: { readonly cluster: string; readonly name: string; readonly fields: JsonObject },
    signal: AbortSignal,
  ): Promise<void> {
    this.#book.get(id);
    const request = groupCommand(command.cluster, command.name, command.fields);
    const cast = this.#cast();
    const ids = this.#book.list().map((group) => group.id);
    await cast.useKey(this.#book.epochKey(), ids);
    await cast.invoke(id, request, signal);
  }

  #clusters(device: DeviceId, signal: AbortSignal): NodeClusters {
    return new NodeClusters(this.#access, rootDevice(this.#directory, device).id, signal);
  }

  #rootOf(device: DeviceId): DeviceId | undefined {
    return this.#directory.get(device) && rootDevice(this.#directory, device).id;
  }
}

/** The one key set that all of this hub's groups share; 0 is the fabric's own (Core §11.2.6.2). */
const GROUP_KEY_SET = 1;
/** Just after 2000-01-01, the least that a key set may say: a board without a clock can use the key. */
const EPOCH_START_MICROSECONDS = 946_684_800_000_001;
const STATUS_SUCCESS = 0;
const STATUS_ALREADY_THERE = 0x8a;

/** What an endpoint has to know to hear a group. */
export interface GroupKey {
  readonly groupId: number;
  readonly groupName: string;
  readonly epochKey: Buffer;
}

/** Makes an endpoint a member: key, key map, group table, access. Every step may be repeated safely. */
export async function joinGroup(clusters: NodeClusters, endpoint: number, group: GroupKey): Promise<void> {
  await clusters.invoke('GroupKeyManagement', 'KeySetWrite', {
    fields: {
      groupKeySet: {
        groupKeySetId: GROUP_KEY_SET,
        groupKeySecurityPolicy: 'TrustFirst',
        epochKey0: group.epochKey.toString('base64'),
        epochStartTime0: EPOCH_START_MICROSECONDS,
        epochKey1: null,
        epochStartTime1: null,
        epochKey2: null,
        epochStartTime2: null,
      },
    },
  });
  await mapKey(clusters, group.groupId);
  const answer = await clusters.invoke('Groups', 'AddGroup', { endpoint, fields: { groupId: group.groupId, groupName: group.groupName } });
  refuseUnless(answer?.status, `join group ${group.groupId}`);
  const access = await readAccessList(clusters);
  await clusters.write('AccessControl', 'Acl', { value: withEntry(access, groupEntry(group.groupId)) });
}

/** Takes an endpoint out; the node's key map and access go with its last endpoint in the group. */
export async function leaveGroup(
  clusters: NodeClusters,
  endpoint: number,
  group: { readonly groupId: number; readonly isLastOfNode: boolean },
): Promise<void> {
  await clusters.invoke('Groups', 'RemoveGroup', { endpoint, fields: { groupId: group.groupId } });
  if (!group.isLastOfNode) return;
  const map = asObjects(await clusters.read('GroupKeyManagement', 'GroupKeyMap'));
  await clusters.write('GroupKeyManagement', 'GroupKeyMap', { value: map.filter((entry) => entry.groupId !== group.groupId) });
  const access = await readAccessList(clusters);
  await clusters.write('AccessControl', 'Acl', { value: withoutEntry(access, groupEntry(group.groupId)) });
}

async function mapKey(clusters: NodeClusters, groupId: number): Promise<void> {
  const map = asObjects(await clusters.read('GroupKeyManagement', 'GroupKeyMap'));
  if (map.some((entry) => entry.groupId === groupId && entry.groupKeySetId === GROUP_KEY_SET)) return;
  const others = map.filter((entry) => entry.groupId !== groupId);
  await clusters.write('GroupKeyManagement', 'GroupKeyMap', { value: [...others, { groupId, groupKeySetId: GROUP_KEY_SET }] });
}

function refuseUnless(status: unknown, what: string): void {
  if (status === undefined || status === STATUS_SUCCESS || status === STATUS_ALREADY_THERE || status === 'Success') return;
  throw new AtmoError('CLUSTER_STATUS', `The device refused to ${what}: status ${String(status)}`, { status: String(status) });
}

const SPACE = 'groups';
const KEYS = 'group-keys';
/** Group ids for unicast membership end at 0xFEFF; above are the universal ones (Core §2.5.4). */
const LAST_GROUP = 0xfeff;
const NAME_LIMIT = 16;
const EPOCH_KEY_BYTES = 16;

/** The hub's groups and the key that their members share; the only copy of both, so each change is on the disk at once. */
export class GroupStore {
  readonly #store: KeyValueStore;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  list(): readonly GroupInfo[] {
    return this.#store
      .entries(SPACE)
      .map(({ key, value }) => parseGroup(Number(key), value))
      .sort((a, b) => a.id - b.id);
  }

  /** Throws NOT_FOUND with the groups that there are. */
  get(id: number): GroupInfo {
    const groups = this.list();
    const group = groups.find((known) => known.id === id);
    if (group) return group;
    const known = groups.map((each) => each.id);
    throw new AtmoError('NOT_FOUND', `There is no group ${id}; there are ${known.join(', ') || 'none'}`, { known });
  }

  /** A new group without members. VALIDATION_ERROR for a name that Matter cannot carry, CONFLICT for one in use. */
  create(name: string): GroupInfo {
    const groups = this.list();
    if (name.length === 0 || Buffer.byteLength(name) > NAME_LIMIT) {
      throw new AtmoError(
        'VALIDATION_ERROR',
        `A group's name has 1 to ${NAME_LIMIT} bytes; ${JSON.stringify(name)} has ${Buffer.byteLength(name)}`,
      );
    }
    if (groups.some((group) => group.name === name))
      throw new AtmoError('CONFLICT', `There is already a group named ${JSON.stringify(name)}`);
    const group = { id: freeId(groups), name, members: [] };
    this.#write(group);
    return group;
  }

  withMember(id: number, member: DeviceEndpoint): GroupInfo {
    const group = this.get(id);
    if (group.members.some((known) => isSame(known, member))) return group;
    return this.#write({ ...group, members: [...group.members, member] });
  }

  withoutMember(id: number, member: DeviceEndpoint): GroupInfo {
    const group = this.get(id);
    return this.#write({ ...group, members: group.members.filter((known) => !isSame(known, member)) });
  }

  delete(id: number): void {
    this.#store.delete(SPACE, String(id));
  }

  /** The epoch key of the one key set for all groups (Core §4.17.3), 16 bytes; made at first use. Secret. */
  epochKey(): Buffer {
    const kept = this.#store.get(KEYS, 'epoch');
    if (typeof kept === 'string') return Buffer.from(kept, 'base64');
    const fresh = randomBytes(EPOCH_KEY_BYTES);
    this.#store.set(KEYS, 'epoch', fresh.toString('base64'));
    return fresh;
  }

  #write(group: GroupInfo): GroupInfo {
    const members = group.members.map(({ device, endpoint }) => ({ device, endpoint }));
    this.#store.set(SPACE, String(group.id), { name: group.name, members });
    return group;
  }
}

const isSame = (a: DeviceEndpoint, b: DeviceEndpoint): boolean => a.device === b.device && a.endpoint === b.endpoint;

function freeId(groups: readonly GroupInfo[]): number {
  for (let id = 1; id <= LAST_GROUP; id++) if (!groups.some((group) => group.id === id)) return id;
  throw new AtmoError('RESOURCE_EXCEEDED', `All ${LAST_GROUP} group ids are in use; delete a group first`);
}

function parseGroup(id: number, value: Json): GroupInfo {
  const [record] = asObjects([value]);
  const members = asObjects(record?.members ?? []).map((member) => ({
    device: parseDeviceId(String(member.device)),
    endpoint: Number(member.endpoint),
  }));
  return { id, name: String(record?.name ?? ''), members };
}

/** A command with its fields in matter.js's own values. */
interface GroupCommand {
  readonly clusterId: number;
  readonly commandId: number;
  readonly schema: ValueModel;
  readonly fields: unknown;
}

/** Sends commands to groups by multicast (Core §2.5.4, §8.8); nobody acknowledges them. */
export class GroupMulticast {
  readonly #fabric: Fabric;
  readonly #peers: Peers;

  constructor(fabric: Fabric, peers: Peers) {
    this.#fabric = fabric;
    this.#peers = peers;
  }

  /** Gives this hub the key of its groups. matter.js keeps it in memory only, so it is done at every start. */
  async useKey(epochKey: Uint8Array, groupIds: readonly number[]): Promise<void> {
    await this.#fabric.groups.setFromGroupKeySet({
      groupKeySetId: GROUP_KEY_SET,
      groupKeySecurityPolicy: 0,
      epochKey0: epochKey,
      epochStartTime0: BigInt(EPOCH_START_MICROSECONDS),
      epochKey1: null,
      epochStartTime1: null,
      epochKey2: null,
      epochStartTime2: null,
    });
    for (const id of groupIds) this.#fabric.groups.groupKeyIdMap.set(GroupId(id), GROUP_KEY_SET);
  }

  async invoke(groupId: number, command: GroupCommand, signal: AbortSignal): Promise<void> {
    const address = PeerAddress({ fabricIndex: this.#fabric.fabricIndex, nodeId: NodeId.fromGroupId(GroupId(groupId)) });
    const group = await this.#peers.forAddress(address);
    await group.start();
    const { clusterId, commandId, schema, fields } = command;
    // The definition by ids takes any cluster's model, as a group has no endpoint whose behaviours could be asked.
    const commands = [
      {
        cluster: { id: ClusterId(clusterId) },
        command: { requestId: CommandId(commandId), requestSchema: TlvOfModel(schema), timed: false },
        fields,
      },
    ];
    const request = Invoke({ commands, suppressResponse: true } as unknown as Invoke.Definition);
    for await (const _ of group.interaction.invoke(request, { abort: signal } as ActionContext));
  }
}

/**
 * A command of a standard cluster with its fields checked, ready to be cast. Options may be left out. NOT_SUPPORTED names what there is;
 * VALIDATION_ERROR as for the same command to one device. Timed commands cannot be cast (Core §8.7.2.2).
 */
export function groupCommand(cluster: string, command: string, fields: JsonObject): GroupCommand {
  const shape = standardClusterShape(cluster);
  const found = shape?.commands.get(command);
  const model = Matter.clusters(cluster)?.commands(command);
  if (!shape || !found || !model) {
    const known = shape ? [...shape.commands.keys()] : [];
    throw new AtmoError(
      'NOT_SUPPORTED',
      `The standard has no command ${cluster}.${command}; ${known.length > 0 ? `it has ${known.join(', ')}` : 'no such cluster'}`,
      { known },
    );
  }
  if (found.facts.timed)
    throw new AtmoError('NOT_SUPPORTED', `${cluster}.${command} needs a timed request, which a group cannot take; call each member`);
  const required = found.request.fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  const converted = fromJson(found.request, withDefaultOptions(fields, required));
  const schema = model as Model as ValueModel;
  return { clusterId: shape.id, commandId: found.id, schema, fields: found.request.fields.length > 0 ? converted : undefined };
}
