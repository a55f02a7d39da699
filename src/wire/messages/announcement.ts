import type { KeyObject } from 'node:crypto';
import { listed, message, optional, required } from '../message.ts';
import { messageCodec, signedCodec } from '../message-codec.ts';
import { hex, hubId } from '../message-encodings.ts';
import { kinds } from '../message-kinds.ts';
import { list } from '../message-lists.ts';
import { text, uint } from '../message-scalars.ts';
import { refuse, type ValueOf } from '../message-type.ts';
import { deviceEntries, toolEntries, toolName } from './announced-entries.ts';
import { ADDRESSES, ANNOUNCED_STATE, CAPABILITIES, LINKS, NAME } from './announced-state.ts';
import { CERTIFICATE_CHAIN } from './certificate.ts';

/** Longest signed announcement, bytes. */
export const MAX_ANNOUNCEMENT_BYTES = 4_096;

const HEADER = {
  hubId: required(1, hubId),
  /** Counts the starts of the hub. */
  epoch: required(2, uint()),
  /** Counts the announcements of an epoch. */
  sequence: required(3, uint()),
  /** By the hub's own clock, milliseconds since 1970. */
  timeMs: required(4, uint()),
  /** For so long the news count, from the moment at which they are heard. */
  ttlSeconds: required(5, uint({ max: 86_400 })),
  /** `stateDigest` of the state that the announcement leads to. */
  digest: required(6, hex({ min: 16, max: 16 })),
};

const CHANGES = message({
  /** New ones, and changed ones as they are now. */
  toolsAdded: listed(1, toolEntries),
  toolsRemoved: listed(2, list(toolName, { max: 512 })),
  /** New ones, and changed ones as they are now. */
  devicesChanged: listed(3, deviceEntries),
  devicesRemoved: listed(4, list(text({ max: 64 }), { max: 512 })),
  capabilities: optional(5, CAPABILITIES),
  links: optional(6, LINKS),
  addresses: optional(7, ADDRESSES),
  name: optional(8, NAME),
});

/** What became of a state. */
export type StateChanges = ValueOf<typeof CHANGES>;

const ANNOUNCEMENT = kinds('kind', {
  full: [1, message({ ...HEADER, certificate: required(7, CERTIFICATE_CHAIN), state: required(8, ANNOUNCED_STATE) })],
  /** The changes since the announcement `baseSequence` of the same epoch. */
  delta: [2, message({ ...HEADER, baseSequence: required(7, uint()), changes: required(8, CHANGES) })],
  heartbeat: [3, message(HEADER)],
  /** The hub stops. */
  withdrawal: [4, message(HEADER)],
});

/** What a hub tells all others of itself (`capability_announce`, source 000 §3). */
export type Announcement = ValueOf<typeof ANNOUNCEMENT>;

const SIGNED = signedCodec(
  messageCodec('Announcement', ANNOUNCEMENT, { maxBytes: MAX_ANNOUNCEMENT_BYTES, maxDepth: 6, maxItems: 4_096 }),
  'atmosphere-edge announcement v1',
);

/** COSE_Sign1 by the hub that it is about, at most 4,096 bytes. VALIDATION_ERROR when it would be longer: put the state into pages. */
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
 * The announcement, once its signature has proven to be by the key that `keyOf` answers. `keyOf` sees what nobody vouches for yet:
 * it may throw for what is stale or too much, before the cost of a verification. VALIDATION_ERROR.
 */
export function openAnnouncement(envelope: Uint8Array, keyOf: (unverified: Announcement) => KeyObject | undefined): Announcement {
  return SIGNED.open(envelope, keyOf);
}
