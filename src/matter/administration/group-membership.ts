import { AtmoError } from '../../core/errors.ts';
import { groupEntry, readAccessList, withEntry, withoutEntry } from './access-list.ts';
import { asObjects, type NodeClusters } from './node-clusters.ts';

/** The one key set that all of this hub's groups share; 0 is the fabric's own (Core §11.2.6.2). */
export const GROUP_KEY_SET = 1;
/** Just after 2000-01-01, the least that a key set may say: a board without a clock can use the key. */
export const EPOCH_START_MICROSECONDS = 946_684_800_000_001;
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
