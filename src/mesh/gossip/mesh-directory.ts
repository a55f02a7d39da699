import type { Announcement } from '../../codec/messages/announcement.ts';
import { MAX_VECTOR_HUBS, type VersionVector } from '../../codec/messages/sync.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { GossipVerdict } from '../transport/mesh-engine.ts';
import { AnnouncementValidator, type MemberCertificates, type OpenEnvelope, type ValidAnnouncement } from './announcement-validator.ts';
import { type AnnouncementVersion, isNewer } from './announcement-version.ts';
import { type BlobStore, shortName } from './blob-store.ts';
import { type DropCounter, type DropReason, GOSSIP_LIMITS, type GossipLimits } from './gossip-limits.ts';
import { type AnnouncementEffect, HubRecord, type StateTransitions } from './hub-record.ts';
import { HubRecords } from './hub-records.ts';
import type { DirectoryChange, HubDirectory, KnownHub } from './known-hub.ts';

interface DirectoryCollaborators {
  readonly self: HubId;
  readonly certificates: MemberCertificates;
  readonly blobs: BlobStore;
  readonly drops: DropCounter;
  readonly clock: Clock;
  /** True while a direct connection to the hub lives. */
  readonly isLinked: (id: HubId) => boolean;
  /** True while living connections lead to the hub, as far as those tell that have them. */
  readonly hasWay: (id: HubId) => boolean;
  /** Another way to verify, such as one that remembers what it verified. */
  readonly open?: OpenEnvelope | undefined;
  /** Another way to come to states, such as one that remembers them. */
  readonly steps?: StateTransitions | undefined;
}

/** What a neighbour that passed it on should have seen itself. */
const HELD_AGAINST_NEIGHBOUR: ReadonlySet<DropReason> = new Set(['oversized', 'malformed', 'forged', 'wrong_digest']);

/**
 * All hubs of the mesh by their own signed announcements. Announcements may come in any order, over any hub, repeated or not at
 * all: what is known of a hub is always what it announced itself up to one moment, and only its signature changes that.
 */
export class MeshDirectory implements HubDirectory {
  readonly #self: HubId;
  readonly #certificates: MemberCertificates;
  readonly #blobs: BlobStore;
  readonly #drops: DropCounter;
  readonly #clock: Clock;
  readonly #limits: GossipLimits;
  readonly #steps: StateTransitions | undefined;
  readonly #door: AnnouncementValidator;
  readonly #records: HubRecords;
  /** Hubs of which blobs may be missing: to look through all of them at each piece of news took most of the time. */
  readonly #unsure = new Set<HubId>();
  #lossesSeen = 0;
  /** Until the next news. */
  #used: ReadonlySet<string> | undefined;
  readonly #behind = new Set<(from: HubId) => void>();
  readonly #superseded = new Set<(version: AnnouncementVersion) => void>();

  constructor(collaborators: DirectoryCollaborators, limits: Partial<GossipLimits> = {}) {
    const { self, certificates, blobs, drops, clock, open, steps } = collaborators;
    this.#self = self;
    this.#certificates = certificates;
    this.#blobs = blobs;
    this.#drops = drops;
    this.#clock = clock;
    this.#steps = steps;
    const { maxHubs, ...others } = { ...GOSSIP_LIMITS, ...limits };
    this.#limits = { ...others, maxHubs: Math.min(maxHubs, MAX_VECTOR_HUBS) };
    this.#records = new HubRecords(collaborators);
    this.#records.onChange(({ hub, kind }) => {
      this.#used = undefined;
      if (kind !== 'state') this.#unsure.add(hub);
    });
    const keeper = { isStale: (announcement: Announcement) => this.#isStale(announcement), member: (id: HubId) => this.#member(id) };
    this.#door = new AnnouncementValidator({ certificates, keeper, clock, open });
  }

  /** Estimated bytes of all that is kept of other hubs, blobs aside. */
  get bytes(): number {
    return this.#records.bytes;
  }

  hubs(): readonly KnownHub[] {
    return this.#records.views();
  }

  hub(id: HubId): KnownHub | undefined {
    return this.#records.view(id);
  }

  /** Takes what gossip or a neighbour brings; says what gossip should do with it. */
  receive(envelope: Uint8Array, from: HubId): GossipVerdict {
    // What this hub publishes passes through its own validator.
    if (from === this.#self) return 'accept';
    const admitted = this.#door.admit(envelope, from);
    if (typeof admitted === 'string') return this.#drop(admitted, from);
    if (admitted.announcement.hubId === this.#self) return this.#hearOwn(admitted.announcement);
    const taken = this.#hasRoom(admitted) ?? this.#apply(admitted);
    if (taken === 'behind') this.#tellBehind(from);
    return taken === 'news' || taken === 'alive' || taken === 'behind' ? 'accept' : this.#drop(taken, from);
  }

  /** Keeps what this hub announces itself, so that others can ask for it. */
  keepOwn(own: ValidAnnouncement): void {
    this.#apply(own);
  }

  /** Pages arrived: states that waited for them are put together. */
  assemble(): void {
    for (const record of this.#records.all()) {
      if (record.id === this.#self || !record.isWaitingForPages() || this.bytes > this.#limits.maxBytes) continue;
      const problem = record.assemble((hash) => this.#blobs.get(hash));
      if (problem) this.#drops.count(problem);
      if (!record.isWaitingForPages()) this.#records.update(record, 'news');
    }
  }

  /** Names of the blobs that are missing, with a hub that has each. */
  missingBlobs(): ReadonlyMap<string, HubId> {
    const missing = new Map<string, HubId>();
    for (const id of this.#unsure) {
      const record = this.#records.get(id);
      const names = record && !record.hasLeft ? blobNames(record).filter((name) => !this.#blobs.has(name)) : [];
      if (names.length === 0) this.#unsure.delete(id);
      for (const name of names) if (!missing.has(name)) missing.set(name, id);
    }
    return missing;
  }

  /** Short names of the blobs that some hub needs, also one that left and is remembered; the same set as long as nothing changes. */
  usedBlobs(): ReadonlySet<string> {
    const others = () => this.#records.all().filter(({ id }) => id !== this.#self);
    this.#used ??= new Set(others().flatMap((record) => blobNames(record).map(shortName)));
    return this.#used;
  }

  /** What is known, this hub's own announcements included. */
  vector(): VersionVector {
    return vectorOf(this.#records.all());
  }

  /** What somebody lacks who knows as much as the vector says, up to about `maxBytes`. */
  envelopesBeyond(vector: VersionVector, maxBytes: number): readonly Uint8Array[] {
    return envelopesBeyond(vector, this.#records.all(), maxBytes);
  }

  /** True when the vector tells of announcements that this hub does not know. */
  isBehind(vector: VersionVector): boolean {
    return vector.some(
      (version) => isNewer(version, this.#records.get(version.hubId)?.completeVersion) && !this.#records.isBuried(version.hubId, version),
    );
  }

  /** Tells what became stale since, and forgets what is gone. */
  sweep(): void {
    this.#records.sweep();
    // What this hub offered itself until now may be missing from now on.
    if (this.#blobs.losses === this.#lossesSeen) return;
    this.#lossesSeen = this.#blobs.losses;
    for (const { id } of this.#present()) this.#unsure.add(id);
  }

  /** Forgets the hubs whose certificates do not hold any more, and looks through all others for what is missing of them. */
  recheck(): void {
    for (const record of this.#records.all()) {
      if (record.id === this.#self || this.#isStillMember(record)) continue;
      this.#drops.count('not_a_member');
      this.#records.remove(record);
    }
    for (const { id } of this.#present()) this.#unsure.add(id);
  }

  onChange(listener: (change: DirectoryChange) => void): () => void {
    return this.#records.onChange(listener);
  }

  /** Hears that something of a hub was missed, as the hub `from` could tell. The answer stops it. */
  onBehind(listener: (from: HubId) => void): () => void {
    this.#behind.add(listener);
    return () => this.#behind.delete(listener);
  }

  /** Hears that others have later announcements of this hub than itself: its state was lost or set back. The answer stops it. */
  onSuperseded(listener: (version: AnnouncementVersion) => void): () => void {
    this.#superseded.add(listener);
    return () => this.#superseded.delete(listener);
  }

  /** Those whose tools count. */
  #present(): readonly HubRecord[] {
    return this.#records.all().filter(({ id, hasLeft }) => id !== this.#self && !hasLeft);
  }

  #isStale(announcement: Announcement): boolean {
    const { hubId } = announcement;
    return this.#records.get(hubId)?.isStale(announcement) ?? this.#records.isBuried(hubId, announcement);
  }

  #member(id: HubId) {
    const record = this.#records.get(id);
    return record && { key: record.key, certificate: record.chain.full.announcement.certificate };
  }

  #isStillMember({ id, chain }: HubRecord): boolean {
    try {
      return this.#certificates.admit(chain.full.announcement.certificate).hubId === id;
    } catch (error) {
      if (error instanceof AtmoError) return false;
      throw error;
    }
  }

  #drop(reason: DropReason, from: HubId): GossipVerdict {
    this.#drops.count(reason);
    if (reason === 'unknown_origin' || reason === 'gap') this.#tellBehind(from);
    // A gap is this hub's own: for others it may be just what they miss.
    if (reason === 'gap') return 'accept';
    return HELD_AGAINST_NEIGHBOUR.has(reason) ? 'reject' : 'ignore';
  }

  #tellBehind(from: HubId): void {
    for (const listener of this.#behind) listener(from);
  }

  #hearOwn({ epoch, sequence }: AnnouncementVersion): GossipVerdict {
    for (const listener of this.#superseded) listener({ epoch, sequence });
    return 'ignore';
  }

  #hasRoom({ announcement, envelope }: ValidAnnouncement): DropReason | undefined {
    const isNew = !this.#records.get(announcement.hubId);
    if (isNew && this.#records.size >= this.#limits.maxHubs && !this.#records.makeRoom()) return 'too_many_hubs';
    const isSmall = announcement.kind === 'heartbeat' || announcement.kind === 'withdrawal';
    return isSmall || this.bytes + envelope.length <= this.#limits.maxBytes ? undefined : 'out_of_memory';
  }

  #apply({ announcement, envelope, key }: ValidAnnouncement): AnnouncementEffect {
    const moment = { monotonicMs: this.#clock.monotonic(), wallMs: this.#clock.now() };
    // What this hub says itself it need not put together: nobody here asks for it, and for a large house it takes long.
    const pageOf = (hash: string) => (announcement.hubId === this.#self ? undefined : this.#blobs.get(hash));
    const known = this.#records.get(announcement.hubId);
    if (!known) {
      if (announcement.kind !== 'full') return 'unknown_origin';
      const record = new HubRecord({ announcement, envelope, key }, { moment, ...(this.#steps && { steps: this.#steps }) });
      const problem = record.assemble(pageOf);
      if (!problem) this.#records.update(record, 'news');
      return problem ?? 'news';
    }
    known.noteReceived(announcement, moment);
    const taken = applyAnnouncement(known, { announcement, envelope }, { pageOf, maxChanges: this.#limits.maxChanges });
    this.#records.update(known, announcement.kind === 'full' || announcement.kind === 'delta' ? 'news' : 'state');
    return taken;
  }
}

function applyAnnouncement(
  record: HubRecord,
  { announcement, envelope }: Pick<ValidAnnouncement, 'announcement' | 'envelope'>,
  { pageOf, maxChanges }: { readonly pageOf: (hash: string) => Uint8Array | undefined; readonly maxChanges: number },
): AnnouncementEffect {
  switch (announcement.kind) {
    case 'full':
      return record.replace({ announcement, envelope }, pageOf);
    case 'delta':
      return record.extend({ announcement, envelope }, maxChanges);
    case 'heartbeat':
    case 'withdrawal':
      return record.see({ announcement, envelope });
  }
}

function blobNames(record: HubRecord): readonly string[] {
  return [...record.pages(), ...(record.state?.tools ?? []).map(({ hash }) => hash)];
}

/** What is known of each hub. */
function vectorOf(records: readonly HubRecord[]): VersionVector {
  return records.map(({ id, completeVersion }) => ({ hubId: id, epoch: completeVersion.epoch, sequence: completeVersion.sequence }));
}

/** What somebody lacks who knows as much as the vector says, up to about `maxBytes` and one hub at least. */
function envelopesBeyond(vector: VersionVector, records: readonly HubRecord[], maxBytes: number): readonly Uint8Array[] {
  const theirs = new Map(vector.map((version) => [version.hubId, version]));
  const told: Uint8Array[] = [];
  let bytes = 0;
  for (const { id, chain } of records) {
    const version = theirs.get(id);
    if (!chain.isBeyond(version)) continue;
    const envelopes = chain.since(version);
    bytes += envelopes.reduce((sum, { length }) => sum + length, 0);
    if (bytes > maxBytes && told.length > 0) break;
    told.push(...envelopes);
  }
  return told;
}
