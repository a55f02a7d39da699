import { createPrivateKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { getPublicKeyAsync, Point } from '@noble/ed25519';
import { describe, expect, test } from 'vitest';
import { generatePrivateKey, publicKeyOf, rawPublicKey } from '../../src/codec/public-key.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const rawOf = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url');
const ZEROS = '00'.repeat(30);
const ONES = 'ff'.repeat(30);

/** All encodings of the eight points of small order: with the sign bit on or off, and with y or y + p. */
const SMALL_ORDER: readonly (readonly [string, string])[] = [
  ['order 4, y = 0', `00${ZEROS}00`],
  ['order 4, y = 0, sign', `00${ZEROS}80`],
  ['order 1, y = 1', `01${ZEROS}00`],
  ['order 1, y = 1, sign', `01${ZEROS}80`],
  ['order 2, y = −1', `ec${ONES}7f`],
  ['order 2, y = −1, sign', `ec${ONES}ff`],
  ['order 4, y = p', `ed${ONES}7f`],
  ['order 4, y = p, sign', `ed${ONES}ff`],
  ['order 1, y = p + 1', `ee${ONES}7f`],
  ['order 1, y = p + 1, sign', `ee${ONES}ff`],
  ['order 8, first', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
  ['order 8, first, sign', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85'],
  ['order 8, second', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'],
  ['order 8, second, sign', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa'],
];

describe('a public key', () => {
  test('verifies what its private key signed', () => {
    const key = generatePrivateKey();
    const message = Buffer.from('open the door');
    expect(verify(null, message, publicKeyOf(rawPublicKey(key)), sign(null, message, key))).toBe(true);
  });

  test('has the raw form of RFC 8032, test 1', async () => {
    const seed = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
    const x = Buffer.from(await getPublicKeyAsync(seed)).toString('base64url');
    const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d: seed.toString('base64url'), x }, format: 'jwk' });
    expect(rawPublicKey(key)).toBe(rawOf('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'));
    expect(rawPublicKey(publicKeyOf(rawPublicKey(key)))).toBe(rawPublicKey(key));
  });

  test('is the same object after its first check', () => {
    const raw = rawPublicKey(generatePrivateKey());
    expect(publicKeyOf(raw)).toBe(publicKeyOf(raw));
  });
});

describe('a public key is refused', () => {
  test.each(SMALL_ORDER)('of small order: %s', (_name, hex) => {
    // ZIP 215 reads every encoding of a point: each of the list really is one of small order.
    expect(Point.fromHex(hex, true).isSmallOrder()).toBe(true);
    expect(() => publicKeyOf(rawOf(hex))).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });

  test('when y is not below p, though the point is valid', () => {
    // y = 3 is on the curve, and 3 + p is its other encoding.
    expect(Point.fromHex(`03${ZEROS}00`).isSmallOrder()).toBe(false);
    expect(publicKeyOf(rawOf(`03${ZEROS}00`)).asymmetricKeyType).toBe('ed25519');
    expect(Point.fromHex(`f0${ONES}7f`, true).equals(Point.fromHex(`03${ZEROS}00`))).toBe(true);
    expect(() => publicKeyOf(rawOf(`f0${ONES}7f`))).toThrow(/canonical/);
  });

  test('when it is not on the curve', () => {
    expect(() => publicKeyOf(rawOf(`02${ZEROS}00`))).toThrow(/canonical encoding of a point/);
  });

  test('in any other text of its bytes', () => {
    const raw = rawPublicKey(generatePrivateKey());
    const last = raw.at(-1) ?? '';
    // The last character carries four bits: the next three of the alphabet decode to the same bytes.
    const spares = [1, 2, 3].map((more) => raw.slice(0, -1) + ALPHABET[ALPHABET.indexOf(last) + more]);
    expect(spares.map((text) => Buffer.from(text, 'base64url').toString('base64url'))).toEqual([raw, raw, raw]);
    for (const text of [...spares, `${raw}=`, `${raw}A`, raw.slice(0, -1), ` ${raw}`, `${raw}\n`, '', rawOf(`${'00'.repeat(33)}`)]) {
      expect(() => publicKeyOf(text)).toThrow(/not 32 bytes in base64url/);
    }
    expect(() => publicKeyOf(`+/${raw.slice(2)}`)).toThrow(/not 32 bytes in base64url/);
  });

  test('of another kind', () => {
    expect(() => rawPublicKey(generateKeyPairSync('x25519').publicKey)).toThrow(/not an Ed25519 key but x25519/);
  });
});
