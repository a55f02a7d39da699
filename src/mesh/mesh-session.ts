import { createPublicKey } from 'node:crypto';
import type { JobStore } from '../calls/jobs/job-store.ts';
import type { MeshPorts } from '../calls/mesh-ports.ts';
import type { ToolCaller } from '../calls/request-and-answer.ts';
import type { ProtocolFeature } from '../codec/messages/announced-state.ts';
import type { CertificateChain } from '../codec/messages/membership.ts';
import type { Authenticator, Principal, TokenAuthority } from '../core/auth/principal.ts';
import type { HubContext } from '../core/context.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { HubEvent } from '../core/events.ts';
import type { HubId } from '../core/ids.ts';
import { type Service, ServiceStack } from '../core/lifecycle.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import { connectLink, DiallingRouter } from './dialling-router.ts';
import { ConnectionManager } from './discovery/connection-manager.ts';
import { DnsSd } from './discovery/dns-sd.ts';
import { hubService } from './discovery/hub-discovery.ts';
import { InterfaceWatch, ownAddresses } from './discovery/network-interfaces.ts';
import { Gossip } from './gossip/gossip.ts';
import type { GossipLimits } from './gossip/gossip-limits.ts';
import type { OwnStateSources } from './gossip/own-state.ts';
import type { StatementSource } from './gossip/statement-exchange.ts';
import { CertificateRenewal } from './membership/certificate-renewal.ts';
import type { Membership } from './membership/membership.ts';
import type { MeshSettings } from './mesh-control.ts';
import { ReasonCounter } from './reason-counter.ts';
import { CallClient } from './rpc/call-client.ts';
import { ControlLinks } from './rpc/control-links.ts';
import type { CallerTokens } from './rpc/routed-requests.ts';
import { RpcEndpoint } from './rpc/rpc-endpoint.ts';
import { type MeshEngine, parseHostPort } from './transport/mesh-engine.ts';

/** Parts of the hub that a mesh session needs. */
export interface MeshHub extends HubContext {
  readonly registry: ToolRegistry;
  readonly devices: DeviceDirectory;
  readonly capabilities: OwnStateSources['capabilities'];
  readonly isOnline: () => boolean;
  readonly validator: SchemaValidator;
  readonly pipeline: ToolCaller;
  readonly jobStore: JobStore;
  readonly authority: TokenAuthority;
  readonly validity: Pick<Authenticator, 'isStillValid'>;
  readonly tokens: CallerTokens;
  /** Token revocations, which this hub sends to every member. */
  readonly revocations: Pick<StatementSource, 'statements' | 'merge'> & { onRevoked(listener: () => void): () => void };
  readonly visibleEvents: (principal: Principal) => (event: HubEvent) => boolean;
}

/** Options of a mesh session. */
export interface MeshOptions extends MeshSettings {
  readonly name: string;
  readonly version: string;
  /** Bounds of what is kept about other hubs, where they differ from `GOSSIP_LIMITS`. */
  readonly limits?: Partial<GossipLimits>;
}

interface MeshSessionCollaborators {
  readonly hub: MeshHub;
  readonly membership: Membership;
  readonly engine: MeshEngine;
}

/** Runs everything that a member of a mesh needs, from the listening socket to the calls of other hubs. */
export class MeshSession implements Service {
  readonly ports: MeshPorts;
  readonly renewal: CertificateRenewal;
  readonly #parts: MeshSessionCollaborators;
  readonly #options: MeshOptions;
  /** Counts refused links and calls by reason. */
  readonly #drops = new ReasonCounter<string>();
  readonly #watch: InterfaceWatch;
  readonly #links: ControlLinks;
  readonly #gossip: Gossip;
  readonly #dnsSd: DnsSd | undefined;
  readonly #connections: ConnectionManager;
  readonly #endpoint: RpcEndpoint;
  readonly #stack = new ServiceStack();

  constructor(parts: MeshSessionCollaborators, options: MeshOptions) {
    const { hub, engine, membership } = parts;
    const { clock, logger, time, events, registry } = hub;
    this.#parts = parts;
    this.#options = options;
    this.#watch = new InterfaceWatch({ clock, logger, names: options.interfaces });
    this.#links = new ControlLinks({ engine, clock, logger, drops: this.#drops });
    this.#gossip = this.#makeGossip();
    const dnsSd = { clock, logger, watch: this.#watch, hostLabel: engine.id };
    this.#dnsSd = options.isDiscoveryEnabled ? new DnsSd(dnsSd) : undefined;
    this.#connections = this.#makeConnections();
    const sites = this.#gossip.sites;
    this.renewal = new CertificateRenewal({
      membership: membership.membership,
      admission: membership.admission,
      authority: membership.authority,
      links: this.#links,
      time,
      clock,
      events,
      logger,
    });
    const calls = this.#callParts();
    const client = new CallClient(calls);
    this.#endpoint = new RpcEndpoint(
      {
        self: calls.self,
        epoch: () => this.#gossip.announcer.epoch,
        links: this.#links,
        routes: calls.routes,
        sites: calls.sites,
        members: calls.members,
        authority: hub.authority,
        validity: hub.validity,
        pipeline: hub.pipeline,
        jobs: hub.jobStore,
        registry,
        events,
        visibleEvents: hub.visibleEvents,
        clock,
        time,
        drops: this.#drops,
      },
      { relays: options.isRelay },
    );
    const { peers, catalogue } = this.#gossip;
    const isElsewhere = (id: HubId) => sites?.isElsewhere(id) ?? false;
    const { router: inner } = client;
    const router = new DiallingRouter({ clock, router: inner, connections: this.#connections, peers, links: this.#links, isElsewhere });
    this.ports = { view: peers, tools: catalogue, router, jobs: client.jobs, events: client.events };
  }

  /** Returns the addresses, as `host:port`, at which other hubs reach this hub; the configured addresses come first. */
  addresses(): readonly string[] {
    const { announceAddresses } = this.#options;
    return [...new Set([...announceAddresses, ...ownAddresses(this.#parts.engine.listenAddresses(), this.#watch.interfaces)])];
  }

  /** Returns the numbers of refused or dropped connections, messages and calls by `part.reason`, such as `gate.revoked`. */
  drops(): Readonly<Record<string, number>> {
    const { engine, membership } = this.#parts;
    const parts = {
      call: this.#drops.counts(),
      engine: engine.refusals(),
      gate: membership.gate.refusals(),
      gossip: this.#gossip.drops.counts(),
      discovery: this.#dnsSd?.drops() ?? {},
      dial: { refused: this.#connections.refusals },
    };
    return Object.fromEntries(
      Object.entries(parts).flatMap(([part, counts]) => Object.entries(counts).map(([reason, count]) => [`${part}.${reason}`, count])),
    );
  }

  /** Starts the session. Rejects with CONFLICT or CONFIG_INVALID if the engine cannot listen, STORAGE_FAILED if the disk fails. */
  async start(): Promise<void> {
    const { engine } = this.#parts;
    this.#endpoint.listen();
    await this.#stack.start(this.#watch);
    await this.#stack.start(engine);
    await this.#stack.start(this.#links);
    await this.#stack.start(this.#gossip);
    await this.#stack.start(this.renewal);
    this.#listen();
    if (this.#dnsSd) await this.#advertise(this.#dnsSd);
    await this.#stack.start(this.#connections);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
  }

  async #advertise(dnsSd: DnsSd): Promise<void> {
    await this.#stack.start(dnsSd);
    const { port } = parseHostPort(this.#parts.engine.listenAddresses()[0] ?? '') ?? { port: 0 };
    const { meshId } = this.#parts.membership.membership.requireOwn();
    const { site } = this.#options;
    this.#stack.own(dnsSd.advertise(hubService({ id: this.#parts.engine.id, port, meshId, site })));
  }

  #listen(): void {
    const { hub, membership, engine } = this.#parts;
    const { revocations, events } = hub;
    const ended = (hub: HubId) => {
      void engine.disconnect(hub);
      this.#gossip.recheck();
      this.#gossip.statements.spread();
      this.#connections.review();
    };
    const stops = [
      membership.membership.onLost(ended),
      revocations.onRevoked(() => this.#gossip.statements.spread()),
      events.listen(() => this.#gossip.announcer.changed(), ['mesh.changed']),
      this.#watch.onChange(() => this.#gossip.announcer.changed()),
      this.#gossip.directory.onChange(({ kind }) => kind !== 'state' && this.#connections.review()),
      this.#gossip.sites?.onChange(() => this.#connections.review()) ?? (() => {}),
    ];
    this.#stack.own({
      [Symbol.asyncDispose]: async () => {
        for (const stop of stops) stop();
      },
    });
  }

  #makeGossip(): Gossip {
    const { hub, membership, engine } = this.#parts;
    const { revocations } = hub;
    const { self } = membership.membership;
    const statements = [statementSource('member_revocation', membership.membership), statementSource('token_revocation', revocations)];
    return new Gossip(
      {
        registry: hub.registry,
        devices: hub.devices,
        capabilities: hub.capabilities,
        isOnline: hub.isOnline,
        validator: hub.validator,
        store: hub.store,
        clock: hub.clock,
        logger: hub.logger,
        events: hub.events,
        engine,
        links: this.#links,
        hub: { hubId: self.hubId, privateKey: self.privateKey, publicKey: createPublicKey(self.privateKey) },
        meshId: () => membership.membership.meshId(),
        certificate: () => membership.membership.requireOwn().certificate,
        certificates: { admit: (chain) => membership.membership.admit(chain) },
        visitors: {
          admit: (chain) => membership.membership.admitVisitor(chain),
          verify: (chain) => membership.membership.verify(chain),
        },
        time: hub.time,
        connect: (id, signal) => this.#connect(id, signal),
        statements,
        addresses: () => this.addresses(),
      },
      this.#options,
    );
  }

  #makeConnections(): ConnectionManager {
    const { hub, membership, engine } = this.#parts;
    const { meshId } = membership.membership.requireOwn();
    return new ConnectionManager(
      {
        clock: hub.clock,
        logger: hub.logger,
        engine,
        store: hub.store,
        meshId,
        discovery: this.#dnsSd,
        watch: this.#watch,
        announced: () => [
          ...this.#gossip.directory.hubs().map(({ id, addresses }) => ({ id, addresses })),
          ...(this.#gossip.sites?.addresses() ?? []),
        ],
        sites: this.#gossip.sites,
        isBarred: (id) => membership.membership.revokedHubs().includes(id),
      },
      { peers: [...new Set([...this.#options.peers, ...membership.membership.record().addresses])] },
    );
  }

  #connect(id: HubId, signal: AbortSignal): Promise<void> {
    return connectLink({ clock: this.#parts.hub.clock, connections: this.#connections, links: this.#links }, id, signal);
  }

  /** A hub with a site is of a version that reads all features of this one. Border members of other sites announce nothing here. */
  #reads(target: HubId, feature: ProtocolFeature): boolean {
    const known = this.#gossip.hubs.hub(target);
    return known ? known.features.includes(feature) : (this.#gossip.sites?.isElsewhere(target) ?? false);
  }

  #callParts() {
    const { hub, membership } = this.#parts;
    const { clock, time, tokens } = hub;
    const { sites } = this.#gossip;
    const member = membership.membership;
    return {
      self: membership.membership.self,
      links: this.#links,
      routes: {
        nextHop: (target: HubId) => this.#gossip.peers.routeTo(target)?.nextHop,
        epochOf: (target: HubId) => this.#gossip.hubs.hub(target)?.epoch,
        reads: (target: HubId, feature: ProtocolFeature) => this.#reads(target, feature),
      },
      sites: sites && {
        siteOf: (target: HubId) => sites.siteOf(target),
        hopsTo: (site: string) => sites.hopsTo(site),
        connect: (id: HubId, signal: AbortSignal) => this.#connect(id, signal),
        certificate: () => member.requireOwn().certificate,
      },
      members: {
        keyOf: (id: HubId) => member.member(id),
        ...(sites && { admit: (certificate: CertificateChain) => member.admitVisitor(certificate) }),
      },
      tokens,
      clock,
      time,
      drops: this.#drops,
    };
  }
}

function statementSource(kind: StatementSource['kind'], source: Pick<StatementSource, 'statements' | 'merge'>): StatementSource {
  return { kind, statements: () => source.statements(), merge: (statement) => source.merge(statement) };
}
