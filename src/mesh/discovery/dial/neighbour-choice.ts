import { hash } from 'node:crypto';
import type { HubId } from '../../../core/ids.ts';

/** Below so many other members all connect each with each. */
export const FULL_MESH_MEMBERS = 12;
/** Two neighbours on each ring: a degree of 8 at most. */
const RINGS = 4;
const BYTES_PER_POSITION = 6;

/**
 * The hubs with which `self` keeps a connection; each member works out the same graph. In a small mesh all; in a larger one
 * the next and the last on four rings, each with the members in another order: connected as each ring is, the same seen
 * from both ends, of degree 8 at most, of a diameter that grows with the logarithm, and a hub that comes or goes changes
 * nothing but its own places (Law and Siu, Distributed Construction of Random Expander Networks, 2003).
 */
export function neighbourChoice(self: HubId, members: Iterable<HubId>): ReadonlySet<HubId> {
  const others = new Set(members);
  others.delete(self);
  if (others.size < FULL_MESH_MEMBERS) return others;
  const places = [...others].map((id) => ({ id, positions: ringPositions(id) }));
  const chosen = new Set<HubId>();
  for (const [ring, own] of ringPositions(self).entries()) {
    for (const id of beside(own, places, ring)) chosen.add(id);
  }
  return chosen;
}

interface RingPlace {
  readonly id: HubId;
  readonly positions: readonly number[];
}

function beside(own: number, places: readonly RingPlace[], ring: number): readonly HubId[] {
  const distance = ({ positions }: RingPlace) => {
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
