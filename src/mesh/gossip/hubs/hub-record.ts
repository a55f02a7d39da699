import type { KeyObject } from 'node:crypto';
import type { HubId } from '../../../core/ids.ts';
import type { AnnouncedState, HubState } from '../../../wire/messages/announced-state.ts';
import { pagesOf } from '../../../wire/messages/announcement-pages.ts';
import {
  AnnouncementChain,
  type DeltaAnnouncement,
  type FullAnnouncement,
  type Signed,
  type SignOfLife,
} from '../announce/announcement-chain.ts';
import { type AnnouncementVersion, isNewer } from '../announce/announcement-version.ts';
import { STATE_STEPS, type StateSteps } from '../announce/state-steps.ts';
import type { DropReason } from '../drop-counter.ts';

/** When something was heard: on the clock that never jumps, and on the wall. */
interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** What an announcement did: told something new, showed that something was missed, or nothing could be made of it. */
export type Taken = 'news' | 'alive' | 'behind' | DropReason;

interface RecordOptions {
  readonly moment: Moment;
  /** Another way to come to states, such as one that remembers them. */
  readonly steps?: StateSteps;
}

type PageSource = (hash: string) => Uint8Array | undefined;

/** What is known of one hub, from its own signed announcements only. Whoever hands it one has checked the signature. */
export class HubRecord {
  readonly id: HubId;
  readonly key: KeyObject;
  readonly #steps: StateSteps;
  #chain: AnnouncementChain;
  #state: HubState | undefined;
  /** The pages of the chain's state are not all here, or it cannot be put together. */
  #assembly: 'done' | 'waiting' | 'impossible' = 'waiting';
  #heard: AnnouncementVersion & { readonly digest: string };
  #missedSomething = false;
  #moment: Moment;

  constructor(
    { announcement, envelope, key }: Signed<FullAnnouncement> & { readonly key: KeyObject },
    { moment, steps = STATE_STEPS }: RecordOptions,
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
  get heard(): AnnouncementVersion {
    return this.#heard;
  }

  /** Up to where nothing is missing: what this hub tells others that it knows. */
  get known(): AnnouncementVersion {
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
  replace(full: Signed<FullAnnouncement>, pageOf: PageSource): Taken {
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
  extend(delta: Signed<DeltaAnnouncement>, maxChanges: number): Taken {
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
  see(signOfLife: Signed<SignOfLife>): Taken {
    this.#chain.see(signOfLife);
    return this.isBehind ? 'behind' : 'alive';
  }

  /** Notes that an announcement was heard; only what is newer than all before shows that the hub is there. */
  hear(announcement: AnnouncementVersion & { readonly digest: string }, moment: Moment): void {
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
