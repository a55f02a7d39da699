import type { KeyObject } from 'node:crypto';
import { type AnnouncedState, type HubState, stateDigest } from '../../codec/messages/announced-state.ts';
import { type Announcement, applyChanges, assemble, pagesOf } from '../../codec/messages/announcement.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { type AnnouncementVersion, isNewer } from './announcement-version.ts';
import type { DropReason } from './gossip-limits.ts';

/** When something was heard: on the clock that never jumps, and on the wall. */
interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** What an announcement did: told something new, showed that something was missed, or nothing could be made of it. */
export type AnnouncementEffect = 'news' | 'alive' | 'behind' | DropReason;

interface RecordOptions {
  readonly moment: Moment;
  /** Another way to come to states, such as one that remembers them. */
  readonly steps?: StateTransitions;
}

type PageSource = (hash: string) => Uint8Array | undefined;

/** What is known of one hub, from its own signed announcements only. Whoever hands it one has checked the signature. */
export class HubRecord {
  readonly id: HubId;
  readonly key: KeyObject;
  readonly #steps: StateTransitions;
  #chain: AnnouncementChain;
  #state: HubState | undefined;
  /** The pages of the chain's state are not all here, or it cannot be put together. */
  #assembly: 'done' | 'waiting' | 'impossible' = 'waiting';
  #heard: AnnouncementVersion & { readonly digest: string };
  #missedSomething = false;
  #moment: Moment;

  constructor(
    { announcement, envelope, key }: Signed<FullAnnouncement> & { readonly key: KeyObject },
    { moment, steps = STATE_TRANSITIONS }: RecordOptions,
  ) {
    const full = { announcement, envelope };
    this.id = announcement.hubId;
    this.key = key;
    this.#steps = steps;
    this.#chain = new AnnouncementChain(full);
    this.#heard = full.announcement;
    this.#moment = moment;
  }

  get chain(): AnnouncementChain {
    return this.#chain;
  }

  /** The newest announcement that was heard, whether or not all before it were. */
  get newestVersion(): AnnouncementVersion {
    return this.#heard;
  }

  /** Up to where nothing is missing: what this hub tells others that it knows. */
  get completeVersion(): AnnouncementVersion {
    return this.isBehind ? this.#chain.version : this.#heard;
  }

  get isBehind(): boolean {
    const { epoch } = this.#chain.version;
    return this.#missedSomething || this.#heard.epoch !== epoch || this.#heard.digest !== this.#chain.digest;
  }

  get hasLeft(): boolean {
    const last = this.#chain.signOfLife?.announcement;
    return last?.kind === 'withdrawal' && !isNewer(this.#heard, last);
  }

  get heardAt(): Moment {
    return this.#moment;
  }

  /** The whole state; the one before the last change while pages of the new one are missing, undefined when there was none. */
  get state(): HubState | undefined {
    return this.#state;
  }

  /** What the last full announcement says without any page. */
  get announced(): AnnouncedState {
    return this.#chain.full.announcement.state;
  }

  /** Pages that are needed, whether they are here or not. */
  pages(): readonly string[] {
    return pagesOf(this.announced);
  }

  isWaitingForPages(): boolean {
    return this.#assembly === 'waiting';
  }

  /** True for an announcement that can tell nothing new. */
  isStale(announcement: AnnouncementVersion & { readonly kind: string }): boolean {
    const changesState = announcement.kind === 'full' || announcement.kind === 'delta';
    return !isNewer(announcement, changesState ? this.#chain.version : this.#heard);
  }

  /** Keeps a full announcement that is not stale. */
  replace(full: Signed<FullAnnouncement>, pageOf: PageSource): AnnouncementEffect {
    const before = { chain: this.#chain, assembly: this.#assembly };
    this.#chain = new AnnouncementChain(full, before.chain.signOfLife);
    this.#assembly = 'waiting';
    this.#missedSomething = false;
    const problem = this.assemble(pageOf);
    if (!problem) return this.isBehind ? 'behind' : 'news';
    this.#chain = before.chain;
    this.#assembly = before.assembly;
    return problem;
  }

  /** Keeps changes that are not stale, where they build on what is known. */
  extend(delta: Signed<DeltaAnnouncement>, maxChanges: number): AnnouncementEffect {
    if (!this.#chain.continues(delta.announcement)) {
      this.#missedSomething = true;
      return 'gap';
    }
    if (this.#chain.deltas.length >= maxChanges) return 'too_many_changes';
    if (this.#assembly === 'done' && this.#state) {
      const next = this.#steps.next(this.#state, delta.announcement);
      if (typeof next === 'string') return next;
      this.#state = next;
    }
    this.#chain.append(delta);
    this.#missedSomething = false;
    return this.isBehind ? 'behind' : 'news';
  }

  /** Keeps a heartbeat or withdrawal that is not stale. */
  see(signOfLife: Signed<PresenceAnnouncement>): AnnouncementEffect {
    this.#chain.setPresence(signOfLife);
    return this.isBehind ? 'behind' : 'alive';
  }

  /** Notes that an announcement was heard; only what is newer than all before shows that the hub is there. */
  noteReceived(announcement: AnnouncementVersion & { readonly digest: string }, moment: Moment): void {
    if (!isNewer(announcement, this.#heard)) return;
    this.#heard = announcement;
    this.#moment = moment;
  }

  /** Puts the state together as far as its pages are here; a reason when they do not make the state that was announced. */
  assemble(pageOf: PageSource): DropReason | undefined {
    if (this.#assembly !== 'waiting') return undefined;
    const state = this.#whole(pageOf);
    if (state === undefined) return undefined;
    if (typeof state === 'string') {
      this.#assembly = 'impossible';
      return state;
    }
    this.#state = state;
    this.#assembly = 'done';
    return undefined;
  }

  #whole(pageOf: PageSource): HubState | DropReason | undefined {
    let state = this.#steps.first(this.#chain.full.announcement, pageOf);
    for (const { announcement } of this.#chain.deltas) {
      if (state === undefined || typeof state === 'string') return state;
      state = this.#steps.next(state, announcement);
    }
    return state;
  }
}

/** The kinds of announcement. */
export type FullAnnouncement = Extract<Announcement, { readonly kind: 'full' }>;
export type DeltaAnnouncement = Extract<Announcement, { readonly kind: 'delta' }>;
/** Says that the hub is there, or stops; changes nothing of its state. */
type PresenceAnnouncement = Extract<Announcement, { readonly kind: 'heartbeat' | 'withdrawal' }>;

/** An announcement with the bytes that its origin signed: these are passed on, never any of our making. */
export interface Signed<Kind extends Announcement = Announcement> {
  readonly announcement: Kind;
  readonly envelope: Uint8Array;
}

/**
 * What one hub announced, as far as it is needed to know all of it: the last full announcement, the changes since, each
 * building on the one before, and the newest sign of life.
 */
class AnnouncementChain {
  readonly full: Signed<FullAnnouncement>;
  readonly #deltas: Signed<DeltaAnnouncement>[] = [];
  #signOfLife: Signed<PresenceAnnouncement> | undefined;
  #bytes: number;

  /** `sign`: one that was seen before; it still counts where it is later than the announcement, and of the same start. */
  constructor(full: Signed<FullAnnouncement>, sign?: Signed<PresenceAnnouncement>) {
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

  get signOfLife(): Signed<PresenceAnnouncement> | undefined {
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

  setPresence(signOfLife: Signed<PresenceAnnouncement>): void {
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

/** How announcements become the state of their hub. States are never changed: directories may share them. */
export interface StateTransitions {
  /** The state that is announced; undefined while pages of it are missing, a reason when they do not make it. */
  first(full: FullAnnouncement, pageOf: (hash: string) => Uint8Array | undefined): HubState | DropReason | undefined;
  /** The state after the changes, or why they do not lead to the one that the origin speaks of. */
  next(state: HubState, delta: DeltaAnnouncement): HubState | DropReason;
}

/** Each state is put together, and held against the digest that its origin signed. */
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
