import type { HubId } from '../../../core/ids.ts';
import type { MeshView, Peer } from '../../../core/mesh/mesh-view.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { OFFLINE } from '../../../wire/messages/wire-features.ts';
import type { PeerLink, PeerLinks } from '../../link/peer-link.ts';
import type { BlobStore } from '../exchange/blob-store.ts';
import { type HubDirectory, isPresent, type KnownHub } from './known-hub.ts';
import { type MeshRoute, meshRoutes } from './mesh-routes.ts';

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
