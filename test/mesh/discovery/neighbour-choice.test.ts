import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import { selectNeighbours } from '../../../src/mesh/discovery/neighbour-choice.ts';

const hub = (number: number) => `hub-${number.toString(16).padStart(16, '0')}` as HubId;
const mesh = (size: number, seed = 0) => Array.from({ length: size }, (_, index) => hub(seed * 100_000 + index));
const graphOf = (members: readonly HubId[]) => new Map(members.map((id) => [id, selectNeighbours(id, members)]));

/** Hubs reached from the first one, and after how many steps the last one was. */
function reach(graph: ReadonlyMap<HubId, ReadonlySet<HubId>>): { count: number; steps: number } {
  const [first] = graph.keys();
  const seen = new Set(first === undefined ? [] : [first]);
  let steps = 0;
  for (let edge = [...seen]; edge.length > 0; steps++) {
    edge = edge.flatMap((id) => [...(graph.get(id) ?? [])].filter((next) => !seen.has(next) && seen.add(next)));
  }
  return { count: seen.size, steps: steps - 1 };
}

describe('the choice of neighbours', () => {
  test('is everybody in a mesh of up to twelve, and never the hub itself', () => {
    for (const size of [1, 2, 12])
      for (const [id, chosen] of graphOf(mesh(size))) expect([chosen.size, chosen.has(id)]).toEqual([size - 1, false]);
    expect(selectNeighbours(hub(1), mesh(13)).size).toBeLessThanOrEqual(8);
  });

  test('makes one graph of degree 2 to 8 that is the same from both ends and connected, whoever the members are', () => {
    fc.assert(
      fc.property(fc.integer({ min: 13, max: 120 }), fc.nat(1_000), (size, seed) => {
        const graph = graphOf(mesh(size, seed));
        for (const [id, chosen] of graph) {
          expect(chosen.size).toBeGreaterThanOrEqual(2);
          expect(chosen.size).toBeLessThanOrEqual(8);
          for (const other of chosen) expect(graph.get(other)?.has(id)).toBe(true);
        }
        expect(reach(graph).count).toBe(size);
      }),
      { numRuns: 15 },
    );
  });

  test('reaches everybody in few steps, and without a quarter of the hubs still all the others', () => {
    const members = mesh(256);
    const graph = graphOf(members);
    expect(reach(graph).steps).toBeLessThanOrEqual(6);
    const left = new Map([...graph].filter((_, index) => index % 4 !== 0));
    expect(reach(new Map([...left].map(([id, chosen]) => [id, new Set([...chosen].filter((other) => left.has(other)))]))).count).toBe(192);
  });

  test('changes little when a hub comes or goes: its own places and nothing else', () => {
    const before = graphOf(mesh(60));
    const newcomer = hub(999);
    const after = graphOf([...mesh(60), newcomer]);
    const own = after.get(newcomer) ?? new Set();
    for (const [id, chosen] of before) {
      const lost = [...chosen].filter((other) => !after.get(id)?.has(other));
      expect(own.has(id) ? lost.length <= 8 : lost.length === 0).toBe(true);
    }
    const changed = [...before].flatMap(([id, chosen]) => [...chosen].filter((other) => !after.get(id)?.has(other)));
    expect(changed.length).toBeLessThanOrEqual(2 * 4);
  });
});
