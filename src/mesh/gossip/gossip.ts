import type { KeyObject } from 'node:crypto';
import type { CertificateChain } from '../../codec/messages/membership.ts';
import type { Clock } from '../../core/clock.ts';
import type { EventBus } from '../../core/events.ts';
import type { HubId } from '../../core/ids.ts';
import { type Service, ServiceStack } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import type { PeerLinks } from '../rpc/peer-link.ts';
import type { MeshEngine } from '../transport/mesh-engine.ts';
import type { MemberCertificates, OpenEnvelope } from './announcement-validator.ts';
import { AnnouncedEpoch } from './announcement-version.ts';
import { Announcer } from './announcer.ts';
import { AntiEntropy } from './anti-entropy.ts';
import { BlobExchange } from './blob-exchange.ts';
import { BlobStore } from './blob-store.ts';
import { DefinitionStore, prepareOffers } from './definition-store.ts';
import { COALESCE_LINKS_MS, DropCounter, type GossipLimits } from './gossip-limits.ts';
import type { StateTransitions } from './hub-record.ts';
import type { HubDirectory } from './known-hub.ts';
import { MeshCatalogue } from './mesh-catalogue.ts';
import { MeshDirectory } from './mesh-directory.ts';
import { MeshPeers } from './mesh-peers.ts';
import { type OwnStateOptions, type OwnStateSources, ownState } from './own-state.ts';
import { StatementExchange, type StatementSource } from './statement-exchange.ts';
import { Ticker } from './timers.ts';

interface GossipCollaborators extends Omit<OwnStateSources, 'links'> {
  readonly hub: { readonly hubId: HubId; readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  readonly engine: Pick<MeshEngine, 'publish' | 'onGossip'>;
  readonly links: PeerLinks;
  readonly meshId: () => string | undefined;
  /** This hub's own certificate as it is now. */
  readonly certificate: () => CertificateChain;
  readonly certificates: MemberCertificates;
  /** What is true for good and has to reach every hub: revocations. */
  readonly statements: readonly StatementSource[];
  readonly validator: SchemaValidator;
  readonly store: KeyValueStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly random?: (() => number) | undefined;
  /** Another way to verify announcements, such as one that remembers what it verified. */
  readonly open?: OpenEnvelope | undefined;
  /** Another way to come to states, such as one that remembers them. */
  readonly steps?: StateTransitions | undefined;
}

interface GossipOptions extends OwnStateOptions {
  readonly limits?: Partial<GossipLimits>;
}

const SWEEP_MS = 10_000;
/** Certificates end by time too; once in so many sweeps they are looked at again. */
const SWEEPS_PER_RECHECK = 30;

/** All by which hubs know of each other: what this one announces, and what is known of the others. */
export class Gossip implements Service {
  readonly drops = new DropCounter();
  readonly directory: MeshDirectory;
  readonly catalogue: MeshCatalogue;
  readonly peers: MeshPeers;
  readonly announcer: Announcer;
  readonly statements: StatementExchange;
  readonly #parts: GossipCollaborators;
  readonly #blobs = new BlobStore();
  readonly #definitions: DefinitionStore;
  readonly #blobExchange: BlobExchange;
  readonly #antiEntropy: AntiEntropy;
  readonly #sweeps: Ticker;
  readonly #services = new ServiceStack();
  #listening: (() => void)[] = [];
  #sweepCount = 0;
  #wasOnline = true;

  constructor(parts: GossipCollaborators, { limits = {}, ...options }: GossipOptions) {
    const { hub, links, clock, validator, logger, engine, store } = parts;
    this.#parts = parts;
    const isLinked = (id: HubId) => links.to(id) !== undefined;
    const hasWay = (id: HubId) => this.peers.routeTo(id) !== undefined;
    this.directory = new MeshDirectory(
      {
        certificates: parts.certificates,
        blobs: this.#blobs,
        drops: this.drops,
        clock,
        open: parts.open,
        steps: parts.steps,
        self: hub.hubId,
        isLinked,
        hasWay,
      },
      limits,
    );
    const { directory } = this;
    const onNext = () => this.catalogue.readSome();
    this.#definitions = new DefinitionStore({ blobs: this.#blobs, validator, drops: this.drops, logger, turns: { clock, onNext } });
    this.catalogue = new MeshCatalogue({ directory, definitions: this.#definitions, clock });
    this.peers = new MeshPeers({
      meshId: parts.meshId,
      links,
      blobs: this.#blobs,
      clock,
      self: hub.hubId,
      directory,
    });
    this.#blobExchange = new BlobExchange({
      links,
      blobs: this.#blobs,
      drops: this.drops,
      clock,
      directory,
      onArrived: () => this.catalogue.refresh(),
    });
    this.#antiEntropy = new AntiEntropy({ links, clock, random: parts.random, directory });
    this.statements = new StatementExchange({
      links,
      drops: this.drops,
      clock,
      logger,
      random: parts.random,
      sources: parts.statements,
      onNews: () => directory.recheck(),
    });
    const neighbours = () => links.links().map(({ peer }) => peer.id);
    this.announcer = new Announcer({
      hub: parts.hub,
      certificate: parts.certificate,
      blobs: this.#blobs,
      clock,
      logger,
      random: parts.random,
      directory,
      epoch: new AnnouncedEpoch({ store, clock }),
      state: () => (prepareOffers(parts.registry.all()) ? ownState({ ...parts, links: neighbours }, options) : undefined),
      publish: (envelope) => engine.publish(envelope),
    });
    this.#sweeps = new Ticker({ clock }, SWEEP_MS);
  }

  /** After the links, before the engine connects. STORAGE_FAILED. */
  async start(): Promise<void> {
    const { engine, registry, devices, links, events } = this.#parts;
    engine.onGossip((message, from) => this.directory.receive(message, from));
    for (const service of [this.#blobExchange, this.#antiEntropy, this.statements, this.announcer]) await this.#services.start(service);
    const changed = () => this.announcer.changed();
    const rewired = () => {
      this.directory.sweep();
      this.announcer.changed(COALESCE_LINKS_MS);
    };
    this.#listening = [
      registry.onChange(changed),
      devices.onChange(changed),
      links.onLinkUp(rewired),
      links.onLinkDown(rewired),
      emitPeerChanges(this.directory, events),
    ];
    this.#sweeps.start(() => this.#sweep());
  }

  /** Says goodbye; before the engine goes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#sweeps.stop();
    this.#definitions.stop();
    for (const stop of this.#listening) stop();
    this.#listening = [];
    await this.#services[Symbol.asyncDispose]();
  }

  /** Pages and definitions that were announced and are not here yet. */
  missingBlobs(): number {
    return this.directory.missingBlobs().size;
  }

  #sweep(): void {
    this.#sweepCount += 1;
    const isOnline = this.#parts.isOnline();
    if (isOnline !== this.#wasOnline) this.announcer.changed();
    this.#wasOnline = isOnline;
    if (this.#sweepCount % SWEEPS_PER_RECHECK === 0) this.directory.recheck();
    this.directory.sweep();
    this.#blobExchange.sweep();
    this.#definitions.retain(this.directory.usedBlobs());
  }
}

/** Tells the coming and going of hubs, and what changes of them, as `peer.changed`; the answer stops it. */
function emitPeerChanges(directory: HubDirectory, events: EventBus): () => void {
  return directory.onChange(({ hub, kind }) => {
    const known = directory.hub(hub);
    const facts = known && { name: known.name, state: known.state, tools: known.tools.length, devices: known.devices.length };
    events.emit('peer.changed', hub, { change: kind, ...facts });
  });
}
