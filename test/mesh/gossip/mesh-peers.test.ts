import { expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import type { PeerState } from '../../../src/core/mesh-view.ts';
import { BlobStore } from '../../../src/mesh/gossip/blob-store.ts';
import type { KnownHub } from '../../../src/mesh/gossip/known-hub.ts';
import { MeshPeers } from '../../../src/mesh/gossip/mesh-peers.ts';
import type { PeerLink } from '../../../src/mesh/rpc/peer-link.ts';
import { ManualClock } from '../../manual-clock.ts';

const [self, near, far] = ['hub-1', 'hub-2', 'hub-3'] as unknown as [HubId, HubId, HubId];
const nobody = () => () => undefined;

/** What a hub at the end of a line of three sees, of which the others are as given. */
function peersOf(states: { readonly near: PeerState; readonly far: PeerState }, news: Partial<KnownHub> = {}) {
  const known = (id: HubId, state: PeerState, links: readonly HubId[]): KnownHub => ({
    id,
    name: id,
    version: '1.0.0',
    state,
    epoch: 1,
    lastSeenMs: 1,
    addresses: [],
    links,
    capabilities: [],
    features: [],
    tools: [{ id: 'core:look@1.0.0', hash: '0102030405060708' }],
    devices: [],
    ...(id === near && news),
  });
  const hubs = [known(near, states.near, [self, far]), known(far, states.far, [near])];
  const directory = { hubs: () => hubs, hub: (id: HubId) => hubs.find((hub) => hub.id === id), onChange: nobody };
  const link = { peer: { id: near, address: '10.0.0.2:8082' }, roundTripMs: 3 } as unknown as PeerLink;
  const links = {
    links: () => [link],
    to: (id: HubId) => (id === near ? link : undefined),
    onLinkUp: nobody,
    onLinkDown: nobody,
    handle: nobody,
  };
  return new MeshPeers({ self, meshId: () => 'mesh-1', directory, links, blobs: new BlobStore(), clock: new ManualClock(9_000) });
}

test('a neighbour and a hub behind it are listed with the facts that people and the router need', () => {
  const [one, two] = peersOf({ near: 'fresh', far: 'stale' }).peers();
  expect(one).toMatchObject({
    id: near,
    isReachable: true,
    hops: 1,
    roundTripMs: 3,
    address: '10.0.0.2:8082',
    lastSeenMs: 9_000,
    missingTools: 1,
  });
  expect(two).toMatchObject({ id: far, isReachable: true, hops: 2, state: 'stale', lastSeenMs: 1 });
  expect(two).not.toHaveProperty('roundTripMs');
});

test('a hub that says so has no network, and bounds of its capabilities are known', () => {
  const vision = { type: 'vision', description: '', constraints: { max_image_mb: 20 } };
  const news = { features: ['wire:bytes', 'wire:offline'], capabilities: [vision, { type: 'gpu', description: '' }] };
  const [one, two] = peersOf({ near: 'fresh', far: 'fresh' }, news).peers();
  expect([one?.isOnline, two?.isOnline]).toEqual([false, undefined]);
  expect(one?.constraints).toEqual(new Map([['vision', { max_image_mb: 20 }]]));
});

test.each([
  ['a hub that has left leads nowhere', { near: 'left', far: 'fresh' }],
  ['a hub that is gone is not reached over one that still tells of it', { near: 'fresh', far: 'gone' }],
] as const)('%s', (_, states) => {
  const peers = peersOf(states);
  expect(peers.routeTo(far)).toBeUndefined();
  expect(peers.peers().map(({ isReachable }) => isReachable)).toEqual([states.near === 'fresh', false]);
});
