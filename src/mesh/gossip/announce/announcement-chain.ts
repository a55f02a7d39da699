import type { Announcement } from '../../../wire/messages/announcement.ts';
import { type AnnouncementVersion, isNewer } from './announcement-version.ts';

/** The kinds of announcement. */
export type FullAnnouncement = Extract<Announcement, { readonly kind: 'full' }>;
export type DeltaAnnouncement = Extract<Announcement, { readonly kind: 'delta' }>;
/** Says that the hub is there, or stops; changes nothing of its state. */
export type SignOfLife = Extract<Announcement, { readonly kind: 'heartbeat' | 'withdrawal' }>;

/** An announcement with the bytes that its origin signed: these are passed on, never any of our making. */
export interface Signed<Kind extends Announcement = Announcement> {
  readonly announcement: Kind;
  readonly envelope: Uint8Array;
}

/**
 * What one hub announced, as far as it is needed to know all of it: the last full announcement, the changes since, each
 * building on the one before, and the newest sign of life.
 */
export class AnnouncementChain {
  readonly full: Signed<FullAnnouncement>;
  readonly #deltas: Signed<DeltaAnnouncement>[] = [];
  #signOfLife: Signed<SignOfLife> | undefined;
  #bytes: number;

  /** `sign`: one that was seen before; it still counts where it is later than the announcement, and of the same start. */
  constructor(full: Signed<FullAnnouncement>, sign?: Signed<SignOfLife>) {
    this.full = full;
    this.#bytes = full.envelope.length;
    const isOfSameStart = sign?.announcement.epoch === full.announcement.epoch;
    if (sign && isOfSameStart && isNewer(sign.announcement, full.announcement)) this.#signOfLife = sign;
  }

  get deltas(): readonly Signed<DeltaAnnouncement>[] {
    return this.#deltas;
  }

  /** Of all envelopes. */
  get bytes(): number {
    return this.#bytes + (this.#signOfLife?.envelope.length ?? 0);
  }

  /** Up to which announcement the state is known. */
  get version(): AnnouncementVersion {
    return this.#last.announcement;
  }

  /** Of the state, as its origin says. */
  get digest(): string {
    return this.#last.announcement.digest;
  }

  get signOfLife(): Signed<SignOfLife> | undefined {
    return this.#signOfLife;
  }

  /** True when the delta builds on the last announcement that changed the state. */
  continues({ epoch, baseSequence }: DeltaAnnouncement): boolean {
    return epoch === this.version.epoch && baseSequence === this.version.sequence;
  }

  append(delta: Signed<DeltaAnnouncement>): void {
    this.#deltas.push(delta);
    this.#bytes += delta.envelope.length;
  }

  see(signOfLife: Signed<SignOfLife>): void {
    this.#signOfLife = signOfLife;
  }

  /** True when there is something that somebody does not know who knows the hub up to `version`. */
  isBeyond(version: AnnouncementVersion | undefined): boolean {
    return isNewer(this.version, version) || (this.#signOfLife !== undefined && isNewer(this.#signOfLife.announcement, version));
  }

  /** The envelopes that somebody needs who knows the hub up to `version`. */
  since(version: AnnouncementVersion | undefined): readonly Uint8Array[] {
    const all: readonly Signed[] = [this.full, ...this.#deltas, ...(this.#signOfLife ? [this.#signOfLife] : [])];
    return all.filter(({ announcement }) => isNewer(announcement, version)).map(({ envelope }) => envelope);
  }

  get #last(): Signed<FullAnnouncement | DeltaAnnouncement> {
    return this.#deltas.at(-1) ?? this.full;
  }
}
