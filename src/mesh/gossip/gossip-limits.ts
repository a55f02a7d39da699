/** What the hubs of a mesh may ask of one another. */
export interface GossipLimits {
  readonly maxHubs: number;
  /** All that is remembered of other hubs, bytes, as the directory estimates them. */
  readonly maxBytes: number;
  /** Announcements between two full ones of a hub. */
  readonly maxChanges: number;
}

/** Bounds of a directory that has to fit on a small board. How many tools and devices a hub may have is the codec's. */
export const GOSSIP_LIMITS: GossipLimits = {
  maxHubs: 256,
  maxBytes: 64 * 1_048_576,
  maxChanges: 64,
};

/**
 * A hub says at least so often that it is there: twice before it is gone. Those that it is connected to see it end within seconds,
 * and tell the others.
 */
export const HEARTBEAT_MS = 120_000;
/** News older than this are doubtful where no connections lead to the hub. */
export const STALE_MS = 90_000;
/** A hub that was not heard of for so long is gone. */
export const GONE_MS = 300_000;
/** Time to live that an announcement claims, seconds. */
export const ANNOUNCEMENT_TTL_S = GONE_MS / 1000;
/** How often news are compared with a random neighbour. */
export const ANTI_ENTROPY_MS = 30_000;
/** Changes of tools and devices within this time are announced together. */
export const COALESCE_MS = 20;
/** The same for direct connections: they come and go in bunches, and calls find their way without the news. */
export const COALESCE_LINKS_MS = 200;
/** Changes after which a hub announces the whole again, so that nobody has to keep more of them. */
export const CHANGES_PER_FULL = 16;
/** How often a hub announces at most: below half of what others let pass. */
export const ANNOUNCER_RATE = { burst: 30, perSecond: 0.9 };

/** Why news of other hubs were not believed or not kept. */
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

/** Counts what was dropped, by reason, since the start. */
export class DropCounter {
  readonly #counts = new Map<DropReason, number>();

  count(reason: DropReason): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** Reasons that never occurred are 0. */
  counts(): Readonly<Record<DropReason, number>> {
    const counts = DROP_REASONS.map((reason) => [reason, this.#counts.get(reason) ?? 0]);
    return Object.fromEntries(counts) as Record<DropReason, number>;
  }
}
