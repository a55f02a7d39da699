import { AtmoError } from '../../core/errors.ts';
import { encodeCbor } from '../cbor.ts';
import { sha256Hex } from '../hashes.ts';
import { type MessageCodec, messageCodec } from '../message-codec.ts';
import { deviceEntries, inOrder, requireOrder, toolEntries } from './announced-entries.ts';
import { ANNOUNCED_STATE, type AnnouncedState, type HubState } from './announced-state.ts';

/** A longer state has its lists in pages. */
const INLINE_BYTES = 3_072;
/** More take more than that in any case: eight bytes of each are a hash. */
const INLINE_TOOLS = INLINE_BYTES / 8;
const PAGE_MIN_ENTRIES = 32;
const PAGE_MAX_ENTRIES = 128;
/** One of so many entries ends a page. */
const PAGE_END = 32;
const HASH_DIGITS = 32;
const PAGE_LIMITS = { maxBytes: 65_536, maxDepth: 3, maxItems: 1 + 6 * PAGE_MAX_ENTRIES };

const TOOL_PAGE = messageCodec('Page of tools', toolEntries, PAGE_LIMITS);
const DEVICE_PAGE = messageCodec('Page of devices', deviceEntries, PAGE_LIMITS);
/** Name of a page: the first 16 bytes of its SHA-256, hex. */
export type PageHash = string;

/** A state as it travels, and the pages that others will ask for. */
export interface PagedState {
  readonly announced: AnnouncedState;
  readonly pages: ReadonlyMap<PageHash, Uint8Array>;
}

/** Puts the longer list into pages where the whole would have more than 3 KiB, and the other one too where that is not enough. */
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

/** Hashes of the pages that the state is made of, in order. */
export function pagesOf({ tools, devices }: AnnouncedState): readonly PageHash[] {
  return [tools, devices].flatMap((list) => (list?.kind === 'paged' ? list.hashes : []));
}

/**
 * The whole state, once all its pages are here; undefined while `pageOf` does not have one. VALIDATION_ERROR when a page is not
 * what its hash names, malformed, or out of order.
 */
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

function entriesOf<Entry extends { readonly id: string }>(
  list: Pages<Entry>,
  codec: MessageCodec<readonly Entry[]>,
  pageOf: (hash: PageHash) => Uint8Array | undefined,
): readonly Entry[] | undefined {
  if (list.kind === 'inline') return list.entries;
  const entries: Entry[] = [];
  for (const name of list.hashes) {
    const page = pageOf(name);
    if (!page) return undefined;
    if (pageHash(page) !== name) throw new AtmoError('VALIDATION_ERROR', `The bytes of page ${name} do not have its hash`);
    entries.push(...codec.decode(page));
  }
  return requireOrder(entries, { within: undefined, step: 'HubState' });
}

function cutPages<Entry extends { readonly id: string }>(
  entries: readonly Entry[],
  codec: MessageCodec<readonly Entry[]>,
): ReadonlyMap<PageHash, Uint8Array> {
  const pages = new Map<PageHash, Uint8Array>();
  const ordered = inOrder(entries);
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

/** Cut by what stands there instead of by number: an entry that comes or goes moves no page but its own. */
function endsPage(id: string): boolean {
  return Number.parseInt(sha256Hex(id).slice(-4), 16) % PAGE_END === 0;
}

function pageHash(page: Uint8Array): PageHash {
  return sha256Hex(page).slice(0, HASH_DIGITS);
}

function fits(announced: AnnouncedState): boolean {
  return encodeCbor(ANNOUNCED_STATE.toCbor(announced, { within: undefined, step: 'HubState' })).length <= INLINE_BYTES;
}
