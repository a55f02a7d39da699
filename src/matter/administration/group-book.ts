import { randomBytes } from 'node:crypto';
import type { DeviceEndpoint, GroupInfo } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import { parseDeviceId } from '../../core/ids.ts';
import type { Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { asObjects } from './node-clusters.ts';

const SPACE = 'groups';
const KEYS = 'group-keys';
/** Group ids for unicast membership end at 0xFEFF; above are the universal ones (Core §2.5.4). */
const LAST_GROUP = 0xfeff;
const NAME_LIMIT = 16;
const EPOCH_KEY_BYTES = 16;

/** The hub's groups and the key that their members share; the only copy of both, so each change is on the disk at once. */
export class GroupBook {
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
