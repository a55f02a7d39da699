import type { Clock } from '../../core/clock.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';

/** Orders the announcements of one hub: first by the start of the hub, then by the announcement. */
export interface AnnouncementVersion {
  /** Counts the starts of the hub. */
  readonly epoch: number;
  /** Counts the announcements since that start. */
  readonly sequence: number;
}

/** Returns whether `version` is later than `other`, or there is no other. */
export function isNewer(version: AnnouncementVersion, other: AnnouncementVersion | undefined): boolean {
  if (!other) return true;
  return version.epoch > other.epoch || (version.epoch === other.epoch && version.sequence > other.sequence);
}

const SPACE = 'mesh.gossip';
const KEY = 'epoch';

/**
 * Counts the starts of this hub on the disk: one write for each start instead of one for each announcement, and still no
 * announcement is older than an earlier one. A hub whose state was lost begins at the seconds since 1970, which is later than its
 * former count as long as its clock is not far behind; `surpass` repairs the other case.
 */
export class AnnouncedEpoch {
  readonly #parts: { readonly store: KeyValueStore; readonly clock: Clock };
  #epoch = 0;

  constructor(parts: { readonly store: KeyValueStore; readonly clock: Clock }) {
    this.#parts = parts;
  }

  /** 0 before the first start. */
  get value(): number {
    return this.#epoch;
  }

  /** Counts a start. Throws STORAGE_FAILED. */
  begin(): void {
    const { store, clock } = this.#parts;
    const last = store.get(SPACE, KEY);
    this.#set(typeof last === 'number' && Number.isSafeInteger(last) ? last + 1 : Math.floor(clock.now() / 1000));
  }

  /** Continues after an epoch of this hub that other hubs remember. Throws STORAGE_FAILED. */
  surpass(epoch: number): void {
    if (epoch >= this.#epoch) this.#set(epoch + 1);
  }

  #set(epoch: number): void {
    this.#parts.store.set(SPACE, KEY, epoch);
    this.#epoch = epoch;
  }
}
