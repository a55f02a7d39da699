import { ReasonCounter } from '../reason-counter.ts';

/** Limits of the records of other hubs; they fit a small board. The codec limits the tools and devices of one hub. */
export const GOSSIP_LIMITS = {
  maxHubs: 256,
  /** All records of other hubs, bytes, as the directory estimates them. */
  maxBytes: 64 * 1_048_576,
  /** Announcements of changes between two full announcements of a hub. */
  maxChanges: 64,
};
/** See `GOSSIP_LIMITS`. */
export type GossipLimits = Readonly<typeof GOSSIP_LIMITS>;

/**
 * Period of heartbeats: two of them come before a hub counts as gone. Its neighbours notice within seconds when its connections
 * end, and announce it.
 */
export const HEARTBEAT_MS = 120_000;
/** Age at which the last announcement of a hub without a route is doubtful. */
export const STALE_MS = 90_000;
/** Age at which a hub without announcements is gone. */
export const GONE_MS = 300_000;
/** Time to live that an announcement claims, seconds. */
export const ANNOUNCEMENT_TTL_S = GONE_MS / 1000;
/** Period of the comparison with a random neighbour. */
export const ANTI_ENTROPY_MS = 30_000;
/** Changes of tools and devices within this time are announced together. */
export const COALESCE_MS = 20;
/** The same for direct connections: they come and go in groups, and calls find their route without the announcement. */
export const COALESCE_LINKS_MS = 200;
/** Changes after which a hub announces its whole state again, so that no hub has to store more of them. */
export const CHANGES_PER_FULL = 16;
/** Highest rate of a hub's own announcements: below half of the rate that validators accept. */
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
] as const;
/** A reason of the list. */
export type DropReason = (typeof DROP_REASONS)[number];

/** Counts what gossip dropped; reasons that never occurred are 0. */
export class DropCounter extends ReasonCounter<DropReason> {
  constructor() {
    super(DROP_REASONS);
  }
}
