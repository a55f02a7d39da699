import { describe, expect, test } from 'vitest';
import { layOutMesh } from '../../../src/web/pages/mesh-map.ts';

const HUBS = [
  { id: 'b', hops: 1 },
  { id: 'a', hops: 1 },
  { id: 'c', hops: 2 },
  { id: 'far', hops: 9 },
];

describe('the picture of the mesh', () => {
  test('has every hub inside its frame, each at another place', () => {
    const { width, height, places, centre } = layOutMesh(HUBS);
    const all = [centre, ...places.values()];
    expect(places.size).toBe(HUBS.length);
    expect(new Set(all.map(({ x, y }) => `${x},${y}`)).size).toBe(all.length);
    for (const { x, y } of all) {
      expect(x).toBeGreaterThan(0);
      expect(x).toBeLessThan(width);
      expect(y).toBeGreaterThan(0);
      expect(y).toBeLessThan(height);
    }
  });

  test('does not depend on the order of the hubs', () => {
    expect(layOutMesh(HUBS.toReversed())).toEqual(layOutMesh(HUBS));
  });

  test('has hubs farther out the more hops they need', () => {
    const { centre, places } = layOutMesh(HUBS);
    const distance = (id: string) => {
      const place = places.get(id) ?? centre;
      return Math.hypot(place.x - centre.x, place.y - centre.y);
    };
    expect(distance('a')).toBeLessThan(distance('c'));
    expect(distance('c')).toBeLessThan(distance('far'));
  });
});
