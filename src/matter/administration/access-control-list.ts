import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { asObjects, type NodeClusters } from './node-clusters.ts';

/** An access control entry in the JSON form of AccessControl.Acl (Core §9.10.5.6). */
type AccessEntry = JsonObject;

/** Reads the access control entries that the device has for our fabric. */
export async function readAccessList(clusters: NodeClusters): Promise<readonly AccessEntry[]> {
  return asObjects(await clusters.read('AccessControl', 'Acl'));
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

/** Returns the access control entry that a binding needs: a node may operate an endpoint, or one cluster of it (Core §9.10.7). */
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

/** Returns the list without the entry. Entries are equal whatever the order of their subjects and targets. */
export function withoutEntry(entries: readonly AccessEntry[], entry: AccessEntry): readonly AccessEntry[] {
  return entries.filter((known) => signature(known) !== signature(entry));
}

function grantsAdministration(entry: AccessEntry, nodeId: string): boolean {
  const reaches = subjectsOf(entry).length === 0 || subjectsOf(entry).includes(nodeId);
  const targets = Array.isArray(entry.targets) ? entry.targets : [];
  return entry.privilege === 'Administer' && entry.authMode === 'Case' && reaches && targets.length === 0;
}

function signature(entry: AccessEntry): string {
  const targets = asObjects(entry.targets ?? []).map(
    (target) => `${target.cluster ?? ''}/${target.endpoint ?? ''}/${target.deviceType ?? ''}`,
  );
  return [entry.privilege, entry.authMode, ...subjectsOf(entry).toSorted(), '|', ...targets.toSorted()].join(' ');
}

function subjectsOf(entry: AccessEntry): string[] {
  return Array.isArray(entry.subjects) ? entry.subjects.map(String) : [];
}
