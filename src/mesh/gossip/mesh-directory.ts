import { siteOf } from '../../codec/messages/announced-state.ts';
import type { Announcement } from '../../codec/messages/announcement.ts';
import { MAX_VECTOR_HUBS, type VersionVector } from '../../codec/messages/sync.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { GossipVerdict } from '../transport/mesh-engine.ts';
import { AnnouncementValidator, type OpenEnvelope, type ValidAnnouncement } from './announcement-validator.ts';
import { type BlobStore, shortName } from './blob-store.ts';
import { type DropCounter, type DropReason, GOSSIP_LIMITS, type GossipLimits } from './gossip-limits.ts';
import {
  type AnnouncementEffect,
  type AnnouncementVersion,
  HubRecord,
  isNewer,
  type MemberCertificates,
  STATE_TRANSITIONS,
  type StateTransitions,
} from './hub-record.ts';
import { HubRecords, type RecordsCollaborators } from './hub-records.ts';
import type { DirectoryChange, HubDirectory, KnownHub } from './known-hub.ts';

/** Collaborators of the directory. */
export interface DirectoryCollaborators extends RecordsCollaborators {
  readonly certificates: MemberCertificates;
  readonly blobs: BlobStore;
  readonly drops: DropCounter;
  /** Site whose hubs the directory holds. Announcements of hubs of other sites are dropped. If absent, hubs of all sites are recorded. */
  readonly site?: string | undefined;
  /** Replaces the verification in a simulation, where all simulated hubs share one verification of each envelope. */
  readonly open?: OpenEnvelope | undefined;
  /** Replaces the computation of states in a simulation, where all simulated hubs share one computation of each state. */
  readonly steps?: StateTransitions | undefined;
}

/** Faults that the forwarding neighbour should have detected. */
const FAULTS_OF_NEIGHBOUR: ReadonlySet<DropReason> = new Set(['oversized', 'malformed', 'forged', 'wrong_digest']);

/**
 * Directory of all hubs in the mesh. It is built from signed announcements, which may arrive in any order, over any hub, repeatedly or
 * never. The record of a hub always shows a state that the same hub announced. Announcements of other hubs do not change the record.
 */
export class MeshDirectory implements HubDirectory {
  readonly #parts: DirectoryCollaborators;
  readonly #limits: GossipLimits;
  readonly #validator: AnnouncementValidator;
  readonly #records: HubRecords;
  /** Hubs whose blobs may be missing. After an announcement, checking only these hubs is much faster than checking all. */
  readonly #unchecked = new Set<HubId>();
  #lossesSeen = 0;
  /** Cached result of `usedBlobs`; undefined after a change. */
  #used: ReadonlySet<string> | undefined;
  readonly #behindListeners = new Set<(from: HubId) => void>();
  readonly #supersededListeners = new Set<(version: AnnouncementVersion) => void>();

  constructor(parts: DirectoryCollaborators, limits: Partial<GossipLimits> = {}) {
    this.#parts = parts;
    const { maxHubs, ...others } = { ...GOSSIP_LIMITS, ...limits };
    this.#limits = { ...others, maxHubs: Math.min(maxHubs, MAX_VECTOR_HUBS) };
    this.#records = new HubRecords(parts);
    this.#records.onChange(({ hub, kind }) => {
      this.#used = undefined;
      if (kind !== 'state') this.#unchecked.add(hub);
    });
    const { certificates, clock, open } = parts;
    this.#validator = new AnnouncementValidator({ certificates, records: this.#records, clock, open });
  }

  /** Estimated size, in bytes, of the records of other hubs, without blobs. */
  get bytes(): number {
    return this.#records.bytes;
  }

  hubs(): readonly KnownHub[] {
    return this.#records.views();
  }

  hub(id: HubId): KnownHub | undefined {
    return this.#records.view(id);
  }

  /** Validates and records an announcement from gossip or anti-entropy. Returns the verdict for gossip. */
  receive(envelope: Uint8Array, from: HubId): GossipVerdict {
    // Gossip asks for a verdict on this hub's own announcements too.
    if (from === this.#parts.self) return 'accept';
    const admitted = this.#validator.admit(envelope, from);
    if (typeof admitted === 'string') return this.#drop(admitted, from);
    if (admitted.announcement.hubId === this.#parts.self) return this.#receiveOwn(admitted.announcement);
    if (this.#isOfOtherSite(admitted.announcement)) return this.#drop('other_site', from);
    const effect = this.#excess(admitted) ?? this.#apply(admitted);
    if (effect === 'behind') this.#emitBehind(from);
    return effect === 'news' || effect === 'alive' || effect === 'behind' ? 'accept' : this.#drop(effect, from);
  }

  /** Records an announcement of this hub, so that other hubs can fetch it. */
  recordOwn(own: ValidAnnouncement): void {
    this.#apply(own);
  }

  /** Assembles the states that waited for pages. */
  assemble(): void {
    for (const record of this.#records.others()) {
      if (!record.isWaitingForPages() || this.bytes > this.#limits.maxBytes) continue;
      const problem = record.assemble((hash) => this.#parts.blobs.get(hash));
      if (problem) this.#parts.drops.count(problem);
      if (!record.isWaitingForPages()) this.#records.update(record, 'news');
    }
  }

  /** Returns the names of missing blobs, each with a hub that announces the blob. */
  missingBlobs(): ReadonlyMap<string, HubId> {
    const missing = new Map<string, HubId>();
    for (const id of this.#unchecked) {
      const record = this.#records.get(id);
      const names = record && !record.hasLeft ? blobNames(record).filter((name) => !this.#parts.blobs.has(name)) : [];
      if (names.length === 0) this.#unchecked.delete(id);
      for (const name of names) if (!missing.has(name)) missing.set(name, id);
    }
    return missing;
  }

  /** Returns the short names of the blobs in all records of other hubs, even hubs that left. Returns the same object until a change. */
  usedBlobs(): ReadonlySet<string> {
    this.#used ??= new Set(this.#records.others().flatMap((record) => blobNames(record).map(shortName)));
    return this.#used;
  }

  /** For each hub, including this one, returns the newest version up to which no announcement is missing. */
  vector(): VersionVector {
    return this.#records.all().map(({ id, completeVersion: { epoch, sequence } }) => ({ hubId: id, epoch, sequence }));
  }

  /** Returns envelopes that a hub with this version vector lacks. The total is at most `maxBytes`, unless the first record is longer. */
  envelopesBeyond(vector: VersionVector, maxBytes: number): readonly Uint8Array[] {
    const theirs = new Map(vector.map((version) => [version.hubId, version]));
    const missing: Uint8Array[] = [];
    let bytes = 0;
    for (const record of this.#records.all()) {
      const envelopes = record.envelopesSince(theirs.get(record.id));
      bytes += envelopes.reduce((sum, { length }) => sum + length, 0);
      if (bytes > maxBytes && missing.length > 0) break;
      missing.push(...envelopes);
    }
    return missing;
  }

  /** Returns the announcements of a hub, from oldest to newest, as the hub has signed them. */
  envelopesOf(id: HubId): readonly Uint8Array[] {
    return this.#records.get(id)?.envelopesSince(undefined) ?? [];
  }

  /** Returns the names of the pages in a hub's announced state. */
  pagesOf(id: HubId): readonly string[] {
    return this.#records.get(id)?.pages() ?? [];
  }

  /** Returns whether the version vector shows that this hub lacks announcements. */
  isBehind(vector: VersionVector): boolean {
    return vector.some(
      (version) => isNewer(version, this.#records.get(version.hubId)?.completeVersion) && !this.#records.isBuried(version.hubId, version),
    );
  }

  /** Updates the freshness of all hubs and deletes old records. If blobs were removed, marks all hubs so that their blobs are checked. */
  sweep(): void {
    this.#records.sweep();
    // Another hub may announce the removed blob too. While the blob was this hub's own, this hub did not fetch it from the other hub.
    if (this.#parts.blobs.losses === this.#lossesSeen) return;
    this.#lossesSeen = this.#parts.blobs.losses;
    this.#uncheckAll();
  }

  /** Deletes hubs whose certificates are no longer valid. Marks all other hubs, so that their blobs are checked. */
  recheck(): void {
    for (const record of this.#records.others()) {
      if (this.#isStillMember(record)) continue;
      this.#parts.drops.count('not_a_member');
      this.#records.remove(record);
    }
    this.#uncheckAll();
  }

  onChange(listener: (change: DirectoryChange) => void): () => void {
    return this.#records.onChange(listener);
  }

  /** Calls the listener if this hub lacks an announcement that the hub `from` has. Returns a function that ends the calls. */
  onBehind(listener: (from: HubId) => void): () => void {
    this.#behindListeners.add(listener);
    return () => this.#behindListeners.delete(listener);
  }

  /** Calls the listener if this hub receives an announcement of its own that is newer than its last one, as after a loss of its data. */
  onSuperseded(listener: (version: AnnouncementVersion) => void): () => void {
    this.#supersededListeners.add(listener);
    return () => this.#supersededListeners.delete(listener);
  }

  #uncheckAll(): void {
    for (const { id, hasLeft } of this.#records.others()) if (!hasLeft) this.#unchecked.add(id);
  }

  #isStillMember({ id, certificate }: HubRecord): boolean {
    try {
      return this.#parts.certificates.admit(certificate).hubId === id;
    } catch (error) {
      if (error instanceof AtmoError) return false;
      throw error;
    }
  }

  #drop(reason: DropReason, from: HubId): GossipVerdict {
    this.#parts.drops.count(reason);
    if (reason === 'unknown_origin' || reason === 'gap') this.#emitBehind(from);
    // The gap may exist only on this hub, so the announcement is accepted and forwarded to other hubs.
    if (reason === 'gap') return 'accept';
    return FAULTS_OF_NEIGHBOUR.has(reason) ? 'reject' : 'ignore';
  }

  #emitBehind(from: HubId): void {
    for (const listener of this.#behindListeners) listener(from);
  }

  #receiveOwn({ epoch, sequence }: AnnouncementVersion): GossipVerdict {
    for (const listener of this.#supersededListeners) listener({ epoch, sequence });
    return 'ignore';
  }

  /** Returns whether the announcement names another site. One that names no capabilities leaves the site as it is. */
  #isOfOtherSite(announcement: Announcement): boolean {
    const { site } = this.#parts;
    const named = announcement.kind === 'delta' ? announcement.changes.capabilities : undefined;
    const capabilities = announcement.kind === 'full' ? announcement.state.capabilities : named;
    return site !== undefined && capabilities !== undefined && siteOf(capabilities) !== site;
  }

  #excess({ announcement, envelope }: ValidAnnouncement): DropReason | undefined {
    const isNew = !this.#records.get(announcement.hubId);
    if (isNew && this.#records.size >= this.#limits.maxHubs && !this.#records.makeRoom()) return 'too_many_hubs';
    const isSmall = announcement.kind === 'heartbeat' || announcement.kind === 'withdrawal';
    return isSmall || this.bytes + envelope.length <= this.#limits.maxBytes ? undefined : 'out_of_memory';
  }

  #apply({ announcement, envelope, key }: ValidAnnouncement): AnnouncementEffect {
    const { self, blobs, clock, steps = STATE_TRANSITIONS } = this.#parts;
    const moment = { monotonicMs: clock.monotonic(), wallMs: clock.now() };
    // The record of this hub gets no pages, so that its state is not assembled. Nothing reads that state, and assembling it takes long.
    const pageOf = (hash: string) => (announcement.hubId === self ? undefined : blobs.get(hash));
    const known = this.#records.get(announcement.hubId);
    if (!known) {
      if (announcement.kind !== 'full') {
        this.#records.exhume(announcement.hubId);
        return 'unknown_origin';
      }
      const record = new HubRecord({ announcement, envelope }, key, { moment, steps });
      const problem = record.assemble(pageOf);
      if (!problem) this.#records.update(record, 'news');
      return problem ?? 'news';
    }
    const effect = known.apply({ announcement, envelope }, { moment, pageOf, maxChanges: this.#limits.maxChanges });
    this.#records.update(known, announcement.kind === 'full' || announcement.kind === 'delta' ? 'news' : 'state');
    return effect;
  }
}

function blobNames(record: HubRecord): readonly string[] {
  return [...record.pages(), ...(record.state?.tools ?? []).map(({ hash }) => hash)];
}
