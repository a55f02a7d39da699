import type { AnnouncedCapability, AnnouncedTool } from '../../codec/messages/announced-state.ts';
import { compareText } from '../../core/edit-distance.ts';
import type { HubId } from '../../core/ids.ts';
import type { PeerDevice, PeerState } from '../../core/mesh-view.ts';

/** Port: what lookups have found in the other sites of the mesh, and the way there. */
export interface OtherSites {
  /** Returns the site of a hub that a lookup has found in another site. */
  siteOf(id: HubId): string | undefined;
  /** Returns the hubs to which requests for another site are sent, best first. A border member may have to connect to them first. */
  hopsTo(site: string): readonly HubId[];
  /**
   * Looks in the other sites for hubs with these words, if their summaries may have them. With `all`, a site is asked only if it may have
   * all words; with `most`, those sites are asked that may have the most, and at least half of them. Resolves when they have answered.
   */
  look(words: readonly string[], need: 'all' | 'most'): Promise<void> | undefined;
  /** Calls the listener when the summaries or border members may have changed. Returns a function that ends the calls. */
  onChange(listener: () => void): () => void;
}

/** Another hub, as its own signed announcements describe it. */
export interface KnownHub {
  readonly id: HubId;
  readonly name: string;
  readonly version: string;
  readonly state: PeerState;
  readonly epoch: number;
  /** Arrival of the hub's newest announcement, in milliseconds since 1970 by the clock of this hub. */
  readonly lastSeenMs: number;
  readonly addresses: readonly string[];
  readonly links: readonly HubId[];
  readonly capabilities: readonly AnnouncedCapability[];
  readonly features: readonly string[];
  /** Name of the hub's site; absent if it announces none. */
  readonly site?: string;
  /** Set if the hub has a site and forwards no requests of other hubs, so that it is no border member. */
  readonly relaysNothing?: true;
  /** Tools of the newest complete state. The array stays the same object while the tools do not change. */
  readonly tools: readonly AnnouncedTool[];
  readonly devices: readonly PeerDevice[];
  /** Set while a page of the newest state is missing. `tools` and `devices` then come from an earlier state, or are empty. */
  readonly lacksPages?: true;
  /** Set if the hub does not announce its devices. `devices` is then empty, although tools may belong to devices. */
  readonly hidesDevices?: true;
}

/** Change of the directory of hubs. */
export interface DirectoryChange {
  readonly hub: HubId;
  /** `news`: what the hub announces has changed. `state`: only `KnownHub.state`, which is the freshness, has changed. */
  readonly kind: 'added' | 'news' | 'state' | 'removed';
}

/** Port: read access to the other hubs. */
export interface HubDirectory {
  /** Returns the other hubs, sorted by id. */
  hubs(): readonly KnownHub[];
  hub(id: HubId): KnownHub | undefined;
  onChange(listener: (change: DirectoryChange) => void): () => void;
}

/** Two directories as one. If both have a hub, the first directory has the hub's present state. */
export class JoinedDirectory implements HubDirectory {
  readonly #first: HubDirectory;
  readonly #second: HubDirectory;
  #joined: { readonly of: readonly [readonly KnownHub[], readonly KnownHub[]]; readonly hubs: readonly KnownHub[] } | undefined;

  constructor(first: HubDirectory, second: HubDirectory) {
    this.#first = first;
    this.#second = second;
  }

  hubs(): readonly KnownHub[] {
    const [first, second] = [this.#first.hubs(), this.#second.hubs()];
    if (second.length === 0) return first;
    if (this.#joined?.of[0] === first && this.#joined.of[1] === second) return this.#joined.hubs;
    const hubs = [...first, ...second.filter(({ id }) => !this.#first.hub(id))].sort((a, b) => compareText(a.id, b.id));
    this.#joined = { of: [first, second], hubs };
    return hubs;
  }

  hub(id: HubId): KnownHub | undefined {
    return this.#first.hub(id) ?? this.#second.hub(id);
  }

  onChange(listener: (change: DirectoryChange) => void): () => void {
    const stops = [this.#first.onChange(listener), this.#second.onChange(listener)];
    return () => {
      for (const stop of stops) stop();
    };
  }
}

/** Returns whether the tools of a hub can be called. */
export function isPresent({ state }: Pick<KnownHub, 'state'>): boolean {
  return state === 'fresh' || state === 'stale';
}
