import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { MAX_BLOB_BYTES } from '../../../src/codec/messages/sync.ts';
import type { HubId } from '../../../src/core/ids.ts';
import { BlobStore, blobOf } from '../../../src/mesh/gossip/blob-store.ts';

const blob = (text: string) => new TextEncoder().encode(text);
const name = (bytes: Uint8Array, digits = 16) => createHash('sha256').update(bytes).digest('hex').slice(0, digits);

describe('BlobStore', () => {
  test('finds a blob by 8 and by 16 bytes of its hash', () => {
    const store = new BlobStore();
    expect(store.add(blobOf(blob('one')))).toBe(true);
    expect(store.get(name(blob('one')))).toEqual(blob('one'));
    expect(store.get(name(blob('one'), 32))).toEqual(blob('one'));
  });

  test('distinguishes blobs whose names begin alike', () => {
    const store = new BlobStore();
    store.add(blobOf(blob('one')));
    expect(store.get(`${name(blob('one'))}${'0'.repeat(16)}`)).toBeUndefined();
  });

  test('refuses a blob that is too large, and one beyond its capacity', () => {
    const store = new BlobStore({ maxBytes: 10 });
    expect(store.add(blobOf(new Uint8Array(MAX_BLOB_BYTES + 1)))).toBe(false);
    expect(store.add(blobOf(blob('12345678')))).toBe(true);
    expect(store.add(blobOf(blob('abcd')))).toBe(false);
    expect(store.bytes).toBe(8);
  });

  test('gives one hub at most a quarter of its capacity, until the blobs of the hub are deleted', () => {
    const store = new BlobStore({ maxBytes: 40 });
    const [greedy, modest] = ['hub-a' as HubId, 'hub-b' as HubId];
    expect([store.add(blobOf(blob('12345678')), greedy), store.isFullFor(greedy)]).toEqual([true, false]);
    expect([store.add(blobOf(blob('abcdefgh')), greedy), store.isFullFor(greedy)]).toEqual([true, true]);
    expect([store.add(blobOf(blob('x')), greedy), store.add(blobOf(blob('y')), modest)]).toEqual([false, true]);
    store.retain(new Set());
    expect([store.bytes, store.add(blobOf(blob('x')), greedy)]).toEqual([0, true]);
  });

  test('deletes unused blobs, but never its own', () => {
    const store = new BlobStore();
    store.setOwn([blobOf(blob('mine'))]);
    store.add(blobOf(blob('used')));
    store.add(blobOf(blob('unused')));
    store.retain(new Set([name(blob('used'))]));
    expect(store.has(name(blob('mine')))).toBe(true);
    expect(store.has(name(blob('used')))).toBe(true);
    expect(store.has(name(blob('unused')))).toBe(false);
    expect(store.bytes).toBe(4);
  });

  test('deletes a blob that came after its set of used blobs', () => {
    const store = new BlobStore();
    const used = new Set([name(blob('used'))]);
    store.retain(used);
    store.add(blobOf(blob('unused')));
    store.retain(used);
    expect(store.has(name(blob('unused')))).toBe(false);
  });
});
