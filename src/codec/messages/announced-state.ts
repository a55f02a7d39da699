import { type CborValue, encodeCbor } from '../cbor.ts';
import { sha256Hex } from '../hashes.ts';
import {
  bool,
  hex,
  hubId,
  list,
  message,
  nullable,
  optional,
  record,
  refuse,
  requireBytes,
  required,
  scalar,
  text,
  tuple,
  uint,
  type ValueOf,
  type ValuePath,
  variants,
  type WireType,
} from '../message-schema.ts';

/** Maximum number of tools of one hub. */
export const MAX_TOOLS = 4_096;
/** Maximum number of devices of one hub. */
export const MAX_DEVICES = 512;
/** Maximum number of capabilities of one hub. */
export const MAX_CAPABILITIES = 32;
/** Pattern of a tool name: `namespace:name` with an optional `@version`. Does not limit the length of each part, which would be slow. */
const TOOL_NAME = /^[a-z][a-z0-9-]*:[A-Za-z][A-Za-z0-9_.-]*(?:@[0-9A-Za-z.+-]+)?$/;
/** Matches characters that may follow the first letter of a name without a version. */
const REST_OF_NAME = /^[A-Za-z0-9_.-]+$/;
const MAX_NAME_BYTES = 226;
/** Default version of a tool. It is not sent. */
const DEFAULT_VERSION = '@1.0.0';

/** Tool in the form that its hub announces. */
export interface AnnouncedTool {
  /** Canonical id, `namespace:name@version`. */
  readonly id: string;
  /** Identifies the tool's public definition: the first 8 bytes, in hex, of the SHA-256 of the definition's RFC 8785 text. */
  readonly hash: string;
  /** Index of the first capability that the tool needs, in the hub's list of capabilities. */
  readonly capability?: number;
}

const HASH_BYTES = 8;
/** Byte in the capability column if the tool needs no capability. */
const NO_CAPABILITY = 0xff;
const HASH = hex({ min: HASH_BYTES, max: HASH_BYTES });
const CAPABILITY_INDEX = uint({ max: MAX_CAPABILITIES - 1 });
const TOOL_NAME_TYPE = text({ max: MAX_NAME_BYTES, pattern: TOOL_NAME });

/** Wire type of a tool id; the version 1.0.0 is not sent. */
export const toolName: WireType<string> = {
  toCbor: (id, at) => (id.includes('@') ? TOOL_NAME_TYPE.toCbor(shorten(id), at) : refuse(at, 'is not the id of a tool with its version')),
  fromCbor: (value, at) => lengthen(String(TOOL_NAME_TYPE.fromCbor(value, at)), at),
};

/**
 * Wire type of a list of tools, sorted by name. The list is sent as four columns, one CBOR item each. They decode three times as fast as
 * four items for each tool. Each name is sent as its difference from the previous name (front coding).
 */
export const toolEntries: WireType<readonly AnnouncedTool[]> = {
  toCbor: (tools, at) => {
    if (tools.length > MAX_TOOLS) refuse(at, `has more than ${MAX_TOOLS} items`);
    const ordered = inCanonicalOrder(tools);
    const cells = ordered.map((tool, step) => cellsOf(tool, { within: at, step }));
    const names = cells.map(({ name }) => name);
    const shared = names.map((name, step) => sharedLength(names[step - 1] ?? '', name));
    requireOrder(ordered, at);
    return [
      Uint8Array.from(shared),
      names.map((name, step) => name.slice(shared[step])).join('\n'),
      Uint8Array.from(cells.flatMap(({ hash }) => hash)),
      Uint8Array.from(cells, ({ capability }) => capability),
    ];
  },
  fromCbor: (value, at) => {
    const { shared, rests, hashes, capabilities } = readColumns(value, at);
    let name = '';
    let bare = Number.POSITIVE_INFINITY;
    return rests.map((rest, step) => {
      const place = { within: at, step };
      const sharedCount = shared[step] ?? 0;
      name = nextName(name, { shared: sharedCount, rest }, place);
      // If the name shares the namespace and the first letter with a valid name, only its other characters must be checked.
      const isPlain = sharedCount >= bare && name.length <= MAX_NAME_BYTES && REST_OF_NAME.test(rest);
      const id = isPlain ? name + DEFAULT_VERSION : toolName.fromCbor(name, place);
      if (!isPlain) bare = name.includes('@') ? Number.POSITIVE_INFINITY : name.indexOf(':') + 2;
      const hash = hashes.slice(step * 2 * HASH_BYTES, (step + 1) * 2 * HASH_BYTES);
      const capability = capabilities[step] ?? NO_CAPABILITY;
      if (capability === NO_CAPABILITY) return { id, hash };
      return { id, hash, capability: CAPABILITY_INDEX.fromCbor(capability, place) };
    });
  },
};

const DEVICE = tuple({
  id: required(0, text({ max: 64, pattern: /^[a-z0-9][a-z0-9_-]*$/ })),
  name: required(1, text({ min: 0, max: 256 })),
  /** Name of the Matter device type, such as `dimmable_light`. */
  type: required(2, text({ max: 64 })),
  isReachable: required(3, bool),
});

/** Device in the form that its hub announces. */
export type AnnouncedDevice = ValueOf<typeof DEVICE>;

const DEVICES = list(DEVICE, { max: MAX_DEVICES });

/** Wire type of a list of devices, sorted by id. */
export const deviceEntries: WireType<readonly AnnouncedDevice[]> = {
  toCbor: (devices, at) => DEVICES.toCbor(requireOrder(inCanonicalOrder(devices), at), at),
  fromCbor: (value, at) => requireOrder(DEVICES.fromCbor(value, at), at),
};

/** Returns the entries in the order in which they are sent: by id. The default version of a tool is not part of the compared id. */
export function inCanonicalOrder<Entry extends { readonly id: string }>(entries: readonly Entry[]): readonly Entry[] {
  const isOrdered = entries.every(({ id }, step) => step === 0 || shorten(entries[step - 1]?.id ?? '') < shorten(id));
  return isOrdered ? entries : entries.toSorted((a, b) => (shorten(a.id) < shorten(b.id) ? -1 : 1));
}

/** Returns the entries if they are in canonical order. Throws VALIDATION_ERROR for any other order and for two entries with the same id. */
export function requireOrder<Entry extends { readonly id: string }>(entries: readonly Entry[], at: ValuePath): readonly Entry[] {
  entries.forEach(({ id }, step) => {
    const isAscending = shorten(entries[step - 1]?.id ?? '') < shorten(id);
    if (!isAscending) refuse({ within: at, step }, 'is not in ascending order, or stands there twice');
  });
  return entries;
}

function readColumns(value: CborValue, at: ValuePath) {
  if (!Array.isArray(value) || value.length !== 4) return refuse(at, 'is not an array of 4');
  const [sharedValue, restsValue, hashesValue, capabilitiesValue]: readonly CborValue[] = value;
  const shared = requireBytes(sharedValue, at, { max: MAX_TOOLS });
  const count = shared.length;
  const joined = typeof restsValue === 'string' ? restsValue : refuse(at, 'does not have the rests of its names as text');
  const rests = joined === '' ? [] : joined.split('\n');
  if (rests.length !== count) refuse(at, `has ${rests.length} rests of names for ${count} tools`);
  const hashes = requireBytes(hashesValue, at, { min: count * HASH_BYTES, max: count * HASH_BYTES });
  const capabilities = requireBytes(capabilitiesValue, at, { min: count, max: count });
  return { shared, rests, hashes: Buffer.from(hashes.buffer, hashes.byteOffset, hashes.length).toString('hex'), capabilities };
}

function nextName(before: string, { shared, rest }: { readonly shared: number; readonly rest: string }, at: ValuePath): string {
  if (shared > before.length || rest === '') return refuse(at, 'does not say how it differs from the one before');
  // Both names are equal up to `shared`. The next character must be greater: then the name comes later and shares no further character.
  const isLater = shared === before.length || rest.charCodeAt(0) > before.charCodeAt(shared);
  return isLater ? before.slice(0, shared) + rest : refuse(at, 'does not come after the one before, or shares more with it than it says');
}

/** A tool in the columns of a list. */
interface ToolCells {
  readonly name: string;
  readonly hash: readonly number[];
  readonly capability: number;
}

/** Tools that were encoded. Each change of one tool gives a new list, whose digest is of all tools. */
const encodedTools = new WeakMap<AnnouncedTool, ToolCells>();

function cellsOf(tool: AnnouncedTool, at: ValuePath): ToolCells {
  const known = encodedTools.get(tool);
  if (known) return known;
  const { id, hash, capability } = tool;
  const cells = {
    name: String(toolName.toCbor(id, at)),
    hash: [...(HASH.toCbor(hash, at) as Uint8Array)],
    capability: capabilityByte(capability, at),
  };
  encodedTools.set(tool, cells);
  return cells;
}

function capabilityByte(capability: number | undefined, at: ValuePath): number {
  return capability === undefined ? NO_CAPABILITY : Number(CAPABILITY_INDEX.toCbor(capability, at));
}

function sharedLength(before: string, name: string): number {
  const most = Math.min(before.length, name.length);
  let shared = 0;
  while (shared < most && before.charCodeAt(shared) === name.charCodeAt(shared)) shared += 1;
  return shared;
}

function shorten(id: string): string {
  return id.endsWith(DEFAULT_VERSION) ? id.slice(0, -DEFAULT_VERSION.length) : id;
}

/** Returns the tool id for a name on the wire. Throws VALIDATION_ERROR if the name has the default version, which must not be sent. */
function lengthen(name: string, at: ValuePath): string {
  if (!name.includes('@')) return `${name}${DEFAULT_VERSION}`;
  return name.endsWith(DEFAULT_VERSION) ? refuse(at, `has the version that goes without saying, ${DEFAULT_VERSION}`) : name;
}

/** Maximum length, in UTF-8 bytes, of a text that is shown to people. */
export const MAX_SHOWN_BYTES = 256;
/** Maximum number of addresses that a hub announces. */
export const MAX_ADDRESSES = 8;
/** Maximum number of direct connections that a hub announces. */
export const MAX_LINKS = 256;

const CAPABILITY = message({
  type: required(1, text({ max: 64 })),
  description: required(2, text({ min: 0, max: MAX_SHOWN_BYTES })),
  /** Limits and features by name, such as `gpu` or `max_image_mb`. */
  constraints: optional(3, record(text({ max: 64 }), scalar, { max: 16 })),
});

/** Capability of a hub. Tools of the hub may need it. */
export type AnnouncedCapability = ValueOf<typeof CAPABILITY>;

export const NAME = text({ max: MAX_SHOWN_BYTES });
const VERSION = text({ max: 64 });
/** Wire type of a hub's addresses: `host:port`, best address first. */
export const ADDRESSES = list(text({ max: 261 }), { max: MAX_ADDRESSES });
/** Wire type of the ids of the directly connected hubs. */
export const LINKS = list(hubId, { max: MAX_LINKS });
export const CAPABILITIES = list(CAPABILITY, { max: MAX_CAPABILITIES });

const HEAD = {
  name: required(1, NAME),
  version: required(2, VERSION),
  addresses: required(3, ADDRESSES),
  links: required(4, LINKS),
  capabilities: required(5, CAPABILITIES),
};

const WHOLE = message({ ...HEAD, tools: required(6, toolEntries), devices: required(7, nullable(deviceEntries)) });

/** Complete state of a hub. `devices` is null if the owner does not want devices to be announced. */
export type HubState = ValueOf<typeof WHOLE>;

/** Wire type of a page hash: the first 16 bytes of the SHA-256 of the page, in hex. */
const PAGE_HASH = hex({ min: 16, max: 16 });

const pages = <Entry>(entries: WireType<readonly Entry[]>) =>
  variants('kind', {
    inline: [1, message({ entries: required(1, entries) })],
    /** Hashes of the pages. Other hubs fetch the pages by these hashes. */
    paged: [2, message({ hashes: required(1, list(PAGE_HASH, { min: 1, max: 128 })) })],
  });

/** Wire type of the announced state. Long lists are replaced by the hashes of their pages. */
export const ANNOUNCED_STATE = message({
  ...HEAD,
  tools: required(6, pages<AnnouncedTool>(toolEntries)),
  devices: required(7, nullable(pages<AnnouncedDevice>(deviceEntries))),
});

/** State of a hub in the form that is announced. */
export type AnnouncedState = ValueOf<typeof ANNOUNCED_STATE>;

/** Returns the first 16 bytes, in hex, of the SHA-256 of the state. Throws VALIDATION_ERROR if the state exceeds its limits. */
export function stateDigest(state: HubState): string {
  return sha256Hex(encodeCbor(WHOLE.toCbor(state, { within: undefined, step: 'HubState' }))).slice(0, 32);
}

/**
 * Optional protocol features. A hub announces a feature as a capability whose type begins with `wire:`. Hubs that do not know the feature
 * ignore this capability. A hub uses a feature only towards hubs that have announced it.
 */
export const PROTOCOL_FEATURES = ['wire:bytes', 'wire:waiting', 'wire:deadline', 'wire:session'] as const;
/**
 * Optional protocol feature. With `wire:bytes`, the JSON of calls may have byte strings in place of base64 strings. With `wire:waiting`, a
 * call may have the mode `waiting_job`. With `wire:deadline`, a forwarded request may have a deadline. With
 * `wire:session`, a direct neighbour may send calls without a signature.
 */
export type ProtocolFeature = (typeof PROTOCOL_FEATURES)[number];

/** Type of the capability by which a hub announces that it has no internet connection. */
export const OFFLINE = 'wire:offline';

/** Type of the capability by which a hub announces its site. Its description is the name of the site. */
export const SITE_FEATURE = 'wire:site';
/** Name of the constraint of `SITE_FEATURE` that is false if the hub forwards no requests of other hubs. */
export const RELAYS = 'relays';

/** Returns the name of the site that a hub announces; undefined if it announces none. */
export function siteOf(capabilities: readonly AnnouncedCapability[]): string | undefined {
  return capabilities.find(({ type }) => type === SITE_FEATURE)?.description;
}

/** Returns whether a capability begins with `wire:`: it is an announcement about the protocol, and not an ability of the hub. */
export function isProtocolFeature({ type }: AnnouncedCapability): boolean {
  return type.startsWith('wire:');
}
