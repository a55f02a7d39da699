import { describe, expect, test } from 'vitest';
import { type CborValue, decodeCbor, encodeCbor } from '../../src/codec/cbor.ts';
import { openBox, sealBox } from '../../src/codec/passphrase-encryption.ts';

const SECRET = Uint8Array.from({ length: 48 }, (_, index) => index);
const BOX = await sealBox(SECRET, 'correct horse');

/** The box with one member replaced. */
function changed(key: number, value: CborValue): Uint8Array {
  return encodeCbor(new Map([...(decodeCbor(BOX) as Map<number, CborValue>), [key, value]]));
}

describe('a sealed box', () => {
  test('opens with its passphrase to the same bytes', async () => {
    expect(await openBox(BOX, 'correct horse')).toEqual(SECRET);
  });

  test('opens with the same letters written as other code points', async () => {
    expect(await openBox(await sealBox(SECRET, 'schl\u00fcssel'), 'schlu\u0308ssel')).toEqual(SECRET);
  });

  test('hides its content, and differs each time', async () => {
    const again = await sealBox(SECRET, 'correct horse');
    expect(Buffer.from(BOX).includes(Buffer.from(SECRET.subarray(0, 8)))).toBe(false);
    expect(Buffer.compare(BOX, again)).not.toBe(0);
  });

  test('is refused with another passphrase', async () => {
    await expect(openBox(BOX, 'correct horse ')).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('passphrase'),
    });
  });

  test('is refused when any byte of its content, nonce or salt was changed', async () => {
    const members = decodeCbor(BOX) as Map<number, Uint8Array>;
    for (const key of [5, 6, 7]) {
      const bytes = Uint8Array.from(members.get(key) ?? []);
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
      await expect(openBox(changed(key, bytes), 'correct horse')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    }
  });

  test.each([
    ['another format', 1, 2],
    ['a cost that takes gigabytes', 2, 30],
    ['a cost that protects nothing', 2, 1],
    ['a block size that takes gigabytes', 3, 1_048_576],
    ['a parallelism that takes hours', 4, 65_536],
    ['a short salt', 5, new Uint8Array(4)],
    ['a tag that is cut', 7, new Uint8Array(8)],
  ] as const)('%s is refused before any key is derived', async (_name, key, value) => {
    // A key comes from another thread, and so in another turn.
    const nextTurn = new Promise((resolve) => setImmediate(resolve));
    const opened = Promise.race([openBox(changed(key, value), 'correct horse'), nextTurn]);
    await expect(opened).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('is not made without a passphrase', async () => {
    await expect(sealBox(SECRET, '')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('is not made of more bytes than the limit', async () => {
    await expect(sealBox(new Uint8Array(4_097), 'correct horse')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});
