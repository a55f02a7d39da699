import type { CborValue } from '../cbor.ts';
import { required, tuple } from '../message.ts';
import { hex } from '../message-encodings.ts';
import { list } from '../message-lists.ts';
import { bool, requireBytes, text, uint } from '../message-scalars.ts';
import { type Place, refuse, type ValueOf, type WireType } from '../message-type.ts';

/** Most tools of one hub. */
const MAX_TOOLS = 4_096;
/** Most devices of one hub. */
const MAX_DEVICES = 512;
const MAX_CAPABILITIES = 32;
/** `namespace:name@version`, each part as the registry of tools takes it. */
const TOOL_ID = /^[a-z][a-z0-9-]{0,31}:[A-Za-z][A-Za-z0-9_.-]{0,127}@[0-9A-Za-z.+-]{1,64}$/;
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

const HASH = hex({ min: 8, max: 8 });
const CAPABILITY = uint({ max: MAX_CAPABILITIES - 1 });
const SHARED = uint({ max: 255 });
const REST = text({ max: 225 });

/** One id of a tool; the version 1.0.0 does not travel. */
export const toolName: WireType<string> = {
  toCbor: (id, at) => shorten(TOOL_ID.test(id) ? id : refuse(at, 'is not the id of a tool')),
  fromCbor: (value, at) => lengthen(REST.fromCbor(value, at), at),
};

/** Tools by ascending id; each says only how its id differs from the one before (front coding). */
export const toolEntries: WireType<readonly AnnouncedTool[]> = {
  toCbor: (tools, at) => {
    if (tools.length > MAX_TOOLS) refuse(at, `has more than ${MAX_TOOLS} items`);
    let before = '';
    return tools.map((tool, step) => {
      const place = { within: at, step };
      const name = String(toolName.toCbor(tool.id, place));
      requireAscending(before, name, place);
      const entry = entryOf(tool, { before, name }, place);
      before = name;
      return entry;
    });
  },
  fromCbor: (value, at) => {
    if (!Array.isArray(value) || value.length > MAX_TOOLS) return refuse(at, `is not a list of at most ${MAX_TOOLS} items`);
    const entries: readonly CborValue[] = value;
    let before = '';
    return entries.map((entry, step) => {
      const place = { within: at, step };
      const { name, hash, capability } = readEntry(entry, before, place);
      before = name;
      return { id: lengthen(name, place), hash, ...(capability !== undefined && { capability }) };
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

/** Devices by ascending id. */
export const deviceEntries: WireType<readonly AnnouncedDevice[]> = sorted(list(DEVICE, { max: MAX_DEVICES }));

function entryOf(
  { hash, capability }: AnnouncedTool,
  { before, name }: { readonly before: string; readonly name: string },
  at: Place,
): readonly CborValue[] {
  const shared = sharedLength(before, name);
  const entry = [shared, name.slice(shared), HASH.toCbor(hash, { within: at, step: 'hash' })];
  return capability === undefined ? entry : [...entry, CAPABILITY.toCbor(capability, { within: at, step: 'capability' })];
}

interface ToolEntry {
  readonly name: string;
  readonly hash: string;
  readonly capability?: number;
}

function readEntry(entry: CborValue, before: string, at: Place): ToolEntry {
  if (!Array.isArray(entry) || entry.length < 3 || entry.length > 4) return refuse(at, 'is not an array of 3 to 4');
  const [sharedValue = null, restValue = null, hashValue = null, capabilityValue]: readonly CborValue[] = entry;
  const shared = SHARED.fromCbor(sharedValue, { within: at, step: 'shared' });
  const name = before.slice(0, shared) + REST.fromCbor(restValue, { within: at, step: 'rest' });
  requireAscending(before, name, at);
  if (sharedLength(before, name) !== shared) refuse(at, 'does not share with the one before what it says');
  const hash = Buffer.from(requireBytes(hashValue, { within: at, step: 'hash' }, { min: 8, max: 8 })).toString('hex');
  if (capabilityValue === undefined) return { name, hash };
  return { name, hash, capability: CAPABILITY.fromCbor(capabilityValue, { within: at, step: 'capability' }) };
}

function sharedLength(before: string, name: string): number {
  const most = Math.min(before.length, name.length);
  let shared = 0;
  while (shared < most && before.charCodeAt(shared) === name.charCodeAt(shared)) shared += 1;
  return shared;
}

function requireAscending(before: string, name: string, at: Place): void {
  if (before >= name) refuse(at, 'is not in ascending order, or stands there twice');
}

function shorten(id: string): string {
  return id.endsWith(PLAIN_VERSION) ? id.slice(0, -PLAIN_VERSION.length) : id;
}

/** The id of a name as it travels; it has one such name. */
function lengthen(name: string, at: Place): string {
  const id = name.includes('@') ? name : `${name}${PLAIN_VERSION}`;
  return TOOL_ID.test(id) && shorten(id) === name ? id : refuse(at, 'is not the id of a tool in its short form');
}

/** Ascending ids without repetition: a set has one encoding. */
function sorted<Item extends { readonly id: string }>(type: WireType<readonly Item[]>): WireType<readonly Item[]> {
  const check = (items: readonly Item[], at: Place): readonly Item[] => {
    items.forEach(({ id }, step) => {
      requireAscending(items[step - 1]?.id ?? '', id, { within: at, step });
    });
    return items;
  };
  return {
    toCbor: (items, at) => type.toCbor(check(items, at), at),
    fromCbor: (value, at) => check(type.fromCbor(value, at), at),
  };
}
