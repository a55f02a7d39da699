import type { DeviceEndpoint, GroupInfo } from '../../core/devices/device-administration.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { GroupBook } from './group-book.ts';
import type { GroupCast } from './group-cast.ts';
import { groupCommand } from './group-command.ts';
import { joinGroup, leaveGroup } from './group-membership.ts';
import { type NodeAccess, NodeClusters, rootDevice } from './node-clusters.ts';

/** Groups of devices that obey one multicast frame; the book is the truth, devices follow it. */
export class DeviceGroups {
  readonly #book: GroupBook;
  readonly #directory: DeviceDirectory;
  readonly #access: NodeAccess;
  readonly #cast: () => GroupCast;

  constructor(collaborators: {
    readonly book: GroupBook;
    readonly directory: DeviceDirectory;
    readonly access: NodeAccess;
    readonly cast: () => GroupCast;
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
