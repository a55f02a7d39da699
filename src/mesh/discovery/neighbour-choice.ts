import { hash } from 'node:crypto';

/** If this hub knows fewer other members than this number, it connects to all of them. */
export const FULL_MESH_MEMBERS = 12;
/** Number of rings. A hub has two neighbours on each ring, and therefore at most 8 neighbours. */
const RINGS = 4;
const BYTES_PER_POSITION = 6;

/**
 * Returns the neighbours of `self`, a hub or a site: the hubs with which `self` keeps a connection. In a small mesh, these are all other hubs. In a larger
 * mesh, they are the next and the previous hub on each of four rings; each ring has the members in another order. Every hub with the same
 * members computes the same graph. The graph is connected and symmetric, its degree is at most 8 and its diameter is logarithmic. If a hub
 * joins or leaves, few edges change (Law and Siu, Distributed Construction of Random Expander Networks, 2003).
 */
export function selectNeighbours<Id extends string>(self: Id, members: Iterable<Id>): ReadonlySet<Id> {
  const others = new Set(members);
  others.delete(self);
  if (others.size < FULL_MESH_MEMBERS) return others;
  const places = [...others].map((id) => ({ id, positions: ringPositions(id) }));
  const chosen = new Set<Id>();
  for (const [ring, own] of ringPositions(self).entries()) {
    for (const id of ringNeighbours(own, places, ring)) chosen.add(id);
  }
  return chosen;
}

interface RingMember<Id> {
  readonly id: Id;
  readonly positions: readonly number[];
}

function ringNeighbours<Id>(own: number, places: readonly RingMember<Id>[], ring: number): readonly Id[] {
  const distance = ({ positions }: RingMember<Id>) => {
    const ahead = (positions[ring] ?? 0) - own;
    return ahead > 0 ? ahead : ahead + 2 ** (8 * BYTES_PER_POSITION);
  };
  const next = places.reduce((best, place) => (distance(place) < distance(best) ? place : best));
  const last = places.reduce((best, place) => (distance(place) > distance(best) ? place : best));
  return [next.id, last.id];
}

function ringPositions(id: string): readonly number[] {
  const digest = hash('sha256', id, 'buffer');
  return Array.from({ length: RINGS }, (_, ring) => digest.readUIntBE(ring * BYTES_PER_POSITION, BYTES_PER_POSITION));
}
