import { expect, test } from 'vitest';
import { blobRequestCodec, encodeBlobAnswer } from '../../../src/codec/messages/sync.ts';
import type { HubId } from '../../../src/core/ids.ts';
import { BlobExchange } from '../../../src/mesh/gossip/blob-exchange.ts';
import { BlobStore, blobOf } from '../../../src/mesh/gossip/blob-store.ts';
import { DropCounter } from '../../../src/mesh/gossip/gossip-limits.ts';
import type { MeshDirectory } from '../../../src/mesh/gossip/mesh-directory.ts';
import type { PeerLink } from '../../../src/mesh/rpc/peer-link.ts';
import { settled } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';

const DEFINITION = new TextEncoder().encode('{"tool":{"name":"look"}}');
const NAME = blobOf(DEFINITION).sha256.slice(0, 16);

/** A hub that misses one definition of `origin`, and neighbours that answer with what they like. */
async function stage(answers: Readonly<Record<string, Uint8Array | null>>) {
  const clock = new ManualClock();
  const [blobs, drops, asked] = [new BlobStore(), new DropCounter(), [] as string[]];
  const links = Object.entries(answers).map(([id, blob]) => ({
    peer: { id },
    request: async (_: string, body: Uint8Array) => {
      asked.push(id);
      return encodeBlobAnswer({ blobs: blobRequestCodec.decode(body).hashes.map(() => blob) });
    },
  })) as unknown as readonly PeerLink[];
  const nobody = () => () => undefined;
  const missingBlobs = () => (blobs.has(NAME) ? new Map() : new Map([[NAME, 'origin']]));
  let arrivals = 0;
  const exchange = new BlobExchange({
    links: {
      links: () => links,
      to: (id: HubId) => links.find(({ peer }) => peer.id === id),
      handle: nobody,
      onLinkUp: nobody,
      onLinkDown: nobody,
    },
    directory: { missingBlobs, onChange: nobody, assemble: nobody } as unknown as MeshDirectory,
    blobs,
    drops,
    clock,
    onArrived: () => void arrivals++,
  });
  await exchange.start();
  for (let step = 0; step < 10; step++) {
    clock.advance(5);
    await settled();
  }
  return { blobs, drops: drops.counts(), asked, arrivals: () => arrivals };
}

test('a definition is fetched from the hub that announced it', async () => {
  const { blobs, asked, arrivals } = await stage({ other: DEFINITION, origin: DEFINITION });
  expect([blobs.get(NAME), asked, arrivals()]).toEqual([DEFINITION, ['origin'], 1]);
});

test('a definition with another hash than requested is dropped, counted and requested from another hub', async () => {
  const { blobs, drops, asked } = await stage({ origin: new TextEncoder().encode('{"tool":{"name":"unlock"}}'), other: DEFINITION });
  expect(asked.slice(0, 2)).toEqual(['origin', 'other']);
  expect([blobs.get(NAME), drops.wrong_blob, blobs.bytes]).toEqual([DEFINITION, 1, DEFINITION.length]);
});

test('a definition that its announcer does not have is requested from another hub', async () => {
  const { blobs, asked } = await stage({ origin: null, other: DEFINITION });
  expect([blobs.get(NAME), asked.slice(0, 2)]).toEqual([DEFINITION, ['origin', 'other']]);
});
