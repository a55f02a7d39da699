import { hash, type KeyObject } from 'node:crypto';
import type { HubState } from '../../codec/messages/announced-state.ts';
import type { CertificateChain } from '../../codec/messages/membership.ts';
import { lookupAnswerCodec } from '../../codec/messages/site.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import { selectNeighbours } from '../discovery/neighbour-choice.ts';
import type { KnownAddresses } from '../discovery/peer-addresses.ts';
import type { BlobStore } from '../gossip/blob-store.ts';
import type { DropCounter } from '../gossip/gossip-limits.ts';
import type { CertificateVerifier } from '../gossip/hub-record.ts';
import { isPresent, type KnownHub, type OtherSites } from '../gossip/known-hub.ts';
import { type DirectoryCollaborators, MeshDirectory } from '../gossip/mesh-directory.ts';
import type { PeerLinks } from '../rpc/peer-link.ts';
import { type FoundHub, SiteLookups } from './site-lookups.ts';
import { wordsOf } from './site-words.ts';
import { SummaryExchange } from './summary-exchange.ts';
import { type SiteContent, SummaryPublisher } from './summary-publisher.ts';
import { type OpenSummary, SummaryStore } from './summary-store.ts';
import { VISITED_LIMITS, VisitedSites } from './visited-sites.ts';

/** Collaborators of the sites. */
export interface SitesCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'time'>, Pick<DirectoryCollaborators, 'open' | 'steps'> {
  /** Verifies certificates of hubs of other sites. Only those of hubs that were looked up are kept, not those of signers of summaries. */
  readonly certificates: DirectoryCollaborators['certificates'] & CertificateVerifier;
  readonly hub: { readonly hubId: HubId; readonly privateKey: KeyObject };
  /** Whether this hub forwards requests of other hubs, so that it can be a border member. */
  readonly isRelay: boolean;
  readonly certificate: () => CertificateChain;
  readonly epoch: () => number;
  /** Directory of this hub's own site. */
  readonly directory: MeshDirectory;
  /** Returns the state that this hub has announced last. */
  readonly announced: () => HubState | undefined;
  readonly addresses: () => readonly string[];
  readonly links: PeerLinks;
  readonly blobs: BlobStore;
  readonly drops: DropCounter;
  /** Returns the neighbour on the route to a hub of this site. */
  readonly nextHop: (id: HubId) => HubId | undefined;
  /** Connects to a border member of another site. */
  readonly connect: (id: HubId, signal: AbortSignal) => Promise<void>;
  readonly openSummary?: OpenSummary | undefined;
  readonly random: () => number;
}

/** Another site, as its border members describe it. */
export interface SiteView {
  readonly site: string;
  readonly borders: readonly HubId[];
  /** Number of hubs in the site. */
  readonly hubs: number;
}

/** Number of border members of a site. If one is lost, the other one still forwards. */
const BORDERS = 2;
/** After a start, other hubs of the site need this number of milliseconds to become known, and with them the border members. */
const SETTLE_MS = 10_000;
/** Maximum number of sites that one search asks. */
const MAX_ASKED = 8;
/** Milliseconds for which the answer to a lookup is used again. */
const FRESH_MS = 30_000;
const MAX_RECENT = 512;

/**
 * The sites of a mesh. Hubs of one site gossip with each other only. Border members of each site exchange signed summaries with those of
 * other sites, and every hub stores the summaries. When somebody looks for something that a summary may contain, the hub asks that site.
 */
export class Sites implements Service, OtherSites {
  readonly site: string;
  readonly summaries: SummaryStore;
  readonly visited: VisitedSites;
  readonly #parts: SitesCollaborators;
  readonly #exchange: SummaryExchange;
  readonly #publisher: SummaryPublisher;
  readonly #lookups: SiteLookups;
  /** Sites of the connected hubs, as these hubs say. */
  readonly #peerSites = new Map<HubId, string>();
  readonly #peerListeners = new Set<(id: HubId) => void>();
  readonly #changeListeners = new Set<() => void>();
  readonly #words = new Map<
    HubId,
    { readonly of: Pick<KnownHub, 'tools' | 'devices' | 'capabilities' | 'name'>; readonly words: ReadonlySet<string> }
  >();
  /** Lookups of the last seconds by site and words, oldest first. */
  readonly #recent = new Map<string, { readonly atMs: number; readonly done: Promise<void> }>();
  #borders: readonly HubId[] | undefined;
  #isSettled = false;
  #stops: (() => void)[] = [];

  constructor(site: string, parts: SitesCollaborators) {
    const { hub, links, blobs, drops, clock, time, random, directory, certificates, openSummary: open } = parts;
    const self = hub.hubId;
    this.site = site;
    this.#parts = parts;
    const isOfOwnSite = (id: HubId) => id === self || directory.hub(id) !== undefined;
    const summaries = new SummaryStore({ site, certificates, isOfOwnSite, clock, time, open });
    this.summaries = summaries;
    const makeDirectory = (visited: string) =>
      new MeshDirectory(
        {
          self,
          site: visited,
          certificates,
          blobs,
          drops,
          clock,
          open: parts.open,
          steps: parts.steps,
          isLinked: (id) => links.to(id) !== undefined,
          // The summary of the site, and not its link states, shows that the site is there.
          hasRoute: () => true,
        },
        VISITED_LIMITS,
      );
    this.visited = new VisitedSites({ blobs, clock, makeDirectory });
    const onSite = (id: HubId, named: string) => this.#noteSite(id, named);
    this.#exchange = new SummaryExchange({ site, links, summaries, drops, clock, random, onSite, onNews: () => this.#emitChange() });
    this.#publisher = new SummaryPublisher({
      site,
      hub,
      certificate: parts.certificate,
      epoch: parts.epoch,
      content: () => this.#content(),
      clock,
      time,
      random,
      publish: (summary, envelope) => this.#exchange.offer([summaries.recordOwn(summary, envelope)]),
    });
    this.#lookups = new SiteLookups({
      site,
      links,
      blobs,
      clock,
      hubs: () => this.#foundHubs(),
      hopsTo: (other) => this.hopsTo(other),
      connect: parts.connect,
    });
  }

  async start(): Promise<void> {
    const { directory, links, clock } = this.#parts;
    this.#lookups.listen();
    await this.#exchange.start();
    this.#stops = [
      directory.onChange(({ hub, kind }) => {
        if (kind === 'removed') this.#words.delete(hub);
        this.#review();
      }),
      links.onLinkUp(() => this.#review()),
      links.onLinkDown(({ peer }) => {
        this.#peerSites.delete(peer.id);
        this.#review();
      }),
      clock.after(SETTLE_MS, () => {
        this.#isSettled = true;
        this.#publisher.changed('soon');
      }),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.#publisher[Symbol.dispose]();
    await this.#exchange[Symbol.asyncDispose]();
  }

  /** Must be called when this hub has announced another state. */
  ownStateChanged(): void {
    this.#publisher.changed('soon');
  }

  /** Returns the border members of this hub's site; the first one makes the summary. */
  borders(): readonly HubId[] {
    this.#borders ??= chooseBorders(this.site, this.#candidates());
    return this.#borders;
  }

  isBorder(): boolean {
    return this.borders().includes(this.#parts.hub.hubId);
  }

  /** Returns whether a connected hub has said that it is of this hub's site. */
  isNeighbourOfSite(id: HubId): boolean {
    return this.#peerSites.get(id) === this.site;
  }

  /** Returns whether a hub is known to be of another site. */
  isElsewhere(id: HubId): boolean {
    if (this.#parts.directory.hub(id)) return false;
    const named = this.#peerSites.get(id);
    if (named !== undefined) return named !== this.site;
    return this.visited.hub(id) !== undefined || this.summaries.borders().has(id);
  }

  siteOf(id: HubId): string | undefined {
    return this.#parts.directory.hub(id) ? undefined : this.visited.hub(id)?.site;
  }

  /** Returns the other sites, sorted by name. */
  views(): readonly SiteView[] {
    const views = [...this.summaries.others()].map(([site, summaries]) => ({
      site,
      borders: this.#bordersOf(site).map(({ id }) => id),
      hubs: summaries[0]?.hubs ?? 0,
    }));
    return views.sort((a, b) => (a.site < b.site ? -1 : 1));
  }

  /** Returns the border members of the neighbouring sites, if this hub is a border member and should be connected to them. */
  wantedPeers(): readonly KnownAddresses[] {
    if (!this.isBorder()) return [];
    const sites = selectNeighbours(this.site, this.summaries.others().keys());
    return [...sites].flatMap((site) => this.#bordersOf(site).slice(0, BORDERS));
  }

  /** Returns the border members of all other sites with their addresses. */
  addresses(): readonly KnownAddresses[] {
    return [...this.summaries.borders().values()];
  }

  hopsTo(site: string): readonly HubId[] {
    if (site === this.site) return [];
    const { hub, links, nextHop } = this.#parts;
    const theirs = this.#bordersOf(site).map(({ id }) => id);
    const linked = theirs.filter((id) => links.to(id));
    const ours = this.borders().filter((id) => id !== hub.hubId);
    const inside = ours.flatMap((id) => nextHop(id) ?? []);
    return [...new Set([...linked, ...(this.isBorder() ? theirs : []), ...inside])];
  }

  look(words: readonly string[], need: 'all' | 'most'): Promise<void> | undefined {
    const asked = this.#sitesWith(words, need);
    if (asked.length === 0) return undefined;
    return Promise.all(asked.map((site) => this.#ask(site, words))).then(() => undefined);
  }

  /** Calls the listener when a connected hub has said that it is of this hub's site. Returns a function that ends the calls. */
  onNeighbourOfSite(listener: (id: HubId) => void): () => void {
    this.#peerListeners.add(listener);
    return () => this.#peerListeners.delete(listener);
  }

  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  sweep(): void {
    this.summaries.sweep();
    this.visited.sweep();
  }

  /** Forgets the summaries and hubs whose certificates are no longer valid. */
  recheck(): void {
    this.summaries.recheck();
    this.visited.recheck();
  }

  /** Returns the hubs that can be border members: they forward requests, and announced connections lead to them. */
  #candidates(): readonly HubId[] {
    const { hub, isRelay, directory, nextHop } = this.#parts;
    const others = directory.hubs().filter((other) => isPresent(other) && !other.relaysNothing && nextHop(other.id) !== undefined);
    return [...(isRelay ? [hub.hubId] : []), ...others.map(({ id }) => id)];
  }

  #noteSite(id: HubId, site: string): void {
    const before = this.#peerSites.get(id);
    if (before === site || !this.#parts.links.to(id)) return;
    this.#peerSites.set(id, site);
    if (site === this.site) for (const listener of this.#peerListeners) listener(id);
  }

  /** Chooses the border members again. If others were chosen, a new first one makes its summary at once. */
  #review(): void {
    const before = String(this.#borders);
    this.#borders = undefined;
    const hasChanged = String(this.borders()) !== before;
    this.#publisher.changed(hasChanged ? 'at once' : 'soon');
    if (hasChanged) this.#emitChange();
  }

  #emitChange(): void {
    for (const listener of this.#changeListeners) listener();
  }

  #bordersOf(site: string): readonly KnownAddresses[] {
    const borders = new Map<HubId, KnownAddresses>();
    for (const summary of this.summaries.others().get(site) ?? []) {
      for (const border of summary.borders) if (!borders.has(border.id)) borders.set(border.id, border);
    }
    return [...borders.values()];
  }

  #sitesWith(words: readonly string[], need: 'all' | 'most'): readonly string[] {
    const counted = [...this.summaries.others().keys()].map((site) => ({
      site,
      count: words.filter((word) => this.summaries.mayHave(site, word)).length,
    }));
    const most = Math.max(0, ...counted.map(({ count }) => count));
    if (words.length === 0 || (need === 'all' ? most < words.length : 2 * most < words.length)) return [];
    const found = counted.filter(({ count }) => count === most).map(({ site }) => site);
    return found.sort().slice(0, MAX_ASKED);
  }

  #ask(site: string, words: readonly string[]): Promise<void> {
    const nowMs = this.#parts.clock.monotonic();
    const key = JSON.stringify([site, words]);
    const known = this.#recent.get(key);
    if (known && nowMs - known.atMs < FRESH_MS) return known.done;
    const done = this.#askNow(site, words).then((hasAnswered) => {
      if (!hasAnswered) this.#recent.delete(key);
    });
    this.#recent.delete(key);
    this.#recent.set(key, { atMs: nowMs, done });
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > MAX_RECENT && oldest !== undefined) this.#recent.delete(oldest);
    return done;
  }

  async #askNow(site: string, words: readonly string[]): Promise<boolean> {
    const answer = await this.#lookups.ask({ site, words: [...words] });
    if (!answer) return false;
    try {
      this.visited.record(site, lookupAnswerCodec.decode(answer.bytes), answer.from);
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#parts.drops.count('malformed');
      return false;
    }
    return true;
  }

  /** Returns the content of the site's summary, if this hub has to make it. */
  #content(): SiteContent | undefined {
    const { hub, directory, announced, addresses } = this.#parts;
    const own = announced();
    if (!own || !this.#isSettled || this.borders()[0] !== hub.hubId) return undefined;
    const hubs = directory.hubs().filter(isPresent);
    const words = new Set(this.#ownWords(own));
    for (const other of hubs) for (const word of this.#wordsOf(other)) words.add(word);
    const addressesOf = (id: HubId) => (id === hub.hubId ? addresses() : (directory.hub(id)?.addresses ?? []));
    const borders = this.borders().map((id) => ({ id, addresses: addressesOf(id) }));
    return { borders, hubs: hubs.length + 1, words };
  }

  #ownWords(own: HubState): ReadonlySet<string> {
    return wordsOf({ ...own, id: this.#parts.hub.hubId, devices: own.devices ?? [] });
  }

  #wordsOf(hub: KnownHub): ReadonlySet<string> {
    const { tools, devices, capabilities, name } = hub;
    const known = this.#words.get(hub.id);
    const isSame = known?.of.tools === tools && known.of.devices === devices;
    if (isSame && known.of.capabilities === capabilities && known.of.name === name) return known.words;
    const words = wordsOf(hub);
    this.#words.set(hub.id, { of: { tools, devices, capabilities, name }, words });
    return words;
  }

  #foundHubs(): readonly FoundHub[] {
    const { hub, directory, announced } = this.#parts;
    const own = announced();
    const others = directory.hubs().map((other) => this.#foundHub(other.id, this.#wordsOf(other), other.tools));
    return own ? [this.#foundHub(hub.hubId, this.#ownWords(own), own.tools), ...others] : others;
  }

  #foundHub(id: HubId, words: ReadonlySet<string>, tools: KnownHub['tools']): FoundHub {
    const { directory } = this.#parts;
    return {
      id,
      words,
      envelopes: () => directory.envelopesOf(id),
      blobs: () => [...directory.pagesOf(id), ...tools.map(({ hash }) => hash)],
    };
  }
}

/**
 * Returns the border members of a site, the first of which makes the site's summary. Each hub has a rank that depends only on its id and the
 * site (rendezvous hashing, Thaler and Ravishankar 1998), so hubs that know the same candidates choose the same ones, and the choice
 * changes only if a chosen hub leaves or one with a better rank comes.
 */
export function chooseBorders(site: string, candidates: readonly HubId[]): readonly HubId[] {
  const ranked = candidates.map((id) => ({ id, rank: hash('sha256', `${site}\n${id}`, 'hex') }));
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return ranked.slice(0, BORDERS).map(({ id }) => id);
}
