import { expect, test } from 'vitest';
import { linkWords, type MeshPeer } from '../../../src/web/pages/mesh-map.ts';

const PEER: MeshPeer = {
  id: 'hub-1',
  name: 'annex',
  state: 'fresh',
  reachable: true,
  hops: 1,
  version: '1',
  last_seen: '2026-01-01T00:00:00Z',
  tools: 0,
  devices: 0,
};

test('a link has a text with its round trip, the hubs in between, or the reason why there is none', () => {
  expect(linkWords({ ...PEER, round_trip_ms: 2.4 })).toBe('2.4 ms');
  expect(linkWords({ ...PEER, hops: 2 })).toBe('over 1 other hub');
  expect(linkWords({ ...PEER, hops: 4 })).toBe('over 3 other hubs');
  expect(linkWords({ ...PEER, reachable: false })).toBe('not reachable');
  expect(linkWords({ ...PEER, reachable: false, state: 'left' })).toBe('has left');
});
