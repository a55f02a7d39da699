import { randomBytes } from 'node:crypto';
import { Matter, type Model, type ValueModel } from '@matter/main/model';
import type { ActionContext, Peers } from '@matter/main/node';
import { type Fabric, Invoke, PeerAddress } from '@matter/main/protocol';
import { ClusterId, CommandId, GroupId, NodeId, TlvOfModel } from '@matter/main/types';
import type { DeviceEndpoint, GroupInfo } from '../../core/devices/device-administration.ts';
import { withDefaultOptions } from '../../core/devices/device-model.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { type Json, type JsonObject, objectsOf } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { standardClusterShape } from '../model/data-model.ts';
import { fromJson } from '../model/value-json.ts';
import {
  clustersOfNode,
  groupEntry,
  type NodeClusters,
  type NodeParts,
  readAccessList,
  rootDevice,
  withEntry,
  withoutEntry,
} from './node-clusters.ts';

interface GroupParts extends NodeParts {
  readonly store: GroupStore;
  /** Creates a sender. Called for each command and not earlier, because a sender can be created only while the Matter node runs. */
  readonly multicast: () => GroupMulticast;
}

/** Manages groups of devices. One multicast message reaches all members. The hub's store is the source of truth for the members. */
export class GroupAdministration {
  readonly #parts: GroupParts;

  constructor(parts: GroupParts) {
    this.#parts = parts;
  }

  list(): readonly GroupInfo[] {
    return this.#parts.store.list();
  }

  /** Creates a group and adds all members. If a member cannot be added, deletes the group; if the deletion fails too, the group remains. */
  async create(name: string, members: readonly DeviceEndpoint[], signal: AbortSignal): Promise<GroupInfo> {
    const { id } = this.#parts.store.create(name);
    try {
      for (const member of members) await this.add(id, member, signal);
    } catch (error) {
      await this.delete(id, signal).catch(() => undefined);
      throw error;
    }
    return this.#parts.store.get(id);
  }

  async add(id: number, member: DeviceEndpoint, signal: AbortSignal): Promise<GroupInfo> {
    const { name: groupName } = this.#parts.store.get(id);
    const group = { groupId: id, groupName, epochKey: this.#parts.store.epochKey() };
    await joinGroup(clustersOfNode(this.#parts, member.device, signal), member.endpoint, group);
    return this.#parts.store.withMember(id, member);
  }

  async remove(id: number, member: DeviceEndpoint, signal: AbortSignal): Promise<GroupInfo> {
    const { members } = this.#parts.store.get(id);
    const { directory } = this.#parts;
    const root = rootDevice(directory, member.device).id;
    const isLastOfNode = !members.some(
      ({ device, endpoint }) => endpoint !== member.endpoint && directory.get(device) && rootDevice(directory, device).id === root,
    );
    await leaveGroup(clustersOfNode(this.#parts, member.device, signal), member.endpoint, { groupId: id, isLastOfNode });
    return this.#parts.store.withoutMember(id, member);
  }

  /** Removes all members, then the group. If a device does not answer, throws and keeps the group. */
  async delete(id: number, signal: AbortSignal): Promise<void> {
    for (const member of this.#parts.store.get(id).members) {
      if (this.#parts.directory.get(member.device)) await this.remove(id, member, signal);
    }
    this.#parts.store.delete(id);
  }

  forget(devices: readonly DeviceId[]): void {
    for (const group of this.#parts.store.list())
      for (const member of group.members) if (devices.includes(member.device)) this.#parts.store.withoutMember(group.id, member);
  }

  async invoke(
    id: number,
    command: { readonly cluster: string; readonly name: string; readonly fields: JsonObject },
    signal: AbortSignal,
  ): Promise<void> {
    this.#parts.store.get(id);
    const request = groupCommand(command.cluster, command.name, command.fields);
    const multicast = this.#parts.multicast();
    const ids = this.#parts.store.list().map((group) => group.id);
    await multicast.useKey(this.#parts.store.epochKey(), ids);
    await multicast.invoke(id, request, signal);
  }
}

/** Id of the group key set that all groups of this hub share; key set 0 is the fabric's identity protection key (Core §11.2.6.2). */
const GROUP_KEY_SET = 1;
/** The group key is valid from this time: the earliest that a key set allows (2000-01-01). So a board without a clock can use the key. */
const EPOCH_START_MICROSECONDS = 946_684_800_000_001;
const UNUSED_EPOCH_KEYS = { epochKey1: null, epochStartTime1: null, epochKey2: null, epochStartTime2: null };
const STATUS_SUCCESS = 0;
const STATUS_ALREADY_THERE = 0x8a;

interface GroupKey {
  readonly groupId: number;
  readonly groupName: string;
  readonly epochKey: Buffer;
}

/** Adds an endpoint to a group: writes the key set, key map, group table and access control list. Every step can be repeated safely. */
export async function joinGroup(clusters: NodeClusters, endpoint: number, { groupId, groupName, epochKey }: GroupKey): Promise<void> {
  await clusters.invoke('GroupKeyManagement', 'KeySetWrite', {
    fields: {
      groupKeySet: {
        groupKeySetId: GROUP_KEY_SET,
        groupKeySecurityPolicy: 'TrustFirst',
        epochKey0: epochKey.toString('base64'),
        epochStartTime0: EPOCH_START_MICROSECONDS,
        ...UNUSED_EPOCH_KEYS,
      },
    },
  });
  await mapKey(clusters, groupId);
  const answer = await clusters.invoke('Groups', 'AddGroup', { endpoint, fields: { groupId, groupName } });
  requireJoined(answer?.status, groupId);
  await clusters.write('AccessControl', 'Acl', { value: withEntry(await readAccessList(clusters), groupEntry(groupId)) });
}

/** Removes an endpoint from a group. With `isLastOfNode`, also removes the group from the key map and access list of the node. */
export async function leaveGroup(
  clusters: NodeClusters,
  endpoint: number,
  { groupId, isLastOfNode }: { readonly groupId: number; readonly isLastOfNode: boolean },
): Promise<void> {
  await clusters.invoke('Groups', 'RemoveGroup', { endpoint, fields: { groupId } });
  if (!isLastOfNode) return;
  const map = objectsOf(await clusters.read('GroupKeyManagement', 'GroupKeyMap'));
  await clusters.write('GroupKeyManagement', 'GroupKeyMap', { value: map.filter((entry) => entry.groupId !== groupId) });
  await clusters.write('AccessControl', 'Acl', { value: withoutEntry(await readAccessList(clusters), groupEntry(groupId)) });
}

async function mapKey(clusters: NodeClusters, groupId: number): Promise<void> {
  const map = objectsOf(await clusters.read('GroupKeyManagement', 'GroupKeyMap'));
  if (map.some((entry) => entry.groupId === groupId && entry.groupKeySetId === GROUP_KEY_SET)) return;
  const others = map.filter((entry) => entry.groupId !== groupId);
  await clusters.write('GroupKeyManagement', 'GroupKeyMap', { value: [...others, { groupId, groupKeySetId: GROUP_KEY_SET }] });
}

function requireJoined(status: unknown, groupId: number): void {
  if (status === undefined || status === STATUS_SUCCESS || status === STATUS_ALREADY_THERE || status === 'Success') return;
  throw new AtmoError('CLUSTER_STATUS', `The device refused to join group ${groupId}: status ${String(status)}`, {
    status: String(status),
  });
}

const SPACE = 'groups';
const KEYS = 'group-keys';
/** Highest group id that an administrator may assign; higher ids are universal groups (Core §2.5.4). */
const LAST_GROUP = 0xfeff;
const NAME_LIMIT = 16;
const EPOCH_KEY_BYTES = 16;

/** Stores the hub's groups and their common key. Writes each change at once, because no other place has this data. */
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

  /** Returns a group. If the group does not exist, throws NOT_FOUND with the ids of all groups. */
  get(id: number): GroupInfo {
    const groups = this.list();
    const group = groups.find((known) => known.id === id);
    if (group) return group;
    const known = groups.map((each) => each.id);
    throw new AtmoError('NOT_FOUND', `There is no group ${id}; there are ${known.join(', ') || 'none'}`, { known });
  }

  /** Adds a group without members. Throws VALIDATION_ERROR if Matter does not allow the name, CONFLICT if a group has this name. */
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

  /** Returns the 16-byte secret epoch key of the shared key set (Core §4.17.3); creates the key at the first call. */
  epochKey(): Buffer {
    const stored = this.#store.get(KEYS, 'epoch');
    if (typeof stored === 'string') return Buffer.from(stored, 'base64');
    const key = randomBytes(EPOCH_KEY_BYTES);
    this.#store.set(KEYS, 'epoch', key.toString('base64'));
    return key;
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
  const [record] = objectsOf([value]);
  const members = objectsOf(record?.members).map((member) => ({
    device: parseDeviceId(String(member.device)),
    endpoint: Number(member.endpoint),
  }));
  return { id, name: String(record?.name ?? ''), members };
}

/** A group command whose fields are converted to values of matter.js. */
interface GroupCommand {
  readonly clusterId: number;
  readonly commandId: number;
  readonly schema: ValueModel;
  readonly fields: unknown;
}

/** Sends commands to groups by multicast (Core §2.5.4, §8.8). Devices do not acknowledge them. */
export class GroupMulticast {
  readonly #fabric: Fabric;
  readonly #peers: Peers;

  constructor(fabric: Fabric, peers: Peers) {
    this.#fabric = fabric;
    this.#peers = peers;
  }

  /** Gives matter.js the key and the ids of all groups. This is necessary after each start, because matter.js does not store the key. */
  async useKey(epochKey: Uint8Array, groupIds: readonly number[]): Promise<void> {
    await this.#fabric.groups.setFromGroupKeySet({
      groupKeySetId: GROUP_KEY_SET,
      groupKeySecurityPolicy: 0,
      epochKey0: epochKey,
      epochStartTime0: BigInt(EPOCH_START_MICROSECONDS),
      ...UNUSED_EPOCH_KEYS,
    });
    for (const id of groupIds) this.#fabric.groups.groupKeyIdMap.set(GroupId(id), GROUP_KEY_SET);
  }

  async invoke(groupId: number, command: GroupCommand, signal: AbortSignal): Promise<void> {
    const address = PeerAddress({ fabricIndex: this.#fabric.fabricIndex, nodeId: NodeId.fromGroupId(GroupId(groupId)) });
    const group = await this.#peers.forAddress(address);
    await group.start();
    const { clusterId, commandId, schema, fields } = command;
    // The cluster and the command are given by id: matter.js knows their names only for endpoint objects, and a group has none.
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
 * Checks and converts the fields of a standard command for multicast. Option bitmaps that `fields` omits become empty. Throws NOT_SUPPORTED
 * if the command is unknown or needs a timed request (Core §8.7.2.2), and VALIDATION_ERROR if the fields are invalid.
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
