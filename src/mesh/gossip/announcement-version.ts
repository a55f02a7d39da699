import type { Clock } from '../../core/clock.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';

/** Orders the announcements of one hub: a later start beats an earlier one, then the later announcement wins. */
export interface AnnouncementVersion {
  /** Counts the starts of the hub. */
  readonly epoch: number;
  /** Counts the announcements since. */
  readonly sequence: number;
}

/** True when `version` is later than `other`, or there is no other. */
export function isNewer(version: AnnouncementVersion, other: AnnouncementVersion | undefined): boolean {
  if (!other) return true;
  return version.epoch > other.epoch || (version.epoch === other.epoch && version.sequence > other.sequence);
}

const SPACE = 'mesh.gossip';
const KEY = 'epoch';

/**
 * Counts the starts of this hub, on the disk: one write a start instead of one for each announcement, and still no
 * announcement is ever older than one before. A hub whose state was lost begins at the seconds since 1970, which is later
 * than what it counted before, as long as its clock is not far behind; `surpass` mends it where it is.
 */
export class AnnouncedEpoch {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;
  #epoch = 0;

  constructor({ store, clock }: { readonly store: KeyValueStore; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** 0 before the first start. */
  get value(): number {
    return this.#epoch;
  }

  /** STORAGE_FAILED. */
  begin(): void {
    const last = this.#store.get(SPACE, KEY);
    this.#set(typeof last === 'number' && Number.isSafeInteger(last) ? last + 1 : Math.floor(this.#clock.now() / 1000));
  }

  /** Goes beyond an epoch of this hub that others remember. STORAGE_FAILED. */
  surpass(epoch: number): void {
    if (epoch >= this.#epoch) this.#set(epoch + 1);
  }

  #set(epoch: number): void {
    this.#store.set(SPACE, KEY, epoch);
    this.#epoch = epoch;
  }
}
