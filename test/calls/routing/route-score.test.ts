import { describe, expect, test } from 'vitest';
import type { RouteCandidate } from '../../../src/calls/pipeline-context.ts';
import { rankRoute, routeScore } from '../../../src/calls/routing/call-route.ts';
import { makeTool } from '../pipeline-fixture.ts';

const hub = (id: string, change: Partial<RouteCandidate> = {}): RouteCandidate => ({
  id,
  name: id,
  isLocal: false,
  isReachable: true,
  isOnline: true,
  hops: 1,
  roundTripMs: 10,
  capabilities: ['vision', 'matter_bridge'],
  ...change,
});
const EYES = { constraints: new Map([['vision', { max_image_mb: 2, model: 'eyes, big', lens: true }]]) };
const here = hub('here', { isLocal: true, hops: 0, roundTripMs: 0 });
const rank = (tool: Record<string, unknown>, candidates: readonly RouteCandidate[], wish = {}) =>
  rankRoute(makeTool(tool).definition, wish, candidates);
const ids = (...args: Parameters<typeof rank>) => rank(...args).ranked.map(({ id }) => id);

describe('the score', () => {
  test('is 0.95 per hop, 1.2 here when preferred, 1.1 for preferred hubs and wished GPUs', () => {
    const definition = makeTool({ routing: { prefer_local: true, prefer_gpu: true } }).definition;
    expect(routeScore(definition, {}, here)).toBeCloseTo(1.2);
    expect(routeScore(definition, {}, hub('a', { hops: 2 }))).toBeCloseTo(0.9025);
    expect(routeScore(definition, { prefer_nodes: ['a'] }, hub('a', { capabilities: ['gpu'] }))).toBeCloseTo(0.95 * 1.1 * 1.1);
  });

  test('orders hubs, ties by latency, then id', () => {
    expect(ids({}, [hub('b'), hub('far', { hops: 3 }), hub('a'), hub('quick', { roundTripMs: 1 }), here])).toEqual([
      'here',
      'quick',
      'a',
      'b',
      'far',
    ]);
    expect(ids({}, [here, hub('a')], { prefer_nodes: ['a'] })).toEqual(['a', 'here']);
    expect(ids({ routing: { prefer_local: true } }, [here, hub('a')], { prefer_nodes: ['a'] })).toEqual(['here', 'a']);
  });
});

describe('who cannot take a call is named with the reason', () => {
  test.each([
    [{ requires: ['vision', 'audio'] }, {}, {}, 'lacks audio'],
    [{ requires: { gpu: true } }, {}, {}, 'has no GPU'],
    [{ requires: { network: true } }, { isOnline: false }, {}, 'has no network'],
    [{}, { isReachable: false }, {}, 'is not reachable'],
    [{}, {}, { exclude_nodes: ['a'] }, 'is excluded by the request'],
    [{ routing: { hop_limit: 1 } }, { hops: 2 }, {}, 'is too many hops away'],
    [{}, { hops: 2 }, { hop_budget: 1 }, 'is too many hops away'],
    [{ routing: { hop_limit: 1 } }, { hops: 2 }, { hop_budget: 5 }, 'is too many hops away'],
    [{ routing: { node_affinity: ['garage'] } }, {}, {}, 'is none of garage'],
    [{ requires: ['vision'] }, EYES, { needs: { imageBytes: 3_000_000 } }, 'takes pictures of at most 2 MB'],
    [{ requires: ['vision'] }, EYES, { needs: { model: 'huge' } }, 'has no model huge'],
  ])('%j %j %j', (tool, change, wish, reason) => {
    expect(rank(tool, [hub('a', change)], wish)).toEqual({ ranked: [], refused: [{ node_id: 'a', reason }] });
  });

  test('what a hub says of a capability rules out only what needs it and does not fit', () => {
    const needs = { imageBytes: 2_097_152, model: 'big' };
    expect(ids({ requires: ['vision'] }, [hub('a', EYES), hub('b')], { needs })).toEqual(['a', 'b']);
    expect(ids({}, [hub('a', EYES)], { needs: { imageBytes: 9_000_000, model: 'huge' } })).toEqual(['a']);
    expect(ids({ requires: ['vision'] }, [hub('a', EYES), hub('b')], { needs: { imageBytes: 2_097_153 } })).toEqual(['b']);
  });

  test('affinity names hubs or roles, and a hub has the role of its capabilities', () => {
    expect(ids({ routing: { node_affinity: ['matter-bridge'] } }, [hub('a'), hub('b', { capabilities: [] })])).toEqual(['a']);
    expect(ids({ routing: { node_affinity: ['b'] } }, [hub('a'), hub('b')])).toEqual(['b']);
  });
});
