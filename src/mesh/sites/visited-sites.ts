import type { SiteLookupAnswer } from '../../codec/messages/site.ts';
import { decodeBlobAnswer } from '../../codec/messages/sync.ts';
import type { Clock } from '../../core/clock.ts';
import type { HubId } from '../../core/ids.ts';
import { type BlobStore, blobOf } from '../gossip/blob-store.ts';
import type { GossipLimits } from '../gossip/gossip-limits.ts';
import type { DirectoryChange, HubDirectory, KnownHub } from '../gossip/known-hub.ts';

/** Directory of the hubs of one visited site. */
interface SiteDirectory extends HubDirectory {
  /** Estimated size, in bytes, of the records of the hubs, without blobs. */
  readonly bytes: number;
  /** Validates and records an announcement. */
  receive(envelope: Uint8Array, from: HubId): unknown;
  /** Assembles the states that waited for pages. */
  assemble(): void;
  /** Returns the names of missing blobs, each with a hub that announces the blob. */
  missingBlobs(): ReadonlyMap<string, HubId>;
  usedBlobs(): ReadonlySet<string>;
  sweep(): void;
  recheck(): void;
}

interface VisitedSitesCollaborators {
  readonly blobs: BlobStore;
  readonly clock: Clock;
  /** Makes an empty directory for the hubs of one site. It drops announcements of hubs of any other site. */
  readonly makeDirectory: (site: string) => SiteDirectory;
}

interface VisitedSite {
  readonly directory: SiteDirectory;
  readonly sinceMs: number;
  usedMs: number;
}

/** Hex digits in the names of definitions and of pages. */
const BLOB_NAME_DIGITS = [16, 32] as const;
/** Limits of the directory of one visited site. */
export const VISITED_LIMITS: Partial<GossipLimits> = { maxHubs: 64, maxBytes: 4 * 1_048_576 };
/** Maximum number of visited sites. The one that was not used for the longest time is forgotten first. */
const MAX_VISITED = 8;
/** Age at which the hubs of a visited site are forgotten, in milliseconds. After 300 s, their announcements would count as too old. */
const KEEP_MS = 240_000;

/** Directories of the hubs of other sites that lookups have found. Each hub is known from its own signed announcements. */
export class VisitedSites implements HubDirectory {
  readonly #parts: VisitedSitesCollaborators;
  readonly #sites = new Map<string, VisitedSite>();
  readonly #listeners = new Set<(change: DirectoryChange) => void>();
  /** Cached result of `hubs`; undefined after a change. */
  #hubs: readonly KnownHub[] | undefined = [];

  constructor(parts: VisitedSitesCollaborators) {
    this.#parts = parts;
  }

  hubs(): readonly KnownHub[] {
    this.#hubs ??= [...this.#sites.values()].flatMap(({ directory }) => directory.hubs());
    return this.#hubs;
  }

  hub(id: HubId): KnownHub | undefined {
    for (const { directory } of this.#sites.values()) {
      const hub = directory.hub(id);
      if (hub) return hub;
    }
    return undefined;
  }

  onChange(listener: (change: DirectoryChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Estimated size of the directories in bytes, without blobs. */
  get bytes(): number {
    return [...this.#sites.values()].reduce((sum, { directory }) => sum + directory.bytes, 0);
  }

  usedBlobs(): ReadonlySet<string> {
    return new Set([...this.#sites.values()].flatMap(({ directory }) => [...directory.usedBlobs()]));
  }

  /** Records the hubs of an answer. `from` is the neighbour that sent it. */
  record(site: string, { envelopes, blobs }: SiteLookupAnswer, from: HubId): void {
    const visited = this.#visit(site);
    for (const envelope of envelopes) visited.directory.receive(envelope, from);
    const missing = new Map(visited.directory.missingBlobs());
    for (const bytes of blobs.flatMap((answer) => decodeBlobAnswer(answer).blobs)) {
      const blob = blobOf(bytes ?? new Uint8Array());
      const name = BLOB_NAME_DIGITS.map((digits) => blob.sha256.slice(0, digits)).find((wanted) => missing.has(wanted));
      if (name !== undefined) this.#parts.blobs.add(blob, missing.get(name));
    }
    visited.directory.assemble();
  }

  /** Updates the freshness of the hubs, and forgets sites that were visited too long ago. */
  sweep(): void {
    const nowMs = this.#parts.clock.monotonic();
    for (const [site, { directory, sinceMs }] of this.#sites) {
      if (nowMs - sinceMs >= KEEP_MS) this.forget(site);
      else directory.sweep();
    }
  }

  recheck(): void {
    for (const { directory } of this.#sites.values()) directory.recheck();
  }

  forget(site: string): void {
    const hubs = this.#sites.get(site)?.directory.hubs() ?? [];
    this.#sites.delete(site);
    for (const { id } of hubs) this.#emit({ hub: id, kind: 'removed' });
  }

  #visit(site: string): VisitedSite {
    const nowMs = this.#parts.clock.monotonic();
    const known = this.#sites.get(site);
    if (known) {
      known.usedMs = nowMs;
      return known;
    }
    const [longest] = [...this.#sites].sort(([, a], [, b]) => a.usedMs - b.usedMs);
    if (this.#sites.size >= MAX_VISITED && longest) this.forget(longest[0]);
    const directory = this.#parts.makeDirectory(site);
    directory.onChange((change) => this.#emit(change));
    const visited = { directory, sinceMs: nowMs, usedMs: nowMs };
    this.#sites.set(site, visited);
    return visited;
  }

  #emit(change: DirectoryChange): void {
    this.#hubs = undefined;
    for (const listener of this.#listeners) listener(change);
  }
}
