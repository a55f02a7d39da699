import { ReasonCounter } from '../reason-counter.ts';

/** Limits for stored records of other hubs, so that they fit into a small board's memory. The codec limits each hub's tools and devices. */
export const GOSSIP_LIMITS = {
  maxHubs: 256,
  /** Maximum size of all records of other hubs in bytes. The directory estimates the size. */
  maxBytes: 64 * 1_048_576,
  /** Maximum size of all blobs of other hubs, such as the definitions of their tools, in bytes. */
  maxBlobBytes: 16 * 1_048_576,
  /** Maximum number of deltas between two full announcements of a hub. */
  maxChanges: 64,
};
/** Type of `GOSSIP_LIMITS`. */
export type GossipLimits = Readonly<typeof GOSSIP_LIMITS>;

/** Milliseconds between heartbeats. A hub is gone after two missing heartbeats. Its neighbours announce a lost connection sooner. */
export const HEARTBEAT_MS = 120_000;
/** A hub without a route is stale once its newest announcement is this old, in milliseconds. */
export const STALE_MS = 90_000;
/** A hub that is not a neighbour is gone once its newest announcement is this old, in milliseconds. */
export const GONE_MS = 300_000;
/** Time to live that an announcement states, in seconds. */
export const ANNOUNCEMENT_TTL_S = GONE_MS / 1000;
/** Period, in milliseconds, of the anti-entropy with a random neighbour. */
export const ANTI_ENTROPY_MS = 30_000;
/** Changes of tools and devices within this number of milliseconds are announced together. */
export const COALESCE_MS = 20;
/** Like `COALESCE_MS`, but for changes of connections. It may be longer, because calls to a new neighbour work without the announcement. */
export const COALESCE_LINKS_MS = 200;
/** Number of deltas after which a hub announces its whole state again, so that other hubs need not store more deltas. */
export const CHANGES_PER_FULL = 16;
/** Rate limit for announcements of this hub. It is less than half of the rate that other hubs accept. */
export const ANNOUNCER_RATE = { burst: 30, perSecond: 0.9 };

/** Reasons to drop announcements, blobs and statements of other hubs. */
const DROP_REASONS = [
  'oversized',
  'malformed',
  'neighbour_rate',
  'origin_rate',
  'not_a_member',
  'forged',
  'stale',
  'unknown_origin',
  'gap',
  'wrong_digest',
  'too_many_hubs',
  'too_many_changes',
  'out_of_memory',
  'wrong_blob',
  'bad_definition',
  'bad_statement',
  'other_site',
  'not_of_site',
  'not_a_border',
  'outside_time',
  'too_many_sites',
] as const;
/** Reason to drop an announcement, blob or statement. */
export type DropReason = (typeof DROP_REASONS)[number];

/** Counts dropped announcements, blobs and statements; reasons that never occurred are 0. */
export class DropCounter extends ReasonCounter<DropReason> {
  constructor() {
    super(DROP_REASONS);
  }
}
