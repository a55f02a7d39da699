import { hash } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { HubId } from '../../core/ids.ts';
import type { MeshEngine } from '../transport/mesh-engine.ts';

/** With fewer other members every hub connects to every other. */
const FULL_MESH_MEMBERS = 12;
/** Two neighbours on each ring: a degree of 8 at most. */
const RINGS = 4;
const BYTES_PER_POSITION = 6;

/**
 * Returns the hubs with which `self` keeps a connection; every member computes the same graph. In a small mesh these are all
 * hubs; in a larger one the next and the previous hub on four rings, each with the members in another order. The graph is
 * connected and symmetric, has a degree of at most 8 and a logarithmic diameter, and a hub that comes or goes changes only its
 * own edges (Law and Siu, Distributed Construction of Random Expander Networks, 2003).
 */
export function selectNeighbours(self: HubId, members: Iterable<HubId>): ReadonlySet<HubId> {
  const others = new Set(members);
  others.delete(self);
  if (others.size < FULL_MESH_MEMBERS) return others;
  const places = [...others].map((id) => ({ id, positions: ringPositions(id) }));
  const chosen = new Set<HubId>();
  for (const [ring, own] of ringPositions(self).entries()) {
    for (const id of ringNeighbours(own, places, ring)) chosen.add(id);
  }
  return chosen;
}

interface RingMember {
  readonly id: HubId;
  readonly positions: readonly number[];
}

function ringNeighbours(own: number, places: readonly RingMember[], ring: number): readonly HubId[] {
  const distance = ({ positions }: RingMember) => {
    const ahead = (positions[ring] ?? 0) - own;
    return ahead > 0 ? ahead : ahead + 2 ** (8 * BYTES_PER_POSITION);
  };
  const next = places.reduce((best, place) => (distance(place) < distance(best) ? place : best));
  const last = places.reduce((best, place) => (distance(place) > distance(best) ? place : best));
  return [next.id, last.id];
}

function ringPositions(id: HubId): readonly number[] {
  const digest = hash('sha256', id, 'buffer');
  return Array.from({ length: RINGS }, (_, ring) => digest.readUIntBE(ring * BYTES_PER_POSITION, BYTES_PER_POSITION));
}

const KEEP_REQUESTED_MS = 300_000;
const KEEP_SPARE_MS = 60_000;

/** Ends connections that a large mesh does not need: those from before it was large, or for one call. */
export class ConnectionPruner {
  readonly #clock: Clock;
  readonly #engine: Pick<MeshEngine, 'id' | 'peers' | 'disconnect'>;
  readonly #requestedMs = new Map<HubId, number>();
  readonly #spareSinceMs = new Map<HubId, number>();

  constructor(clock: Clock, engine: Pick<MeshEngine, 'id' | 'peers' | 'disconnect'>) {
    this.#clock = clock;
    this.#engine = engine;
  }

  /** Keeps the connection of a hub for five minutes after a call needed it. */
  noteRequest(id: HubId): void {
    this.#requestedMs.set(id, this.#clock.monotonic());
  }

  isRequested(id: HubId): boolean {
    return this.#clock.monotonic() - (this.#requestedMs.get(id) ?? Number.NEGATIVE_INFINITY) < KEEP_REQUESTED_MS;
  }

  /** Ends connections that were spare for a minute. The hub with the lower id decides: the other one may know fewer members. */
  prune(wanted: ReadonlySet<HubId>, memberCount: number): void {
    const peers = this.#engine.peers().map(({ id }) => id);
    const spare = new Set(memberCount < FULL_MESH_MEMBERS ? [] : peers.filter((id) => !wanted.has(id) && !this.isRequested(id)));
    for (const id of this.#spareSinceMs.keys()) if (!spare.has(id)) this.#spareSinceMs.delete(id);
    for (const id of this.#requestedMs.keys()) if (!this.isRequested(id)) this.#requestedMs.delete(id);
    for (const id of spare) {
      const sinceMs = this.#spareSinceMs.get(id) ?? this.#clock.monotonic();
      this.#spareSinceMs.set(id, sinceMs);
      if (this.#engine.id < id && this.#clock.monotonic() - sinceMs >= KEEP_SPARE_MS) void this.#engine.disconnect(id);
    }
  }
}
