import type { HubId } from '../../../core/ids.ts';
import { type AnnouncementVersion, isNewer } from '../announce/announcement-version.ts';

const MAX_BURIED = 1_024;

/**
 * The last that was heard of hubs that are forgotten: a neighbour that still remembers one does not bring it back to life.
 * Those that were buried first are forgotten first.
 */
export class BuriedHubs {
  readonly #versions = new Map<HubId, AnnouncementVersion>();

  bury(id: HubId, { epoch, sequence }: AnnouncementVersion): void {
    this.#versions.delete(id);
    this.#versions.set(id, { epoch, sequence });
    const oldest = this.#versions.keys().next().value;
    if (this.#versions.size > MAX_BURIED && oldest !== undefined) this.#versions.delete(oldest);
  }

  /** True for what was heard before the hub was forgotten. */
  covers(id: HubId, version: AnnouncementVersion): boolean {
    const last = this.#versions.get(id);
    return last !== undefined && !isNewer(version, last);
  }

  dig(id: HubId): void {
    this.#versions.delete(id);
  }
}
