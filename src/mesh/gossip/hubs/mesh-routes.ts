import type { HubId } from '../../../core/ids.ts';

/** How a hub is reached. */
export interface MeshRoute {
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
