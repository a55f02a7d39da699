import { isDeepStrictEqual } from 'node:util';
import { AtmoError } from '../../core/errors.ts';
import { inOrder } from './announced-entries.ts';
import type { HubState } from './announced-state.ts';
import type { StateChanges } from './announcement.ts';

interface Entry {
  readonly id: string;
}

/**
 * What has to be told so that `before` becomes `after`; undefined when only the whole will do: the version changed, or devices
 * are shown now and were not before, or the other way round.
 */
export function changesBetween(before: HubState, after: HubState): StateChanges | undefined {
  if (before.version !== after.version || (before.devices === null) !== (after.devices === null)) return undefined;
  const tools = entryChanges(before.tools, after.tools);
  const devices = entryChanges(before.devices ?? [], after.devices ?? []);
  return {
    toolsAdded: tools.changed,
    toolsRemoved: tools.removed,
    devicesChanged: devices.changed,
    devicesRemoved: devices.removed,
    ...(!isDeepStrictEqual(before.capabilities, after.capabilities) && { capabilities: after.capabilities }),
    ...(!isDeepStrictEqual(before.links, after.links) && { links: after.links }),
    ...(!isDeepStrictEqual(before.addresses, after.addresses) && { addresses: after.addresses }),
    ...(before.name !== after.name && { name: after.name }),
  };
}

/** True when nothing has to be told. */
export function isUnchanged({ toolsAdded, toolsRemoved, devicesChanged, devicesRemoved, ...rest }: StateChanges): boolean {
  const lists = [toolsAdded, toolsRemoved, devicesChanged, devicesRemoved];
  return lists.every((list) => list.length === 0) && Object.keys(rest).length === 0;
}

/** The state after the changes. VALIDATION_ERROR when they tell of devices of a hub that shows none. */
export function applyChanges(state: HubState, changes: StateChanges): HubState {
  const { toolsAdded, toolsRemoved, devicesChanged, devicesRemoved, ...rest } = changes;
  if (state.devices === null && devicesChanged.length + devicesRemoved.length > 0) {
    throw new AtmoError('VALIDATION_ERROR', 'The changes tell of devices, and the hub shows none');
  }
  return {
    ...state,
    ...rest,
    tools: merged(state.tools, toolsAdded, toolsRemoved),
    devices: state.devices && merged(state.devices, devicesChanged, devicesRemoved),
  };
}

function entryChanges<Item extends Entry>(before: readonly Item[], after: readonly Item[]) {
  const known = new Map(before.map((entry) => [entry.id, entry]));
  const kept = new Set(after.map(({ id }) => id));
  return {
    changed: after.filter((entry) => !isDeepStrictEqual(known.get(entry.id), entry)),
    removed: before.filter(({ id }) => !kept.has(id)).map(({ id }) => id),
  };
}

function merged<Item extends Entry>(entries: readonly Item[], changed: readonly Item[], removed: readonly string[]): readonly Item[] {
  const all = new Map(entries.map((entry) => [entry.id, entry]));
  for (const id of removed) all.delete(id);
  for (const entry of changed) all.set(entry.id, entry);
  return inOrder([...all.values()]);
}
