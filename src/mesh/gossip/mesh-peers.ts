import { OFFLINE } from '../../codec/messages/announced-state.ts';
import type { Clock } from '../../core/clock.ts';
import type { HubId } from '../../core/ids.ts';
import { present } from '../../core/json.ts';
import type { MeshView, Peer } from '../../core/mesh-view.ts';
import type { PeerLinks } from '../rpc/peer-link.ts';
import type { BlobStore } from './blob-store.ts';
import { type HubDirectory, isPresent, type KnownHub, type OtherSites } from './known-hub.ts';

interface PeersCollaborators {
  readonly self: HubId;
  readonly meshId: () => string | undefined;
  readonly directory: HubDirectory;
  readonly links: PeerLinks;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  /** Sites of the mesh; undefined if this hub has no site. */
  readonly sites?: Pick<OtherSites, 'siteOf' | 'hopsTo' | 'onChange'> | undefined;
}

/** A lookup has passed two border members, so a call reaches the hub over them: one hop to each of them and one to the hub. */
const HOPS_TO_OTHER_SITE = 3;

/** Provides the other hubs and the route to each of them, for people and for the call router. */
export class MeshPeers implements MeshView {
  readonly #parts: PeersCollaborators;
  #routes: ReadonlyMap<HubId, MeshRoute> | undefined;

  constructor(parts: PeersCollaborators) {
    this.#parts = parts;
    const invalidate = () => {
      this.#routes = undefined;
    };
    parts.directory.onChange(invalidate);
    parts.links.onLinkUp(invalidate);
    parts.links.onLinkDown(invalidate);
    parts.sites?.onChange(invalidate);
  }

  get meshId(): string | undefined {
    return this.#parts.meshId();
  }

  /** Returns the hubs that have announced themselves, sorted by id. */
  peers(): readonly Peer[] {
    return this.#parts.directory.hubs().map((hub) => this.#peerOf(hub));
  }

  routeTo(id: HubId): MeshRoute | undefined {
    this.#routes ??= this.#findRoutes();
    return this.#routes.get(id) ?? this.#routeToSiteOf(id);
  }

  /** Returns the route over the border members. The hub may have to connect to the next hop first, if it is a border member itself. */
  #routeToSiteOf(id: HubId): MeshRoute | undefined {
    const { sites } = this.#parts;
    const site = sites?.siteOf(id);
    const [nextHop] = site === undefined ? [] : (sites?.hopsTo(site) ?? []);
    return nextHop && { nextHop, hops: HOPS_TO_OTHER_SITE };
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
      ...present({ address: link?.peer.address, roundTripMs: link?.roundTripMs }),
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

interface MeshRoute {
  /** Neighbour that forwards a call, or the target hub itself if it is a neighbour. */
  readonly nextHop: HubId;
  /** Number of hops; 1 means directly connected. */
  readonly hops: number;
}

interface RouteMap {
  readonly self: HubId;
  readonly neighbours: readonly HubId[];
  readonly links: ReadonlyMap<HubId, ReadonlySet<HubId>>;
}

/**
 * Returns the shortest route to every reachable hub. Searches neighbours in the order of ids, so that equal graphs give equal routes. A
 * connection between other hubs counts only if both hubs announce it, so that no hub can attract calls by false claims.
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
