import type { KeyObject } from 'node:crypto';
import { type AnnouncedState, type HubState, stateDigest } from '../../codec/messages/announced-state.ts';
import { type Announcement, applyChanges, assemble, pagesOf } from '../../codec/messages/announcement.ts';
import type { CertificateChain } from '../../codec/messages/membership.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { DropReason } from './gossip-limits.ts';

/** The time at which an announcement arrived: by the monotonic clock and by the time of day. */
interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** The effect of an announcement: the state changed, only the age did, an earlier announcement is missing, or it was dropped. */
export type AnnouncementEffect = 'news' | 'alive' | 'behind' | DropReason;

type PageSource = (hash: string) => Uint8Array | undefined;

interface ApplyOptions {
  readonly moment: Moment;
  readonly pageOf: PageSource;
  readonly maxChanges: number;
}

/** The state of one hub, from its own signed announcements only. The caller has checked the signatures. */
export class HubRecord {
  readonly id: HubId;
  readonly key: KeyObject;
  readonly #steps: StateTransitions;
  #chain: AnnouncementChain;
  #state: HubState | undefined;
  /** `waiting` while pages of the chain's state are missing; `impossible` when they do not make that state. */
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

  /** The version of the newest announcement that arrived, whether or not all earlier ones did. */
  get newestVersion(): AnnouncementVersion {
    return this.#newest;
  }

  /** The newest version without a gap before it; this hub offers it to others. */
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

  /** The arrival of the newest announcement. */
  get receivedAt(): Moment {
    return this.#moment;
  }

  /** The whole state. While pages of the newest one are missing, the state before it; undefined when there was none. */
  get state(): HubState | undefined {
    return this.#state;
  }

  /** The part of the last full announcement that needs no page. */
  get announced(): AnnouncedState {
    return this.#chain.full.announcement.state;
  }

  get certificate(): CertificateChain {
    return this.#chain.full.announcement.certificate;
  }

  /** Bytes of all envelopes. */
  get bytes(): number {
    return this.envelopesSince(undefined).reduce((sum, { length }) => sum + length, 0);
  }

  /** Returns the envelopes that a hub lacks which knows this one up to `version`. */
  envelopesSince(version: AnnouncementVersion | undefined): readonly Uint8Array[] {
    const { full, deltas, presence } = this.#chain;
    const all: readonly Signed[] = [full, ...deltas, ...(presence ? [presence] : [])];
    return all.filter(({ announcement }) => isNewer(announcement, version)).map(({ envelope }) => envelope);
  }

  /** Returns the pages that the state needs, present or missing. */
  pages(): readonly string[] {
    return pagesOf(this.announced);
  }

  isWaitingForPages(): boolean {
    return this.#assembly === 'waiting';
  }

  /** Returns whether an announcement can contain nothing new. */
  isStale(announcement: AnnouncementVersion & { readonly kind: string }): boolean {
    const changesState = announcement.kind === 'full' || announcement.kind === 'delta';
    return !isNewer(announcement, changesState ? this.#chain.last : this.#newest);
  }

  /** Records an announcement that is not stale. Only one that is newer than all before shows that the hub is alive. */
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

  /** Assembles the state when its pages are present; returns a reason when they do not make the announced state. */
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

/** An announcement of the whole state. */
export type FullAnnouncement = Extract<Announcement, { readonly kind: 'full' }>;
/** An announcement of changes. */
export type DeltaAnnouncement = Extract<Announcement, { readonly kind: 'delta' }>;
/** An announcement that the hub is alive or leaves; its state stays the same. */
type PresenceAnnouncement = Extract<Announcement, { readonly kind: 'heartbeat' | 'withdrawal' }>;

/** An announcement with the bytes that its origin signed; hubs forward these bytes and never encode it again. */
export interface Signed<Kind extends Announcement = Announcement> {
  readonly announcement: Kind;
  readonly envelope: Uint8Array;
}

/** The announcements that make the present state: the last full one, each later change, and the newest heartbeat or withdrawal. */
class AnnouncementChain {
  readonly full: Signed<FullAnnouncement>;
  readonly deltas: Signed<DeltaAnnouncement>[] = [];
  presence: Signed<PresenceAnnouncement> | undefined;

  /** `presence` stays when it is later than the full announcement, and of the same start. */
  constructor(full: Signed<FullAnnouncement>, presence?: Signed<PresenceAnnouncement>) {
    this.full = full;
    const isOfSameStart = presence?.announcement.epoch === full.announcement.epoch;
    if (presence && isOfSameStart && isNewer(presence.announcement, full.announcement)) this.presence = presence;
  }

  /** The last announcement that changed the state. */
  get last(): FullAnnouncement | DeltaAnnouncement {
    return (this.deltas.at(-1) ?? this.full).announcement;
  }
}

/** Computes the state of a hub from its announcements. States never change, so that directories may share them. */
export interface StateTransitions {
  /** Returns the announced state; undefined while pages of it are missing, a reason when they do not make it. */
  first(full: FullAnnouncement, pageOf: PageSource): HubState | DropReason | undefined;
  /** Returns the state after the changes, or the reason why they do not make the state with the announced digest. */
  next(state: HubState, delta: DeltaAnnouncement): HubState | DropReason;
}

/** Assembles each state and checks it against the digest that its origin signed. */
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
