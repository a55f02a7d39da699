import { BytesStreamReader } from '@matter/main';
import { BdxError } from '@matter/main/protocol';
import { expect, test } from 'vitest';
import { AbortableImage } from '../../../src/matter/updates/ota-provider.ts';

const BYTES = Uint8Array.from({ length: 20_000 }, (_, index) => index % 251);

const imageUntil = (end: AbortSignal, onRead = (): void => undefined) => new AbortableImage(new Blob([BYTES]), { end, onRead });

/** Blocks as matter.js's transfer takes them. */
async function blocks(image: AbortableImage, onBlock: (count: number) => void = () => undefined): Promise<Buffer> {
  const taken: Uint8Array[] = [];
  for await (const block of new BytesStreamReader(image.stream().getReader()).read(1024)) {
    taken.push(new Uint8Array(block as Uint8Array));
    onBlock(taken.length);
  }
  return Buffer.concat(taken);
}

test('an image, or the rest of it, is sent unchanged', async () => {
  const image = imageUntil(new AbortController().signal);
  expect(image.size).toBe(20_000);
  expect((await blocks(image)).equals(BYTES)).toBe(true);
  const rest = image.slice(5000, 9096);
  expect(rest.size).toBe(4096);
  expect((await blocks(rest)).equals(BYTES.subarray(5000, 9096))).toBe(true);
});

test('a piece of an image is read only when blocks of it are requested', async () => {
  let reads = 0;
  const image = imageUntil(new AbortController().signal, () => {
    reads += 1;
  });
  const transfer = new BytesStreamReader(image.stream().getReader()).read(1024);
  expect(reads).toBe(0);
  await transfer.next();
  const afterFirst = reads;
  await new Promise(setImmediate);
  expect(reads).toBe(afterFirst);
  for (let block = 0; block < 8; block++) await transfer.next();
  expect(reads).toBeGreaterThan(afterFirst);
});

test('a withdrawn image ends within a few blocks, with an error for the device', async () => {
  const end = new AbortController();
  let sent = 0;
  const image = imageUntil(end.signal);
  const reading = blocks(image, (count) => {
    sent = count;
    if (count === 2) end.abort();
  });
  await expect(reading).rejects.toBeInstanceOf(BdxError);
  expect(sent).toBeLessThanOrEqual(6);
});

test('the stream of a withdrawn image can be cancelled without a rejection', async () => {
  const end = new AbortController();
  const stream = imageUntil(end.signal).stream();
  end.abort();
  const reader = stream.getReader();
  await expect(reader.read()).rejects.toBeInstanceOf(BdxError);
  reader.releaseLock();
  await expect(stream.cancel()).resolves.toBeUndefined();
});
