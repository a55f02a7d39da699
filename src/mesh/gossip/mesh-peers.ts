import { OFFLINE } from '../../codec/messages/announced-state.ts';
import type { Clock } from '../../core/clock.ts';
import type { HubId } from '../../core/ids.ts';
import type { MeshView, Peer } from '../../core/mesh-view.ts';
import type { PeerLink, PeerLinks } from '../rpc/peer-link.ts';
import type { BlobStore } from './blob-store.ts';
import { type HubDirectory, isPresent, type KnownHub } from './known-hub.ts';

interface PeersCollaborators {
  readonly self: HubId;
  readonly meshId: () => string | undefined;
  readonly directory: HubDirectory;
  readonly links: PeerLinks;
  readonly blobs: BlobStore;
  readonly clock: Clock;
}

/** The other hubs as people and the router see them, with the way to each. */
export class MeshPeers implements MeshView {
  readonly #parts: PeersCollaborators;
  #routes: ReadonlyMap<HubId, MeshRoute> | undefined;

  constructor(collaborators: PeersCollaborators) {
    this.#parts = collaborators;
    const forget = () => {
      this.#routes = undefined;
    };
    collaborators.directory.onChange(forget);
    collaborators.links.onLinkUp(forget);
    collaborators.links.onLinkDown(forget);
  }

  get meshId(): string | undefined {
    return this.#parts.meshId();
  }

  /** In the order of their ids; a neighbour that has announced nothing yet is not among them. */
  peers(): readonly Peer[] {
    return this.#parts.directory.hubs().map((hub) => this.#peerOf(hub));
  }

  /** The way to a hub, undefined while there is none. */
  routeTo(id: HubId): MeshRoute | undefined {
    this.#routes ??= this.#findRoutes();
    return this.#routes.get(id);
  }

  #findRoutes(): ReadonlyMap<HubId, MeshRoute> {
    const { self, directory, links } = this.#parts;
    const hubs = directory.hubs().filter(isPresent);
    return meshRoutes({
      self,
      neighbours: links.links().map(({ peer }) => peer.id),
      links: new Map(hubs.map((hub) => [hub.id, new Set(hub.links)])),
    });
  }

  #peerOf({ id, name, version, state, lastSeenMs, capabilities, features, tools, devices }: KnownHub): Peer {
    const { links, blobs, clock } = this.#parts;
    const link = links.to(id);
    const route = this.routeTo(id);
    return {
      id,
      name,
      version,
      state,
      isReachable: route !== undefined && isPresent({ state }),
      hops: route?.hops ?? 0,
      ...linkFacts(link),
      lastSeenMs: link ? clock.now() : lastSeenMs,
      capabilities: capabilities.map(({ type }) => type),
      ...(features.includes(OFFLINE) && { isOnline: false }),
      constraints: new Map(capabilities.flatMap(({ type, constraints }) => (constraints ? [[type, constraints]] : []))),
      toolCount: tools.length,
      missingTools: tools.filter(({ hash }) => !blobs.has(hash)).length,
      devices,
    };
  }
}

function linkFacts(link: PeerLink | undefined): Pick<Peer, 'address' | 'roundTripMs'> {
  if (!link) return {};
  return { address: link.peer.address, ...(link.roundTripMs !== undefined && { roundTripMs: link.roundTripMs }) };
}

/** How a hub is reached. */
interface MeshRoute {
  /** The neighbour to hand a call to; the hub itself when it is one. */
  readonly nextHop: HubId;
  /** 1 = directly connected. */
  readonly hops: number;
}

/** What the graph is made of. */
interface RouteMap {
  readonly self: HubId;
  /** Hubs that this one is connected to now. */
  readonly neighbours: readonly HubId[];
  /** For every known hub, the hubs that it says it is connected to. */
  readonly links: ReadonlyMap<HubId, ReadonlySet<HubId>>;
}

/**
 * The shortest way to every hub that can be reached: breadth-first search, neighbours in the order of their ids, so that
 * equal maps give equal routes. A link exists when both ends tell of it: nobody draws calls to itself by claiming links.
 */
export function meshRoutes({ self, neighbours, links }: RouteMap): ReadonlyMap<HubId, MeshRoute> {
  const routes = new Map<HubId, MeshRoute>();
  let edge = [...neighbours].sort();
  for (const hub of edge) routes.set(hub, { nextHop: hub, hops: 1 });
  for (let hops = 2; edge.length > 0; hops++) {
    const next: HubId[] = [];
    for (const hub of edge) {
      const nextHop = routes.get(hub)?.nextHop ?? hub;
      for (const other of links.get(hub) ?? []) {
        if (other === self || routes.has(other) || !links.get(other)?.has(hub)) continue;
        routes.set(other, { nextHop, hops });
        next.push(other);
      }
    }
    edge = next;
  }
  return routes;
}
