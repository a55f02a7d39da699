import { BytesStreamReader } from '@matter/main';
import { BdxError } from '@matter/main/protocol';
import { expect, test } from 'vitest';
import { AbortableImage } from '../../../src/matter/updates/ota-provider.ts';

const BYTES = Uint8Array.from({ length: 20_000 }, (_, index) => index % 251);

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
  const image = new AbortableImage(new Blob([BYTES]), new AbortController().signal);
  expect(image.size).toBe(20_000);
  expect((await blocks(image)).equals(BYTES)).toBe(true);
  const rest = image.slice(5000, 9096);
  expect(rest.size).toBe(4096);
  expect((await blocks(rest)).equals(BYTES.subarray(5000, 9096))).toBe(true);
});

test('a withdrawn image ends within a few blocks, with an error for the device', async () => {
  const end = new AbortController();
  let sent = 0;
  const image = new AbortableImage(new Blob([BYTES]), end.signal);
  const reading = blocks(image, (count) => {
    sent = count;
    if (count === 2) end.abort();
  });
  await expect(reading).rejects.toBeInstanceOf(BdxError);
  expect(sent).toBeLessThanOrEqual(6);
});

test('the stream of a withdrawn image can be cancelled without a rejection', async () => {
  const end = new AbortController();
  const stream = new AbortableImage(new Blob([BYTES]), end.signal).stream();
  end.abort();
  const reader = stream.getReader();
  await expect(reader.read()).rejects.toBeInstanceOf(BdxError);
  reader.releaseLock();
  await expect(stream.cancel()).resolves.toBeUndefined();
});
