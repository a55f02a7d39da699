import { type CborValue, encodeCbor } from '../cbor.ts';
import { sha256Hex } from '../hashes.ts';
import { message, optional, required, tuple, variants } from '../message-schema.ts';
import {
  bool,
  hex,
  hubId,
  list,
  nullable,
  record,
  refuse,
  requireBytes,
  scalar,
  text,
  uint,
  type ValueOf,
  type ValuePath,
  type WireType,
} from '../message-values.ts';

/** Most tools of one hub. */
export const MAX_TOOLS = 4_096;
/** Most devices of one hub. */
export const MAX_DEVICES = 512;
/** Most capabilities of one hub. */
export const MAX_CAPABILITIES = 32;
/** `namespace:name@version`; the version may be left out. Bounds for each part would take longer than all the rest of an entry. */
const TOOL_NAME = /^[a-z][a-z0-9-]*:[A-Za-z][A-Za-z0-9_.-]*(?:@[0-9A-Za-z.+-]+)?$/;
/** What may stand behind the first letter of a name and is no version. */
const REST_OF_NAME = /^[A-Za-z0-9_.-]+$/;
const MAX_NAME_BYTES = 226;
/** The version that goes without saying. */
const PLAIN_VERSION = '@1.0.0';

/** A tool as its hub announces it. */
export interface AnnouncedTool {
  /** Canonical id, `namespace:name@version`. */
  readonly id: string;
  /** First 8 bytes of the SHA-256 of the RFC 8785 form of its public definition, hex. */
  readonly hash: string;
  /** Index in the hub's list of capabilities of the first one that the tool needs. */
  readonly capability?: number;
}

const HASH_BYTES = 8;
/** Stands for a tool that needs no capability. */
const NO_CAPABILITY = 0xff;
const HASH = hex({ min: HASH_BYTES, max: HASH_BYTES });
const CAPABILITY_INDEX = uint({ max: MAX_CAPABILITIES - 1 });
const TOOL_NAME_TYPE = text({ max: MAX_NAME_BYTES, pattern: TOOL_NAME });

/** One id of a tool; the version 1.0.0 does not travel. */
export const toolName: WireType<string> = {
  toCbor: (id, at) => (id.includes('@') ? TOOL_NAME_TYPE.toCbor(shorten(id), at) : refuse(at, 'is not the id of a tool with its version')),
  fromCbor: (value, at) => lengthen(String(TOOL_NAME_TYPE.fromCbor(value, at)), at),
};

/**
 * Tools in the order of their names as they travel, column by column: four items instead of four for each tool are looked over and
 * decoded in a third of the time. Each name says only how it differs from the one before (front coding).
 */
export const toolEntries: WireType<readonly AnnouncedTool[]> = {
  toCbor: (tools, at) => {
    if (tools.length > MAX_TOOLS) refuse(at, `has more than ${MAX_TOOLS} items`);
    const ordered = inCanonicalOrder(tools);
    const names = ordered.map(({ id }, step) => String(toolName.toCbor(id, { within: at, step })));
    const shared = names.map((name, step) => sharedLength(names[step - 1] ?? '', name));
    requireOrder(ordered, at);
    return [
      Uint8Array.from(shared),
      names.map((name, step) => name.slice(shared[step])).join('\n'),
      Uint8Array.from(ordered.flatMap(({ hash }, step) => [...bytesOf(hash, { within: at, step })])),
      Uint8Array.from(ordered.map(({ capability }, step) => capabilityByte(capability, { within: at, step }))),
    ];
  },
  fromCbor: (value, at) => {
    const { shared, rests, hashes, capabilities } = columnsOf(value, at);
    let name = '';
    let bare = Number.POSITIVE_INFINITY;
    return rests.map((rest, step) => {
      const difference = { shared: shared[step] ?? 0, rest, step };
      name = nextName(name, difference, at);
      // What begins as the one before, beyond the first letter behind the colon, and goes on without a version needs no other look.
      const isPlain = difference.shared >= bare && name.length <= MAX_NAME_BYTES && REST_OF_NAME.test(rest);
      const id = isPlain ? name + PLAIN_VERSION : toolName.fromCbor(name, { within: at, step });
      if (!isPlain) bare = name.includes('@') ? Number.POSITIVE_INFINITY : name.indexOf(':') + 2;
      const hash = hashes.slice(step * 2 * HASH_BYTES, (step + 1) * 2 * HASH_BYTES);
      const capability = capabilities[step] ?? NO_CAPABILITY;
      if (capability === NO_CAPABILITY) return { id, hash };
      return { id, hash, capability: CAPABILITY_INDEX.fromCbor(capability, { within: at, step }) };
    });
  },
};

const DEVICE = tuple({
  id: required(0, text({ max: 64, pattern: /^[a-z0-9][a-z0-9_-]*$/ })),
  /** For people. */
  name: required(1, text({ min: 0, max: 256 })),
  /** Matter device type by name, such as `dimmable_light`. */
  type: required(2, text({ max: 64 })),
  isReachable: required(3, bool),
});

/** A device as its hub announces it. */
export type AnnouncedDevice = ValueOf<typeof DEVICE>;

const DEVICES = list(DEVICE, { max: MAX_DEVICES });

/** Devices in the order of their ids. */
export const deviceEntries: WireType<readonly AnnouncedDevice[]> = {
  toCbor: (devices, at) => DEVICES.toCbor(requireOrder(inCanonicalOrder(devices), at), at),
  fromCbor: (value, at) => requireOrder(DEVICES.fromCbor(value, at), at),
};

/** Entries in the one order in which they travel: by id, that of a tool without the version that goes without saying. */
export function inCanonicalOrder<Entry extends { readonly id: string }>(entries: readonly Entry[]): readonly Entry[] {
  return entries.toSorted((a, b) => (shorten(a.id) < shorten(b.id) ? -1 : 1));
}

/** VALIDATION_ERROR when they are not in that order, or one stands there twice. */
export function requireOrder<Entry extends { readonly id: string }>(entries: readonly Entry[], at: ValuePath): readonly Entry[] {
  entries.forEach(({ id }, step) => {
    requireAscending(shorten(entries[step - 1]?.id ?? ''), shorten(id), { within: at, step });
  });
  return entries;
}

interface Columns {
  readonly shared: Uint8Array;
  readonly rests: readonly string[];
  /** Hex, one after the other. */
  readonly hashes: string;
  readonly capabilities: Uint8Array;
}

function columnsOf(value: CborValue, at: ValuePath): Columns {
  if (!Array.isArray(value) || value.length !== 4) return refuse(at, 'is not an array of 4');
  const [sharedValue, restsValue, hashesValue, capabilitiesValue]: readonly CborValue[] = value;
  const shared = requireBytes(sharedValue, at, { max: MAX_TOOLS });
  const count = shared.length;
  const rests = typeof restsValue === 'string' ? linesOf(restsValue) : refuse(at, 'does not have the rests of its names as text');
  if (rests.length !== count) refuse(at, `has ${rests.length} rests of names for ${count} tools`);
  const hashes = requireBytes(hashesValue, at, { min: count * HASH_BYTES, max: count * HASH_BYTES });
  const capabilities = requireBytes(capabilitiesValue, at, { min: count, max: count });
  return { shared, rests, hashes: Buffer.from(hashes.buffer, hashes.byteOffset, hashes.length).toString('hex'), capabilities };
}

function linesOf(joined: string): readonly string[] {
  return joined === '' ? [] : joined.split('\n');
}

interface Difference {
  readonly shared: number;
  readonly rest: string;
  readonly step: number;
}

function nextName(before: string, { shared, rest, step }: Difference, at: ValuePath): string {
  if (shared > before.length || rest === '') return refuse({ within: at, step }, 'does not say how it differs from the one before');
  // Up to here both are the same. A greater character makes the name the later one, and shows that they share no more.
  const isLater = shared === before.length || rest.charCodeAt(0) > before.charCodeAt(shared);
  if (isLater) return before.slice(0, shared) + rest;
  return refuse({ within: at, step }, 'does not come after the one before, or shares more with it than it says');
}

function bytesOf(hash: string, at: ValuePath): Uint8Array {
  return requireBytes(HASH.toCbor(hash, at), at, { min: HASH_BYTES, max: HASH_BYTES });
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

function requireAscending(before: string, name: string, at: ValuePath): void {
  if (before >= name) refuse(at, 'is not in ascending order, or stands there twice');
}

function shorten(id: string): string {
  return id.endsWith(PLAIN_VERSION) ? id.slice(0, -PLAIN_VERSION.length) : id;
}

/** The id of a name as it travels; it has one such name. */
function lengthen(name: string, at: ValuePath): string {
  if (!name.includes('@')) return `${name}${PLAIN_VERSION}`;
  return name.endsWith(PLAIN_VERSION) ? refuse(at, `has the version that goes without saying, ${PLAIN_VERSION}`) : name;
}

/** Longest text for people, UTF-8 bytes. */
export const MAX_SHOWN_BYTES = 256;
/** Most addresses that a hub tells of itself. */
export const MAX_ADDRESSES = 8;
/** Most direct connections that it tells of. */
export const MAX_LINKS = 256;

const CAPABILITY = message({
  type: required(1, text({ max: 64 })),
  /** For people. */
  description: required(2, text({ min: 0, max: MAX_SHOWN_BYTES })),
  /** Such as `gpu` or `max_image_mb`. */
  constraints: optional(3, record(text({ max: 64 }), scalar, { max: 16 })),
});

/** What a hub has, apart from the tools that need it. */
export type AnnouncedCapability = ValueOf<typeof CAPABILITY>;

export const NAME = text({ max: MAX_SHOWN_BYTES });
export const VERSION = text({ max: 64 });
/** `host:port`, best first. */
export const ADDRESSES = list(text({ max: 261 }), { max: MAX_ADDRESSES });
/** Hubs that are directly connected. */
export const LINKS = list(hubId, { max: MAX_LINKS });
export const CAPABILITIES = list(CAPABILITY, { max: MAX_CAPABILITIES });

const HEAD = {
  /** Of the hub, for people. */
  name: required(1, NAME),
  /** Of its software. */
  version: required(2, VERSION),
  addresses: required(3, ADDRESSES),
  links: required(4, LINKS),
  capabilities: required(5, CAPABILITIES),
};

const WHOLE = message({ ...HEAD, tools: required(6, toolEntries), devices: required(7, nullable(deviceEntries)) });

/** All that a hub tells of itself. `devices` is null where its owner keeps them to the house. */
export type HubState = ValueOf<typeof WHOLE>;

/** First 16 bytes of the SHA-256 of a page, hex. */
const PAGE_HASH = hex({ min: 16, max: 16 });

const pages = <Entry>(entries: WireType<readonly Entry[]>) =>
  variants('kind', {
    inline: [1, message({ entries: required(1, entries) })],
    /** Pages that are fetched by their hashes. */
    paged: [2, message({ hashes: required(1, list(PAGE_HASH, { min: 1, max: 128 })) })],
  });

const TOOL_PAGES = pages<AnnouncedTool>(toolEntries);
const DEVICE_PAGES = pages<AnnouncedDevice>(deviceEntries);

/** The same with long lists replaced by the hashes of their pages. */
export const ANNOUNCED_STATE = message({
  ...HEAD,
  tools: required(6, TOOL_PAGES),
  devices: required(7, nullable(DEVICE_PAGES)),
});

/** A state as it travels in an announcement. */
export type AnnouncedState = ValueOf<typeof ANNOUNCED_STATE>;

/** The first 16 bytes, hex, of the SHA-256 of the whole state's encoding, however it travels. VALIDATION_ERROR for a state out of bounds. */
export function stateDigest(state: HubState): string {
  const encoded = encodeCbor(WHOLE.toCbor(state, { within: undefined, step: 'HubState' }));
  return sha256Hex(encoded).slice(0, 32);
}

/**
 * What a hub reads beyond what every hub reads. It announces each as a capability whose type begins with `wire:`: the first hubs know
 * nothing of them and pass them by, and nobody sends what the other end has not announced.
 */
export const PROTOCOL_FEATURES = ['wire:bytes'] as const;
/** `wire:bytes`: JSON of calls with byte strings in the place of base64. */
export type ProtocolFeature = (typeof PROTOCOL_FEATURES)[number];

/** Announced as those are, by a hub that has no network at the moment. A hub that does not say so has one, as far as anybody knows. */
export const OFFLINE = 'wire:offline';

const BEGINNING = 'wire:';

/** True for a capability that is none of the house. */
export function isProtocolFeature({ type }: AnnouncedCapability): boolean {
  return type.startsWith(BEGINNING);
}
