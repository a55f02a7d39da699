import { repeat } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import type { HubId } from '../../core/ids.ts';
import { type Service, ServiceStack } from '../../core/lifecycle.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import type { PeerLinks } from '../rpc/peer-link.ts';
import { Sites, type SitesCollaborators } from '../sites/sites.ts';
import type { MeshEngine } from '../transport/mesh-engine.ts';
import { Announcer, type AnnouncerCollaborators } from './announcer.ts';
import { AntiEntropy } from './anti-entropy.ts';
import { BlobExchange } from './blob-exchange.ts';
import { BlobStore } from './blob-store.ts';
import { DefinitionStore, prepareOffers } from './definition-store.ts';
import { COALESCE_LINKS_MS, DropCounter, GOSSIP_LIMITS, type GossipLimits } from './gossip-limits.ts';
import { AnnouncedEpoch, type CertificateVerifier, type MemberCertificates } from './hub-record.ts';
import { type DirectoryChange, type HubDirectory, JoinedDirectory } from './known-hub.ts';
import { MeshCatalogue } from './mesh-catalogue.ts';
import { type DirectoryCollaborators, MeshDirectory } from './mesh-directory.ts';
import { MeshPeers } from './mesh-peers.ts';
import { type OwnStateOptions, type OwnStateSources, ownState } from './own-state.ts';
import { StatementExchange, type StatementSource } from './statement-exchange.ts';

interface GossipCollaborators
  extends Omit<OwnStateSources, 'links'>,
    Pick<HubContext, 'clock' | 'logger' | 'events' | 'store'>,
    Pick<AnnouncerCollaborators, 'hub' | 'certificate' | 'random'>,
    Pick<DirectoryCollaborators, 'certificates' | 'open' | 'steps'>,
    Pick<SitesCollaborators, 'time' | 'connect' | 'openSummary'> {
  readonly engine: Pick<MeshEngine, 'publish' | 'onGossip'>;
  readonly links: PeerLinks;
  readonly meshId: () => string | undefined;
  /** Sources of the signed statements that every hub must receive, such as revocations. */
  readonly statements: readonly StatementSource[];
  readonly validator: SchemaValidator;
  /** Verifies the certificates of hubs of other sites. Unlike `certificates`, it stores none of them. */
  readonly visitors: MemberCertificates & CertificateVerifier;
}

interface GossipOptions extends OwnStateOptions {
  readonly limits?: Partial<GossipLimits>;
}

const SWEEP_MS = 10_000;
/** Number of sweeps between two checks of certificates. Certificates are checked again because no event reports their expiry. */
const SWEEPS_PER_RECHECK = 30;

/** Announces this hub to the other hubs and stores their announcements. */
export class Gossip implements Service {
  readonly drops = new DropCounter();
  readonly directory: MeshDirectory;
  readonly catalogue: MeshCatalogue;
  readonly peers: MeshPeers;
  readonly announcer: Announcer;
  readonly statements: StatementExchange;
  /** Other sites of the mesh; undefined if this hub has no site. */
  readonly sites: Sites | undefined;
  /** Hubs of this site, and hubs of other sites that lookups have found. */
  readonly hubs: HubDirectory;
  readonly #parts: GossipCollaborators;
  readonly #definitions: DefinitionStore;
  readonly #blobExchange: BlobExchange;
  readonly #antiEntropy: AntiEntropy;
  readonly #services = new ServiceStack();
  #listening: (() => void)[] = [];
  #sweepCount = 0;
  #wasOnline = true;

  constructor(parts: GossipCollaborators, { limits = {}, ...options }: GossipOptions) {
    const { hub, links, clock, validator, logger, engine, store, random, meshId, certificate, certificates, open, steps } = parts;
    const { registry, devices, capabilities, isOnline, addresses } = parts;
    const { drops } = this;
    const blobs = new BlobStore({ maxBytes: limits.maxBlobBytes ?? GOSSIP_LIMITS.maxBlobBytes });
    const self = hub.hubId;
    this.#parts = parts;
    const isLinked = (id: HubId) => links.to(id) !== undefined;
    const hasRoute = (id: HubId) => this.peers.routeTo(id) !== undefined;
    const { site } = options;
    const directory = new MeshDirectory({ self, site, certificates, blobs, drops, clock, open, steps, isLinked, hasRoute }, limits);
    this.directory = directory;
    this.sites = site === undefined ? undefined : this.#makeSites(site, blobs, options);
    const sites = this.sites;
    this.hubs = sites ? new JoinedDirectory(directory, sites.visited) : directory;
    const turns = { clock, onNext: () => this.catalogue.readSome() };
    this.#definitions = new DefinitionStore({ blobs, validator, drops, logger, turns });
    this.catalogue = new MeshCatalogue({ directory: this.hubs, definitions: this.#definitions, clock, sites });
    this.peers = new MeshPeers({ self, meshId, links, blobs, clock, directory: this.hubs, sites });
    this.#blobExchange = new BlobExchange({ links, blobs, drops, clock, directory, onArrived: () => this.catalogue.refresh() });
    const isPartner = (id: HubId) => sites?.isNeighbourOfSite(id) ?? true;
    this.#antiEntropy = new AntiEntropy({ links, clock, random, directory, isPartner });
    const onNews = () => this.recheck();
    this.statements = new StatementExchange({ links, drops, clock, logger, random, sources: parts.statements, onNews });
    const neighbours = () => links.links().map(({ peer }) => peer.id);
    this.announcer = new Announcer({
      hub,
      certificate,
      blobs,
      clock,
      logger,
      random,
      directory,
      epoch: new AnnouncedEpoch({ store, clock }),
      state: () => {
        const sources = { registry, devices, capabilities, isOnline, addresses, links: neighbours };
        return prepareOffers(registry.all()) ? ownState(sources, options) : undefined;
      },
      publish: (envelope) => {
        this.sites?.ownStateChanged();
        return engine.publish(envelope);
      },
    });
  }

  /** Starts gossip. Call it after the links have started and before the engine connects. Rejects with STORAGE_FAILED if the disk fails. */
  async start(): Promise<void> {
    const { engine, registry, devices, links, clock } = this.#parts;
    engine.onGossip((message, from) => this.directory.receive(message, from));
    const services = [this.#blobExchange, this.#antiEntropy, this.statements, ...(this.sites ? [this.sites] : []), this.announcer];
    for (const service of services) await this.#services.start(service);
    const changed = () => this.announcer.changed();
    const linksChanged = () => {
      this.directory.sweep();
      this.announcer.changed(COALESCE_LINKS_MS);
    };
    this.#listening = [
      registry.onChange(changed),
      devices.onChange(changed),
      links.onLinkUp(linksChanged),
      links.onLinkDown(linksChanged),
      this.hubs.onChange((change) => this.#emitPeerChange(change)),
      this.sites?.onNeighbourOfSite((id) => this.#antiEntropy.compare(id)) ?? (() => {}),
      repeat(clock, SWEEP_MS, () => this.#sweep()),
    ];
  }

  /** Announces that this hub leaves, and stops gossip. Must be called while the engine still runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#definitions.stop();
    for (const stop of this.#listening) stop();
    this.#listening = [];
    await this.#services[Symbol.asyncDispose]();
  }

  #sweep(): void {
    this.#sweepCount += 1;
    const isOnline = this.#parts.isOnline();
    if (isOnline !== this.#wasOnline) this.announcer.changed();
    this.#wasOnline = isOnline;
    if (this.#sweepCount % SWEEPS_PER_RECHECK === 0) this.recheck();
    this.directory.sweep();
    this.sites?.sweep();
    const used = this.#usedBlobs();
    this.#blobExchange.sweep(used);
    this.#definitions.retain(used);
  }

  /** Forgets the hubs, and the summaries of hubs, whose certificates are no longer valid. */
  recheck(): void {
    this.directory.recheck();
    this.sites?.recheck();
  }

  /** Returns the short names of the blobs that records of other hubs need. Returns the same object until a change. */
  #usedBlobs(): ReadonlySet<string> {
    const visited = this.sites?.visited.usedBlobs();
    return visited && visited.size > 0 ? this.directory.usedBlobs().union(visited) : this.directory.usedBlobs();
  }

  #makeSites(site: string, blobs: BlobStore, { isRelay = true }: Pick<GossipOptions, 'isRelay'>): Sites {
    const { directory, drops } = this;
    const { hub, links, clock, time, logger, certificate, visitors, open, steps, openSummary, addresses, connect } = this.#parts;
    return new Sites(site, {
      hub,
      isRelay,
      certificate,
      epoch: () => this.announcer.epoch,
      directory,
      announced: () => this.announcer.announced,
      addresses,
      links,
      blobs,
      drops,
      clock,
      time,
      logger,
      certificates: visitors,
      open,
      steps,
      openSummary,
      nextHop: (id) => this.peers.routeTo(id)?.nextHop,
      connect,
      random: this.#parts.random ?? Math.random,
    });
  }

  #emitPeerChange({ hub, kind }: DirectoryChange): void {
    const known = this.hubs.hub(hub);
    const facts = known && { name: known.name, state: known.state, tools: known.tools.length, devices: known.devices.length };
    this.#parts.events.emit('peer.changed', hub, { change: kind, ...facts });
  }
}
