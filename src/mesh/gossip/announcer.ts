import type { KeyObject } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type HubState, stateDigest } from '../../codec/messages/announced-state.ts';
import {
  type Announcement,
  changesBetween,
  isUnchanged,
  paginate,
  type StateChanges,
  signAnnouncement,
} from '../../codec/messages/announcement.ts';
import type { CertificateChain } from '../../codec/messages/membership.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import { TokenBucket } from '../rate-limit.ts';
import { isSameChain } from './announcement-validator.ts';
import { type Blob, type BlobStore, blobOf } from './blob-store.ts';
import { ANNOUNCEMENT_TTL_S, ANNOUNCER_RATE, CHANGES_PER_FULL, COALESCE_MS, HEARTBEAT_MS } from './gossip-limits.ts';
import type { AnnouncedEpoch } from './hub-record.ts';
import type { MeshDirectory } from './mesh-directory.ts';
import type { OwnState } from './own-state.ts';
import { CoalescingTimer, repeatWithJitter } from './timers.ts';

/** Collaborators of the announcer. */
export interface AnnouncerCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly hub: { readonly hubId: HubId; readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  readonly certificate: () => CertificateChain;
  readonly epoch: AnnouncedEpoch;
  /** Returns the state of this hub, or undefined if some definitions are not encoded yet. Each call encodes some of them. */
  readonly state: () => OwnState | undefined;
  readonly directory: MeshDirectory;
  readonly blobs: BlobStore;
  readonly publish: (envelope: Uint8Array) => Promise<void>;
  /** Returns a random number from 0 to below 1. Heartbeats come early or late by chance, so that hubs do not send them all at once. */
  readonly random?: (() => number) | undefined;
}

type OmitFrom<Kind, Key extends PropertyKey> = Kind extends unknown ? Omit<Kind, Key> : never;
/** Fields of an announcement except those that `#publish` adds to every announcement. */
type Content = OmitFrom<Announcement, 'hubId' | 'epoch' | 'sequence' | 'timeMs' | 'ttlSeconds' | 'digest'>;

interface DigestedState extends OwnState {
  readonly digest: string;
}

const ENCODING_PAUSE_MS = 1;
/** Maximum number of added or changed tools in a delta. If there are more, the hub announces its whole state instead. */
const MAX_CHANGED_TOOLS = 512;
/** If the state has more tools than this, its digest takes long to compute. The hub then lets other work run before and afterwards. */
const LARGE_TOOLS = 512;

/** Announces this hub to other hubs: first its whole state, then changes. Sends heartbeats regularly, and a withdrawal at the end. */
export class Announcer implements Service {
  readonly #parts: AnnouncerCollaborators;
  readonly #bucket: TokenBucket;
  readonly #wakeup: CoalescingTimer;
  /** Timer for encoding more definitions. Unlike `#wakeup`, it takes no token of the rate limit. */
  readonly #encoding: CoalescingTimer;
  #isComparing = false;
  #sequence = 0;
  #announced: HubState | undefined;
  #digest = '';
  #announcedCertificate: CertificateChain = [];
  /** Sequence number of the last announcement that changed the state. */
  #base = 0;
  #changes = 0;
  #pages: readonly Blob[] = [];
  #stopHeartbeats = () => {};
  #stopListening: (() => void) | undefined;

  constructor(parts: AnnouncerCollaborators) {
    this.#parts = parts;
    this.#bucket = new TokenBucket(parts.clock, ANNOUNCER_RATE);
    this.#wakeup = new CoalescingTimer(parts.clock, () => this.#announceChanges());
    this.#encoding = new CoalescingTimer(parts.clock, () => void this.#compareAlone());
  }

  /** Epoch of this start. A call names an epoch, so that this hub can refuse a call that was sent to an earlier start. */
  get epoch(): number {
    return this.#parts.epoch.value;
  }

  /** State that this hub has announced last; undefined before the first announcement. */
  get announced(): HubState | undefined {
    return this.#announced;
  }

  /** Starts the announcements. Rejects with STORAGE_FAILED if the epoch cannot be stored. */
  async start(): Promise<void> {
    const { epoch, directory, clock, random = Math.random } = this.#parts;
    epoch.begin();
    this.#stopListening = directory.onSuperseded((newer) => this.#surpass(newer.epoch));
    void this.#compareAlone();
    this.#stopHeartbeats = repeatWithJitter(clock, random, HEARTBEAT_MS, () => {
      if (this.#announced) void this.#publish({ kind: 'heartbeat' });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#stopListening) return;
    this.#stopListening();
    this.#stopListening = undefined;
    this.#stopHeartbeats();
    this.#wakeup.stop();
    this.#encoding.stop();
    if (this.#announced) await this.#publish({ kind: 'withdrawal' });
  }

  /** Plans a comparison of the state with the announced state within `delayMs`. The comparison announces the changes. */
  changed(delayMs = COALESCE_MS): void {
    if (this.#stopListening) this.#wakeup.within(delayMs);
  }

  #announceChanges(): void {
    const waitMs = this.#bucket.take();
    if (waitMs > 0) this.#wakeup.within(waitMs);
    else void this.#compareAlone();
  }

  /** Compares the state with the announced state and announces changes. If a comparison is running, plans another one. */
  async #compareAlone(): Promise<void> {
    if (this.#isComparing) return this.changed();
    try {
      await this.#compare();
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#parts.logger.error('mesh.announcement_not_made', { problem: error.message });
    }
  }

  async #compare(): Promise<void> {
    const own = this.#parts.state();
    if (!own) return this.#encoding.within(ENCODING_PAUSE_MS);
    const before = this.#announced;
    const changes = before && changesBetween(before, own.state);
    const isSameCertificate = isSameChain(this.#parts.certificate(), this.#announcedCertificate);
    if (changes && isSameCertificate && isUnchanged(changes)) return;
    const isLarge = own.state.tools.length > LARGE_TOOLS;
    const digest = isLarge ? await this.#digestInTurns(own.state) : stateDigest(own.state);
    if (!this.#stopListening) return;
    if (this.#announced !== before) return this.changed();
    const isDelta = changes && isSameCertificate && this.#changes < CHANGES_PER_FULL && this.#announceDelta({ ...own, digest }, changes);
    if (!isDelta) this.#announceAll({ ...own, digest });
  }

  /** Returns the digest of a large state. Lets other work run before and after the computation. */
  async #digestInTurns(state: HubState): Promise<string> {
    this.#isComparing = true;
    try {
      await setImmediate();
      const digest = stateDigest(state);
      await setImmediate();
      return digest;
    } finally {
      this.#isComparing = false;
    }
  }

  #announceAll({ state, definitions, digest }: DigestedState): void {
    const { announced, pages } = paginate(state);
    this.#announced = state;
    this.#digest = digest;
    this.#announcedCertificate = this.#parts.certificate();
    this.#changes = 0;
    // The pages are kept until the next full announcement, because other hubs need them to apply the deltas in between.
    this.#pages = [...pages.values()].map(blobOf);
    this.#parts.blobs.setOwn([...definitions, ...this.#pages]);
    this.#base = this.#sequence + 1;
    void this.#publish({ kind: 'full', certificate: this.#announcedCertificate, state: announced });
  }

  /** Announces changes; returns false if they do not fit into one announcement. */
  #announceDelta({ state, definitions, digest }: DigestedState, changes: StateChanges): boolean {
    if (changes.toolsAdded.length > MAX_CHANGED_TOOLS) return false;
    this.#parts.blobs.setOwn([...definitions, ...this.#pages]);
    this.#digest = digest;
    try {
      void this.#publish({ kind: 'delta', baseSequence: this.#base, changes });
    } catch (error) {
      if (error instanceof AtmoError && error.code === 'VALIDATION_ERROR') return false;
      throw error;
    }
    this.#announced = state;
    this.#base = this.#sequence;
    this.#changes += 1;
    return true;
  }

  /** Signs, records and sends an announcement. Throws VALIDATION_ERROR before sending if the content is too long. */
  #publish(content: Content): Promise<void> {
    const { hub, clock, directory, publish, logger } = this.#parts;
    this.#sequence += 1;
    const announcement: Announcement = {
      ...content,
      hubId: hub.hubId,
      epoch: this.epoch,
      sequence: this.#sequence,
      timeMs: clock.now(),
      ttlSeconds: ANNOUNCEMENT_TTL_S,
      digest: this.#digest,
    };
    const envelope = signAnnouncement(announcement, hub.privateKey);
    directory.recordOwn({ announcement, envelope, key: hub.publicKey });
    // A failed send is only logged, because a hub that misses the announcement fetches it later.
    return publish(envelope).catch((error: unknown) => {
      logger.warn('mesh.announcement_not_sent', { problem: toAtmoError(error).message });
    });
  }

  #surpass(epoch: number): void {
    if (epoch < this.epoch) return;
    this.#parts.epoch.surpass(epoch);
    this.#parts.logger.warn('mesh.epoch_surpassed', { epoch: this.epoch });
    this.#sequence = 0;
    this.#announced = undefined;
    this.changed();
  }
}
