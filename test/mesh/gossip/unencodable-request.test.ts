import { expect, test, vi } from 'vitest';
import { AntiEntropy } from '../../../src/mesh/gossip/anti-entropy.ts';
import type { MeshDirectory } from '../../../src/mesh/gossip/mesh-directory.ts';
import type { PeerLink, PeerLinks } from '../../../src/mesh/rpc/peer-link.ts';
import { ManualClock } from '../../manual-clock.ts';

test('a request that cannot be encoded is not sent, and is tried again later', async () => {
  const clock = new ManualClock();
  const request = vi.fn(async () => new Uint8Array());
  const link = { peer: { id: 'hub-0000000000000001' }, roundTripMs: undefined, request } as unknown as PeerLink;
  const links: PeerLinks = {
    links: () => [link],
    to: () => link,
    handle: () => undefined,
    onLinkUp: () => () => undefined,
    onLinkDown: () => () => undefined,
  };
  const vector = vi.fn(() => [{ hubId: 'no hub', epoch: 1, sequence: 1 }]);
  const directory = { vector, onBehind: () => () => undefined } as unknown as MeshDirectory;
  await using exchange = new AntiEntropy({ links, directory, clock, random: () => 0.5 });
  await exchange.start();
  await expect.poll(() => vector.mock.calls.length).toBe(1);
  clock.advance(1_000);
  clock.advance(30_000);
  await expect.poll(() => vector.mock.calls.length).toBe(2);
  expect(request).not.toHaveBeenCalled();
});
