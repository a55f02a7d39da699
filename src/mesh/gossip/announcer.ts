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
import type { Clock } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { TokenBucket } from '../rate-limit.ts';
import { isSameChain } from './announcement-validator.ts';
import type { AnnouncedEpoch } from './announcement-version.ts';
import { type Blob, type BlobStore, blobOf } from './blob-store.ts';
import { ANNOUNCEMENT_TTL_S, ANNOUNCER_RATE, CHANGES_PER_FULL, COALESCE_MS, HEARTBEAT_MS } from './gossip-limits.ts';
import type { MeshDirectory } from './mesh-directory.ts';
import type { OwnState } from './own-state.ts';
import { CoalescingTimer, Ticker } from './timers.ts';

interface AnnouncerCollaborators {
  readonly hub: { readonly hubId: HubId; readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  /** This hub's own certificate as it is now; it is renewed from time to time. */
  readonly certificate: () => CertificateChain;
  readonly epoch: AnnouncedEpoch;
  /** Undefined while it is being made, which goes on with the next question. */
  readonly state: () => OwnState | undefined;
  readonly directory: MeshDirectory;
  readonly blobs: BlobStore;
  /** Tells all other hubs. */
  readonly publish: (envelope: Uint8Array) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 to below 1; spreads heartbeats. */
  readonly random?: (() => number) | undefined;
}

type OmitFrom<Kind, Key extends PropertyKey> = Kind extends unknown ? Omit<Kind, Key> : never;
/** What differs between the kinds of announcement. */
type Content = OmitFrom<Announcement, 'hubId' | 'epoch' | 'sequence' | 'timeMs' | 'ttlSeconds' | 'digest'>;

interface DigestedState extends OwnState {
  readonly digest: string;
}

const MAKING_PAUSE_MS = 1;
/** More do not fit into an announcement of changes: eight bytes of each are a hash. */
const MAX_CHANGED_TOOLS = 512;
/** What is done with the states of more tools takes longer than other work should wait. */
const LARGE_TOOLS = 512;

/** Tells the other hubs what this one has: the whole at first, then what changes, a sign of life in between, and goodbye. */
export class Announcer implements Service {
  readonly #parts: AnnouncerCollaborators;
  readonly #bucket: TokenBucket;
  readonly #heartbeats: Ticker;
  readonly #wakeup: CoalescingTimer;
  /** What is said meanwhile costs no turn of those that are allowed. */
  readonly #making: CoalescingTimer;
  #isComparing = false;
  #sequence = 0;
  #told: HubState | undefined;
  #digest = '';
  #toldCertificate: CertificateChain = [];
  /** Sequence of the last announcement that changed the state. */
  #base = 0;
  #changes = 0;
  #pages: readonly Blob[] = [];
  #stopListening: (() => void) | undefined;

  constructor(collaborators: AnnouncerCollaborators) {
    this.#parts = collaborators;
    const { clock, random } = collaborators;
    this.#bucket = new TokenBucket(clock, ANNOUNCER_RATE);
    this.#wakeup = new CoalescingTimer(clock, () => this.#announceChanges());
    this.#making = new CoalescingTimer(clock, () => void this.#compareAlone());
    this.#heartbeats = new Ticker({ clock, random }, HEARTBEAT_MS);
  }

  /** Of this start of the hub; others see calls of an earlier one as such. */
  get epoch(): number {
    return this.#parts.epoch.value;
  }

  /** STORAGE_FAILED. */
  async start(): Promise<void> {
    this.#parts.epoch.begin();
    this.#stopListening = this.#parts.directory.onSuperseded(({ epoch }) => this.#surpass(epoch));
    void this.#compareAlone();
    this.#heartbeats.start(() => {
      if (this.#told) void this.#tell({ kind: 'heartbeat' });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#stopListening) return;
    this.#stopListening();
    this.#stopListening = undefined;
    this.#heartbeats.stop();
    this.#wakeup.stop();
    this.#making.stop();
    if (this.#told) await this.#tell({ kind: 'withdrawal' });
  }

  /** Something of this hub may be different: it is looked at after `delayMs`, or earlier when that was planned already. */
  changed(delayMs = COALESCE_MS): void {
    if (this.#stopListening) this.#wakeup.within(delayMs);
  }

  #announceChanges(): void {
    const waitMs = this.#bucket.take();
    if (waitMs > 0) this.#wakeup.within(waitMs);
    else void this.#compareAlone();
  }

  /** What changes while a large state is looked at is looked at afterwards. */
  async #compareAlone(): Promise<void> {
    if (this.#isComparing) return this.changed();
    try {
      await this.#compare();
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#parts.logger.error('mesh.announcement_unmade', { problem: error.message });
    }
  }

  async #compare(): Promise<void> {
    const own = this.#parts.state();
    if (!own) return this.#making.within(MAKING_PAUSE_MS);
    const told = this.#told;
    const changes = told && changesBetween(told, own.state);
    const isSameCertificate = isSameChain(this.#parts.certificate(), this.#toldCertificate);
    if (changes && isSameCertificate && isUnchanged(changes)) return;
    const digest = isLarge(own.state) ? await this.#digestInTurns(own.state) : stateDigest(own.state);
    if (!this.#stopListening) return;
    if (this.#told !== told) return this.changed();
    const isSmall = changes && isSameCertificate && this.#changes < CHANGES_PER_FULL && this.#announceDelta({ ...own, digest }, changes);
    if (!isSmall) this.#announceAll({ ...own, digest });
  }

  /** Lets other work have its turn before and after. */
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
    this.#told = state;
    this.#digest = digest;
    this.#toldCertificate = this.#parts.certificate();
    this.#changes = 0;
    // The changes to come build on these pages: they are offered until the whole is told again.
    this.#pages = [...pages.values()].map(blobOf);
    this.#parts.blobs.setOwn([...definitions, ...this.#pages]);
    this.#base = this.#sequence + 1;
    void this.#tell({ kind: 'full', certificate: this.#toldCertificate, state: announced });
  }

  /** False when the changes do not fit into one announcement. */
  #announceDelta({ state, definitions, digest }: DigestedState, changes: StateChanges): boolean {
    if (changes.toolsAdded.length > MAX_CHANGED_TOOLS) return false;
    this.#parts.blobs.setOwn([...definitions, ...this.#pages]);
    this.#digest = digest;
    try {
      void this.#tell({ kind: 'delta', baseSequence: this.#base, changes });
    } catch (error) {
      if (error instanceof AtmoError && error.code === 'VALIDATION_ERROR') return false;
      throw error;
    }
    this.#told = state;
    this.#base = this.#sequence;
    this.#changes += 1;
    return true;
  }

  /** Signs, keeps and sends; what cannot be signed because it is too long throws VALIDATION_ERROR before anything is sent. */
  #tell(content: Content): Promise<void> {
    const { hub, clock, directory } = this.#parts;
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
    directory.keepOwn({ announcement, envelope, key: hub.publicKey });
    return this.#send(envelope);
  }

  /** Who does not hear it now asks for it later. */
  async #send(envelope: Uint8Array): Promise<void> {
    try {
      await this.#parts.publish(envelope);
    } catch (error) {
      this.#parts.logger.warn('mesh.announcement_unsent', { problem: toAtmoError(error).message });
    }
  }

  #surpass(epoch: number): void {
    if (epoch < this.epoch) return;
    this.#parts.epoch.surpass(epoch);
    this.#parts.logger.warn('mesh.epoch_surpassed', { epoch: this.epoch });
    this.#sequence = 0;
    this.#told = undefined;
    this.changed();
  }
}

function isLarge({ tools }: HubState): boolean {
  return tools.length > LARGE_TOOLS;
}
