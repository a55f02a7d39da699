import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import { meshRoutes } from '../../../src/mesh/gossip/mesh-peers.ts';

const hub = (name: string | number) => `hub-${name}` as HubId;
const self = hub(0);

/** Every pair is told by both its ends. */
function linksOf(pairs: readonly (readonly [number, number])[]): Map<HubId, Set<HubId>> {
  const links = new Map<HubId, Set<HubId>>();
  const add = (a: number, b: number) => links.set(hub(a), (links.get(hub(a)) ?? new Set()).add(hub(b)));
  for (const [a, b] of pairs) {
    add(a, b);
    add(b, a);
  }
  return links;
}

describe('meshRoutes', () => {
  test('counts hops along a chain and names the first of them', () => {
    const links = linksOf([
      [0, 1],
      [1, 2],
      [2, 3],
    ]);
    const routes = meshRoutes({ self, neighbours: [hub(1)], links });
    expect(routes.get(hub(1))).toEqual({ nextHop: hub(1), hops: 1 });
    expect(routes.get(hub(3))).toEqual({ nextHop: hub(1), hops: 3 });
    expect(routes.has(self)).toBe(false);
  });

  test('ignores a connection that only one end announces', () => {
    const links = linksOf([[0, 1]]);
    links.get(hub(1))?.add(hub(2));
    links.set(hub(2), new Set());
    expect(meshRoutes({ self, neighbours: [hub(1)], links }).has(hub(2))).toBe(false);
  });

  test('reaches a neighbour that has not announced anything yet', () => {
    expect(meshRoutes({ self, neighbours: [hub(9)], links: new Map() }).get(hub(9))).toEqual({ nextHop: hub(9), hops: 1 });
  });

  test('gives each hub the length of a shortest way, through a neighbour from which it is one hop less', () => {
    const pair = fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 9 })).filter(([a, b]) => a !== b);
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 25 }), (pairs) => {
        const links = linksOf(pairs);
        const routes = meshRoutes({ self, neighbours: [...(links.get(self) ?? [])], links });
        for (let other = 1; other < 10; other++) expect(routes.get(hub(other))?.hops).toBe(distance(links, self, hub(other)));
        for (const [other, { nextHop, hops }] of routes) expect(distance(links, nextHop, other)).toBe(hops - 1);
      }),
      { numRuns: 60 },
    );
  });
});

/** By relaxation, another way than the one under test; a way back through the asking hub does not count. */
function distance(links: ReadonlyMap<HubId, ReadonlySet<HubId>>, from: HubId, to: HubId): number | undefined {
  const lengths = new Map<HubId, number>([[from, 0]]);
  for (let round = 0; round < 12; round++) {
    for (const [hubId, own] of links) {
      const length = lengths.get(hubId);
      if (length === undefined || (hubId === self && from !== self)) continue;
      for (const other of own) lengths.set(other, Math.min(lengths.get(other) ?? Number.POSITIVE_INFINITY, length + 1));
    }
  }
  return lengths.get(to);
}
