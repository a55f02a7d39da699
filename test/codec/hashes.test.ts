import { blake3 } from '@noble/hashes/blake3.js';
import { expect, test } from 'vitest';
import { blake3Hex, sha256Hex } from '../../src/codec/hashes.ts';

test('SHA-256 of "abc" is the example of FIPS 180-4', () => {
  expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('BLAKE3 of nothing is the first vector of its reference', () => {
  expect(blake3Hex('')).toBe('af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262');
});

test('BLAKE3 of "abc" is the published value', () => {
  expect(blake3Hex('abc')).toBe('6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85');
});

test('text is hashed as UTF-8', () => {
  expect(sha256Hex('ä')).not.toBe(sha256Hex('\u00e4\u0000'));
  expect(sha256Hex('ä')).toBe(sha256Hex(Buffer.from([0xc3, 0xa4]).toString('utf8')));
});

test('BLAKE3 of a text is the same however often and among however many others it is asked for', () => {
  const texts = Array.from({ length: 200 }, (_, index) => `text ${index} `.repeat(index * 3));
  for (const text of [...texts, ...texts.toReversed(), ...texts]) {
    expect(blake3Hex(text)).toBe(Buffer.from(blake3(Buffer.from(text, 'utf8'))).toString('hex'));
  }
});
