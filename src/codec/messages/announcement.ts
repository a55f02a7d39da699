import type { KeyObject } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { AtmoError } from '../../core/errors.ts';
import { encodeCbor } from '../cbor.ts';
import { sha256Hex } from '../hashes.ts';
import {
  hex,
  hubId,
  list,
  listed,
  type MessageCodec,
  message,
  messageCodec,
  optional,
  refuse,
  required,
  signedCodec,
  text,
  uint,
  type ValueOf,
  variants,
} from '../message-schema.ts';
import {
  ADDRESSES,
  ANNOUNCED_STATE,
  type AnnouncedState,
  CAPABILITIES,
  deviceEntries,
  type HubState,
  inCanonicalOrder,
  LINKS,
  NAME,
  requireOrder,
  toolEntries,
  toolName,
} from './announced-state.ts';
import { CERTIFICATE_CHAIN } from './membership.ts';

/** Maximum length of a signed announcement in bytes. */
export const MAX_ANNOUNCEMENT_BYTES = 4_096;

const HEADER = {
  hubId: required(1, hubId),
  /** How often the hub has started. */
  epoch: required(2, uint()),
  /** How many announcements the hub has made since its start. */
  sequence: required(3, uint()),
  /** Time of the announcement by the hub's own clock, in milliseconds since 1970. */
  timeMs: required(4, uint()),
  /** Seconds for which the announcement is valid after its receipt. */
  ttlSeconds: required(5, uint({ max: 86_400 })),
  /** `stateDigest` of the hub's state after this announcement. */
  digest: required(6, hex({ min: 16, max: 16 })),
};

const CHANGES = message({
  /** New and changed tools. */
  toolsAdded: listed(1, toolEntries),
  toolsRemoved: listed(2, list(toolName, { max: 512 })),
  devicesChanged: listed(3, deviceEntries),
  devicesRemoved: listed(4, list(text({ max: 64 }), { max: 512 })),
  capabilities: optional(5, CAPABILITIES),
  links: optional(6, LINKS),
  addresses: optional(7, ADDRESSES),
  name: optional(8, NAME),
});

/** Difference between two states of a hub. */
export type StateChanges = ValueOf<typeof CHANGES>;

const ANNOUNCEMENT = variants('kind', {
  full: [1, message({ ...HEADER, certificate: required(7, CERTIFICATE_CHAIN), state: required(8, ANNOUNCED_STATE) })],
  /** The changes since an earlier announcement in the same epoch. `baseSequence` is the sequence number of this earlier announcement. */
  delta: [2, message({ ...HEADER, baseSequence: required(7, uint()), changes: required(8, CHANGES) })],
  heartbeat: [3, message(HEADER)],
  /** The hub is about to stop. */
  withdrawal: [4, message(HEADER)],
});

/** Announcement that a hub sends to all other hubs (`capability_announce`). */
export type Announcement = ValueOf<typeof ANNOUNCEMENT>;

const SIGNED = signedCodec(
  messageCodec('Announcement', ANNOUNCEMENT, { maxBytes: MAX_ANNOUNCEMENT_BYTES, maxDepth: 6, maxItems: 4_096 }),
  'atmosphere-edge announcement v1',
);

/** Signs an announcement (COSE_Sign1). Throws VALIDATION_ERROR if the signed announcement exceeds 4,096 bytes. */
export function signAnnouncement(announcement: Announcement, key: KeyObject): Uint8Array {
  const envelope = SIGNED.sign(announcement, key);
  if (envelope.length > MAX_ANNOUNCEMENT_BYTES) {
    refuse(
      { within: undefined, step: 'Announcement' },
      `has ${envelope.length} bytes, more than the ${MAX_ANNOUNCEMENT_BYTES} that are allowed`,
    );
  }
  return envelope;
}

/**
 * Verifies an announcement with the key that `keyOf` returns, and returns it. `keyOf` receives the unverified announcement, and may throw
 * to reject it before the costly verification, for example if it is stale. Throws VALIDATION_ERROR if the announcement is invalid.
 */
export function openAnnouncement(envelope: Uint8Array, keyOf: (unverified: Announcement) => KeyObject | undefined): Announcement {
  return SIGNED.open(envelope, keyOf);
}

interface Entry {
  readonly id: string;
}

/**
 * Returns the changes from `before` to `after`. Returns undefined if the whole state must be announced: if the software version has
 * changed, or if only one of the two states announces devices.
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

/** Returns whether there are no changes. */
export function isUnchanged({ toolsAdded, toolsRemoved, devicesChanged, devicesRemoved, ...rest }: StateChanges): boolean {
  const lists = [toolsAdded, toolsRemoved, devicesChanged, devicesRemoved];
  return lists.every((list) => list.length === 0) && Object.keys(rest).length === 0;
}

/** Returns the state after the changes. Throws VALIDATION_ERROR if the changes name devices although the hub announces no devices. */
export function applyChanges(state: HubState, changes: StateChanges): HubState {
  const { toolsAdded, toolsRemoved, devicesChanged, devicesRemoved, ...rest } = changes;
  if (state.devices === null && devicesChanged.length + devicesRemoved.length > 0) {
    throw new AtmoError('VALIDATION_ERROR', 'The changes name devices, and the hub announces none');
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
  return inCanonicalOrder([...all.values()]);
}

/** Maximum length in bytes of a state that is announced without pages. */
const INLINE_BYTES = 3_072;
/** Maximum number of tools that are announced without pages. With more tools, their hashes alone (8 bytes each) exceed INLINE_BYTES. */
const INLINE_TOOLS = INLINE_BYTES / 8;
const PAGE_MIN_ENTRIES = 32;
const PAGE_MAX_ENTRIES = 128;
/** A page ends after an entry with a probability of 1 / PAGE_END, once the page has at least PAGE_MIN_ENTRIES entries. */
const PAGE_END = 32;
const HASH_DIGITS = 32;
const PAGE_LIMITS = { maxBytes: 65_536, maxDepth: 3, maxItems: 1 + 6 * PAGE_MAX_ENTRIES };

const TOOL_PAGE = messageCodec('Page of tools', toolEntries, PAGE_LIMITS);
const DEVICE_PAGE = messageCodec('Page of devices', deviceEntries, PAGE_LIMITS);
/** Id of a page: the first 16 bytes of its SHA-256, in hex. */
type PageHash = string;

interface PagedState {
  readonly announced: AnnouncedState;
  readonly pages: ReadonlyMap<PageHash, Uint8Array>;
}

/**
 * Returns the announced form of a state, and its pages. If the announced form exceeds 3 KiB, pages replace the list of tools or the list of
 * devices, or both if necessary.
 */
export function paginate(state: HubState): PagedState {
  const { tools, devices, ...head } = state;
  const inline = (devicesInline: HubState['devices']): AnnouncedState['devices'] =>
    devicesInline && { kind: 'inline', entries: devicesInline };
  const whole: AnnouncedState = { ...head, tools: { kind: 'inline', entries: tools }, devices: inline(devices) };
  if (tools.length <= INLINE_TOOLS && fits(whole)) return { announced: whole, pages: new Map() };
  const toolPages = cutPages(tools, TOOL_PAGE);
  const withToolPages: AnnouncedState = { ...whole, tools: { kind: 'paged', hashes: [...toolPages.keys()] } };
  if (!devices || devices.length === 0 || fits(withToolPages)) return { announced: withToolPages, pages: toolPages };
  const devicePages = cutPages(devices, DEVICE_PAGE);
  const paged = { kind: 'paged', hashes: [...devicePages.keys()] } as const;
  const withDevicePages: AnnouncedState = { ...whole, devices: paged };
  if (fits(withDevicePages)) return { announced: withDevicePages, pages: devicePages };
  return { announced: { ...withToolPages, devices: paged }, pages: new Map([...toolPages, ...devicePages]) };
}

/** Returns the hashes of all pages of a state: first the pages of tools, then the pages of devices. */
export function pagesOf({ tools, devices }: AnnouncedState): readonly PageHash[] {
  return [tools, devices].flatMap((list) => (list?.kind === 'paged' ? list.hashes : []));
}

/** Returns the whole state, or undefined if a page is missing. Throws VALIDATION_ERROR if a page is invalid or entries are not sorted. */
export function assemble(announced: AnnouncedState, pageOf: (hash: PageHash) => Uint8Array | undefined): HubState | undefined {
  const { tools, devices, ...head } = announced;
  const allTools = entriesOf(tools, TOOL_PAGE, pageOf);
  const allDevices = devices && entriesOf(devices, DEVICE_PAGE, pageOf);
  if (allTools === undefined || allDevices === undefined) return undefined;
  return { ...head, tools: allTools, devices: allDevices };
}

type Pages<Entry> =
  | { readonly kind: 'inline'; readonly entries: readonly Entry[] }
  | { readonly kind: 'paged'; readonly hashes: readonly PageHash[] };

function entriesOf<Item extends Entry>(
  list: Pages<Item>,
  codec: MessageCodec<readonly Item[]>,
  pageOf: (hash: PageHash) => Uint8Array | undefined,
): readonly Item[] | undefined {
  if (list.kind === 'inline') return list.entries;
  const entries: Item[] = [];
  for (const name of list.hashes) {
    const page = pageOf(name);
    if (!page) return undefined;
    if (pageHash(page) !== name) throw new AtmoError('VALIDATION_ERROR', `The bytes of page ${name} do not have its hash`);
    entries.push(...codec.decode(page));
  }
  return requireOrder(entries, { within: undefined, step: 'HubState' });
}

function cutPages<Item extends Entry>(entries: readonly Item[], codec: MessageCodec<readonly Item[]>): PagedState['pages'] {
  const pages = new Map<PageHash, Uint8Array>();
  const ordered = inCanonicalOrder(entries);
  let start = 0;
  ordered.forEach(({ id }, index) => {
    const length = index + 1 - start;
    const isEnd = length >= PAGE_MAX_ENTRIES || (length >= PAGE_MIN_ENTRIES && endsPage(id)) || index === ordered.length - 1;
    if (!isEnd) return;
    const page = codec.encode(ordered.slice(start, index + 1));
    pages.set(pageHash(page), page);
    start = index + 1;
  });
  return pages;
}

/** Returns whether an entry may end its page. The result depends only on the id, so a new or removed entry changes only few pages. */
function endsPage(id: string): boolean {
  return Number.parseInt(sha256Hex(id).slice(-4), 16) % PAGE_END === 0;
}

function pageHash(page: Uint8Array): PageHash {
  return sha256Hex(page).slice(0, HASH_DIGITS);
}

function fits(announced: AnnouncedState): boolean {
  return encodeCbor(ANNOUNCED_STATE.toCbor(announced, { within: undefined, step: 'HubState' })).length <= INLINE_BYTES;
}
