import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  byScrypt,
  type Derive,
  HEADER_BYTES,
  openStream,
  SMALL_ARCHIVE_COST,
  sealStream,
} from '../../../src/storage/backup/archive-encryption.ts';
import { quickly } from './quick-derivation.ts';

const PASSPHRASE = 'five words that nobody guesses';
const CHUNK = 65_536;
const SEALED_CHUNK = CHUNK + 16;

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

const seal = (content: Uint8Array) => whole(sealStream(inPieces(content, 10_000), PASSPHRASE, { derive: quickly }));
const unseal = (sealed: Uint8Array, passphrase = PASSPHRASE, derive = quickly) =>
  whole(openStream(inPieces(sealed, 7_777), passphrase, derive));
const codeOf = (sealed: Uint8Array, passphrase?: string, derive?: Derive) =>
  unseal(sealed, passphrase, derive).then(
    () => 'opened',
    (error) => error.code,
  );

describe('content under a passphrase', () => {
  const content = randomBytes(2 * CHUNK + 1000);
  let sealed: Buffer;
  beforeAll(async () => {
    sealed = await seal(content);
  });

  test.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK])(
    'of %i bytes comes back, whatever the pieces in which it travels',
    async (size) => {
      const part = content.subarray(0, size);
      expect((await unseal(await seal(part))).equals(part)).toBe(true);
    },
  );

  test('shows nothing of itself, nor that it is the same as before', async () => {
    const marked = await seal(Buffer.alloc(1000, 'secret'));
    expect(marked.includes('secret')).toBe(false);
    expect((await seal(content)).subarray(HEADER_BYTES).equals(sealed.subarray(HEADER_BYTES))).toBe(false);
  });

  test('opens with no other passphrase, but however its letters are composed', async () => {
    expect(await codeOf(sealed, `${PASSPHRASE} `)).toBe('PERMISSION_DENIED');
    const composed = await whole(sealStream(inPieces(content, CHUNK), 'caf\u00e9 caf\u00e9 caf\u00e9', { derive: byScrypt }));
    expect(await codeOf(composed, 'cafe\u0301 cafe\u0301 cafe\u0301', byScrypt)).toBe('opened');
  });

  test('is under the keys of scrypt (RFC 7914 §12)', async () => {
    const key = await byScrypt('password', Buffer.from('NaCl'), { logN: 10, r: 8, p: 16 });
    expect(key.toString('hex')).toBe(
      'fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640',
    );
  });

  test('is under scrypt with 64 MiB, and a made-up cost is refused before it is paid', async () => {
    expect([...sealed.subarray(24, 27)]).toEqual([16, 8, 1]);
    for (const [at, cost] of [
      [24, 31],
      [24, 1],
      [25, 255],
      [26, 255],
    ] as const) {
      const costly = Buffer.from(sealed);
      costly.writeUInt8(cost, at);
      await expect(whole(openStream(inPieces(costly, CHUNK), PASSPHRASE, () => Promise.reject(new Error('paid'))))).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
      });
    }
    expect(
      (await whole(openStream(inPieces(await whole(sealStream(inPieces(content, CHUNK), PASSPHRASE)), CHUNK), PASSPHRASE))).equals(content),
    ).toBe(true);
  });

  test('is under scrypt with 16 MiB where memory is short, and with no less', async () => {
    const small = await whole(sealStream(inPieces(content, CHUNK), PASSPHRASE, { derive: quickly, cost: SMALL_ARCHIVE_COST }));
    expect([...small.subarray(24, 27)]).toEqual([14, 8, 5]);
    expect((await unseal(small)).equals(content)).toBe(true);
    small.writeUInt8(13, 24);
    expect(await codeOf(small)).toBe('VALIDATION_ERROR');
  });

  test('of a newer format is distinguished from a damaged one', async () => {
    const newer = Buffer.from(sealed);
    newer.writeUInt8(2, 23);
    await expect(unseal(newer)).rejects.toMatchObject({ code: 'NOT_SUPPORTED', message: expect.stringContaining('format 2') });
  });

  test('is refused with any bit of its header turned over', async () => {
    for (let at = 0; at < HEADER_BYTES; at++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(at) ^ 0x80, at);
      expect(['VALIDATION_ERROR', 'NOT_SUPPORTED', 'PERMISSION_DENIED']).toContain(await codeOf(changed));
    }
  });

  test('is refused with a bit turned over at the beginning, the middle or the tag of any chunk', async () => {
    for (const chunk of [0, 1, 2]) {
      const start = HEADER_BYTES + chunk * SEALED_CHUNK;
      const end = Math.min(start + SEALED_CHUNK, sealed.length);
      for (const at of [start, Math.floor((start + end) / 2), end - 16, end - 1]) {
        const changed = Buffer.from(sealed);
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
        expect(await codeOf(changed)).toBe('VALIDATION_ERROR');
      }
    }
  });

  test('is refused when it is cut off anywhere, also between chunks, or has bytes after its end', async () => {
    for (const length of [
      0,
      10,
      HEADER_BYTES - 1,
      HEADER_BYTES,
      HEADER_BYTES + SEALED_CHUNK,
      HEADER_BYTES + 2 * SEALED_CHUNK,
      sealed.length - 1,
    ]) {
      expect(await codeOf(sealed.subarray(0, length))).toBe('VALIDATION_ERROR');
    }
    expect(await codeOf(Buffer.concat([sealed, Buffer.of(0)]))).toBe('VALIDATION_ERROR');
  });

  test('is refused with chunks doubled, left out or in another order', async () => {
    const [header, first, second, last] = [0, HEADER_BYTES, HEADER_BYTES + SEALED_CHUNK, HEADER_BYTES + 2 * SEALED_CHUNK].map(
      (start, index, starts) => sealed.subarray(start, starts[index + 1] ?? sealed.length),
    ) as [Buffer, Buffer, Buffer, Buffer];
    for (const order of [
      [header, second, first, last],
      [header, first, first, second, last],
      [header, second, last],
      [header, first, second, last, last],
    ]) {
      expect(await codeOf(Buffer.concat(order))).toBe('VALIDATION_ERROR');
    }
  });
});
