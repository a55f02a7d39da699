import { encodeCbor } from '../cbor.ts';
import { sha256Hex } from '../hashes.ts';
import { message, optional, required } from '../message.ts';
import { hex, hubId } from '../message-encodings.ts';
import { kinds } from '../message-kinds.ts';
import { list, nullable, record } from '../message-lists.ts';
import { scalar, text } from '../message-scalars.ts';
import type { ValueOf, WireType } from '../message-type.ts';
import { type AnnouncedDevice, type AnnouncedTool, deviceEntries, MAX_CAPABILITIES, toolEntries } from './announced-entries.ts';

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
  /** Such as `gpu` or `max_image_mb` (source 000 §3). */
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
  kinds('kind', {
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
