import type { KeyObject } from 'node:crypto';
import { type AnnouncedState, type HubState, stateDigest } from '../../codec/messages/announced-state.ts';
import { type Announcement, applyChanges, assemble, pagesOf } from '../../codec/messages/announcement.ts';
import type { CertificateChain } from '../../codec/messages/membership.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { DropReason } from './gossip-limits.ts';

/** Port: verifies membership certificates. */
export interface MemberCertificates {
  /** Returns the hub and key of a certificate. Throws PERMISSION_DENIED or VALIDATION_ERROR if the certificate is not valid now. */
  admit(chain: CertificateChain): { readonly hubId: HubId; readonly publicKey: KeyObject };
}

/** Port: verifies membership certificates without keeping them. */
export interface CertificateVerifier {
  /** Returns the hub and key of a certificate. Throws the errors of `MemberCertificates.admit`. */
  verify(chain: CertificateChain): { readonly hubId: HubId; readonly publicKey: KeyObject };
}

/** Time at which an announcement arrived, by the monotonic clock and by the time of day. */
interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * Effect of an announcement. `news`: it changes the state of the hub. `alive`: it is a heartbeat or a withdrawal, so the state is the same.
 * `behind`: other announcements of the hub are missing. Any other value is the reason to drop the announcement.
 */
export type AnnouncementEffect = 'news' | 'alive' | 'behind' | DropReason;

type PageSource = (hash: string) => Uint8Array | undefined;

interface ApplyOptions {
  readonly moment: Moment;
  readonly pageOf: PageSource;
  readonly maxChanges: number;
}

/** The record of one hub. It is built only from signed announcements of that hub, whose signatures the caller has verified. */
export class HubRecord {
  readonly id: HubId;
  readonly key: KeyObject;
  readonly #steps: StateTransitions;
  #chain: AnnouncementChain;
  #state: HubState | undefined;
  /** `waiting`: pages of the announced state are missing. `impossible`: the pages do not form the announced state. */
  #assembly: 'done' | 'waiting' | 'impossible' = 'waiting';
  #newest: AnnouncementVersion & { readonly digest: string };
  #hasGap = false;
  #moment: Moment;

  constructor(
    full: Signed<FullAnnouncement>,
    key: KeyObject,
    { moment, steps }: { readonly moment: Moment; readonly steps: StateTransitions },
  ) {
    this.id = full.announcement.hubId;
    this.key = key;
    this.#steps = steps;
    this.#chain = new AnnouncementChain(full);
    this.#newest = full.announcement;
    this.#moment = moment;
  }

  /** Version of the newest announcement that has arrived. Earlier announcements may be missing. */
  get newestVersion(): AnnouncementVersion {
    return this.#newest;
  }

  /** Newest version up to which this hub has all announcements. This hub reports it to its neighbours. */
  get completeVersion(): AnnouncementVersion {
    return this.isBehind ? this.#chain.last : this.#newest;
  }

  get isBehind(): boolean {
    const { epoch, digest } = this.#chain.last;
    return this.#hasGap || this.#newest.epoch !== epoch || this.#newest.digest !== digest;
  }

  get hasLeft(): boolean {
    const last = this.#chain.presence?.announcement;
    return last?.kind === 'withdrawal' && !isNewer(this.#newest, last);
  }

  /** Arrival time of the newest announcement. */
  get receivedAt(): Moment {
    return this.#moment;
  }

  /** Complete state of the hub. While pages of the newest state are missing, this is the previous state, if there was one. */
  get state(): HubState | undefined {
    return this.#state;
  }

  /** State in the last full announcement. It may contain the hashes of pages instead of the tools and devices. */
  get announced(): AnnouncedState {
    return this.#chain.full.announcement.state;
  }

  get certificate(): CertificateChain {
    return this.#chain.full.announcement.certificate;
  }

  get bytes(): number {
    return this.envelopesSince(undefined).reduce((sum, { length }) => sum + length, 0);
  }

  /** Returns the envelopes of announcements that are newer than `version`. If `version` is undefined, returns all envelopes. */
  envelopesSince(version: AnnouncementVersion | undefined): readonly Uint8Array[] {
    const { full, deltas, presence } = this.#chain;
    const all: readonly Signed[] = [full, ...deltas, ...(presence ? [presence] : [])];
    return all.filter(({ announcement }) => isNewer(announcement, version)).map(({ envelope }) => envelope);
  }

  pages(): readonly string[] {
    return pagesOf(this.announced);
  }

  isWaitingForPages(): boolean {
    return this.#assembly === 'waiting';
  }

  /** Returns whether an announcement is too old to add anything to this record. */
  isStale(announcement: AnnouncementVersion & { readonly kind: string }): boolean {
    const changesState = announcement.kind === 'full' || announcement.kind === 'delta';
    return !isNewer(announcement, changesState ? this.#chain.last : this.#newest);
  }

  /** Records an announcement that is not stale. Changes the arrival time only if the announcement is the newest so far. */
  apply({ announcement, envelope }: Signed, { moment, pageOf, maxChanges }: ApplyOptions): AnnouncementEffect {
    if (isNewer(announcement, this.#newest)) {
      this.#newest = announcement;
      this.#moment = moment;
    }
    switch (announcement.kind) {
      case 'full':
        return this.#replace({ announcement, envelope }, pageOf);
      case 'delta':
        return this.#extend({ announcement, envelope }, maxChanges);
      case 'heartbeat':
      case 'withdrawal':
        this.#chain.presence = { announcement, envelope };
        return this.isBehind ? 'behind' : 'alive';
    }
  }

  /** Assembles the state if all its pages are present. If the pages do not form the announced state, returns the drop reason. */
  assemble(pageOf: PageSource): DropReason | undefined {
    if (this.#assembly !== 'waiting') return undefined;
    const state = this.#assembled(pageOf);
    if (state === undefined) return undefined;
    if (typeof state === 'string') {
      this.#assembly = 'impossible';
      return state;
    }
    this.#state = state;
    this.#assembly = 'done';
    return undefined;
  }

  #assembled(pageOf: PageSource): HubState | DropReason | undefined {
    let state = this.#steps.first(this.#chain.full.announcement, pageOf);
    for (const { announcement } of this.#chain.deltas) {
      if (state === undefined || typeof state === 'string') return state;
      state = this.#steps.next(state, announcement);
    }
    return state;
  }

  #replace(full: Signed<FullAnnouncement>, pageOf: PageSource): AnnouncementEffect {
    const before = { chain: this.#chain, assembly: this.#assembly };
    this.#chain = new AnnouncementChain(full, before.chain.presence);
    this.#assembly = 'waiting';
    this.#hasGap = false;
    const problem = this.assemble(pageOf);
    if (!problem) return this.isBehind ? 'behind' : 'news';
    this.#chain = before.chain;
    this.#assembly = before.assembly;
    return problem;
  }

  #extend(delta: Signed<DeltaAnnouncement>, maxChanges: number): AnnouncementEffect {
    const { last, deltas } = this.#chain;
    const { epoch, baseSequence } = delta.announcement;
    if (epoch !== last.epoch || baseSequence !== last.sequence) {
      this.#hasGap = true;
      return 'gap';
    }
    if (deltas.length >= maxChanges) return 'too_many_changes';
    if (this.#assembly === 'done' && this.#state) {
      const next = this.#steps.next(this.#state, delta.announcement);
      if (typeof next === 'string') return next;
      this.#state = next;
    }
    deltas.push(delta);
    this.#hasGap = false;
    return this.isBehind ? 'behind' : 'news';
  }
}

/** Announcement of the whole state. */
export type FullAnnouncement = Extract<Announcement, { readonly kind: 'full' }>;
/** Announcement of changes (delta). */
export type DeltaAnnouncement = Extract<Announcement, { readonly kind: 'delta' }>;
/** Announcement that does not change the state of the hub. It says that the hub is alive (heartbeat) or leaves (withdrawal). */
type PresenceAnnouncement = Extract<Announcement, { readonly kind: 'heartbeat' | 'withdrawal' }>;

/** Announcement with the bytes that its origin signed. Hubs forward these bytes and never encode the announcement again. */
export interface Signed<Kind extends Announcement = Announcement> {
  readonly announcement: Kind;
  readonly envelope: Uint8Array;
}

/** Holds the last full announcement of a hub, all later deltas, and the newest heartbeat or withdrawal. */
class AnnouncementChain {
  readonly full: Signed<FullAnnouncement>;
  readonly deltas: Signed<DeltaAnnouncement>[] = [];
  presence: Signed<PresenceAnnouncement> | undefined;

  /** Keeps `presence` only if it is later than the full announcement and has the same epoch. */
  constructor(full: Signed<FullAnnouncement>, presence?: Signed<PresenceAnnouncement>) {
    this.full = full;
    const isOfSameStart = presence?.announcement.epoch === full.announcement.epoch;
    if (presence && isOfSameStart && isNewer(presence.announcement, full.announcement)) this.presence = presence;
  }

  /** Last announcement that changed the state. */
  get last(): FullAnnouncement | DeltaAnnouncement {
    return (this.deltas.at(-1) ?? this.full).announcement;
  }
}

/** Computes the state of a hub from its announcements. States are immutable, so that several directories may share them. */
export interface StateTransitions {
  /** Returns the announced state, or undefined while pages are missing. If the pages do not form this state, returns the drop reason. */
  first(full: FullAnnouncement, pageOf: PageSource): HubState | DropReason | undefined;
  /** Returns the state after the changes in `delta`. If it is not the state that `delta` announces, returns the reason to drop `delta`. */
  next(state: HubState, delta: DeltaAnnouncement): HubState | DropReason;
}

/** Assembles each state and compares it with the digest that the hub signed. */
export const STATE_TRANSITIONS: StateTransitions = {
  first: ({ state, digest }, pageOf) => checked(digest, () => assemble(state, pageOf)),
  next: (state, { changes, digest }) => checked(digest, () => applyChanges(state, changes)) ?? 'wrong_digest',
};

function checked(digest: string, make: () => HubState | undefined): HubState | DropReason | undefined {
  try {
    const state = make();
    return state && stateDigest(state) !== digest ? 'wrong_digest' : state;
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'VALIDATION_ERROR') return 'malformed';
    throw error;
  }
}

/** Version of an announcement. Versions order the announcements of one hub: first by epoch, then by sequence. */
export interface AnnouncementVersion {
  /** Counts the starts of the hub. */
  readonly epoch: number;
  /** Counts the announcements since the last start. */
  readonly sequence: number;
}

/** Returns true if `version` is later than `other`, and also if `other` is undefined. */
export function isNewer(version: AnnouncementVersion, other: AnnouncementVersion | undefined): boolean {
  if (!other) return true;
  return version.epoch > other.epoch || (version.epoch === other.epoch && version.sequence > other.sequence);
}

const SPACE = 'mesh.gossip';
const KEY = 'epoch';

/**
 * Counts the starts of this hub. The count is stored, so that announcements never look older than those of an earlier start. If the stored
 * count is lost, counting begins at the current time in seconds since 1970. This number is above the lost count unless the clock is far
 * behind. In that case, `surpass` raises the count.
 */
export class AnnouncedEpoch {
  readonly #parts: { readonly store: KeyValueStore; readonly clock: Clock };
  #epoch = 0;

  constructor(parts: { readonly store: KeyValueStore; readonly clock: Clock }) {
    this.#parts = parts;
  }

  /** Current epoch, or 0 before `begin`. */
  get value(): number {
    return this.#epoch;
  }

  /** Counts a start. Throws STORAGE_FAILED if the epoch cannot be stored. */
  begin(): void {
    const { store, clock } = this.#parts;
    const last = store.get(SPACE, KEY);
    this.#set(typeof last === 'number' && Number.isSafeInteger(last) ? last + 1 : Math.floor(clock.now() / 1000));
  }

  /** Raises the current epoch above `epoch`, which other hubs have seen from this hub. Throws STORAGE_FAILED if it cannot be stored. */
  surpass(epoch: number): void {
    if (epoch >= this.#epoch) this.#set(epoch + 1);
  }

  #set(epoch: number): void {
    this.#parts.store.set(SPACE, KEY, epoch);
    this.#epoch = epoch;
  }
}
