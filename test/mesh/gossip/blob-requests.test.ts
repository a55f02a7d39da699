import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { blobRequestCodec } from '../../../src/codec/messages/sync.ts';
import type { HubId } from '../../../src/core/ids.ts';
import { BlobExchange } from '../../../src/mesh/gossip/blob-exchange.ts';
import { BlobStore, blobOf, shortName } from '../../../src/mesh/gossip/blob-store.ts';
import { DropCounter } from '../../../src/mesh/gossip/gossip-limits.ts';
import type { MeshDirectory } from '../../../src/mesh/gossip/mesh-directory.ts';
import type { PeerLinks, RequestHandler } from '../../../src/mesh/rpc/peer-link.ts';
import { ManualClock } from '../../manual-clock.ts';
import { never } from '../rpc/link-fixture.ts';

const KIB_64 = 65_536;
const neighbour = 'hub-0123456789abcdef' as HubId;

/** A hub with as many blobs of 64 KiB, and how a neighbour asks it for all of them. */
async function hubWithBlobs(count: number) {
  const clock = new ManualClock();
  const blobs = new BlobStore();
  const hashes = Array.from({ length: count }, () => {
    const bytes = new Uint8Array(randomBytes(KIB_64));
    const blob = blobOf(bytes);
    blobs.add(blob);
    return shortName(blob.sha256);
  });
  const handlers: RequestHandler[] = [];
  const nothing = () => () => {};
  const links: PeerLinks = {
    links: () => [],
    to: () => undefined,
    handle: (_, handler) => void handlers.push(handler),
    onLinkUp: nothing,
    onLinkDown: nothing,
  };
  const directory = { onChange: nothing, missingBlobs: () => new Map() } as unknown as MeshDirectory;
  await new BlobExchange({ links, directory, blobs, drops: new DropCounter(), clock, onArrived: () => {} }).start();
  const body = blobRequestCodec.encode({ hashes });
  const request = (from: HubId) => ({ from, fromKey: '', body, signal: never, accept: () => {}, part: async () => {} });
  const ask = async (from = neighbour) =>
    handlers[0]?.(request(from)).then(
      () => 'answered',
      (error) => error.code,
    );
  return { clock, ask };
}

test('the requests of a neighbour are limited by the bytes of the answers, and no other neighbour waits for them', async () => {
  const { clock, ask } = await hubWithBlobs(16);
  const answers = [];
  for (let count = 0; count < 40; count++) answers.push(await ask());
  expect(answers.filter((answer) => answer === 'answered')).toHaveLength(32);
  expect(answers.at(-1)).toBe('RATE_LIMITED');
  expect(await ask('hub-fedcba9876543210' as HubId)).toBe('answered');
  clock.advance(1_000);
  expect(await ask()).toBe('answered');
});
