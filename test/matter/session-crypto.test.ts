import { randomBytes } from 'node:crypto';
import type { NodeJsStyleCrypto } from '@matter/main';
import { NodeJsCrypto } from '@matter/nodejs';
import { describe, expect, test } from 'vitest';
import { sessionCrypto } from '../../src/matter/session-crypto.ts';

const bare = new NodeJsCrypto();
const bytes = (length: number) => new Uint8Array(randomBytes(length));
const [nonce, header] = [bytes(13), bytes(8)];
const message = new TextEncoder().encode('turn on');

describe('the cryptography of sessions', () => {
  test('encrypts and decrypts as matter.js does, also when a key is used again', () => {
    const crypto = sessionCrypto();
    const key = bytes(16);
    for (let count = 0; count < 3; count++) {
      const sealed = crypto.encrypt(key, message, nonce, header);
      expect(sealed).toEqual(bare.encrypt(key, message, nonce, header));
      expect(Buffer.from(crypto.decrypt(key, sealed, nonce, header) as Uint8Array).toString()).toBe('turn on');
    }
  });

  test('keeps the keys of two sessions apart', () => {
    const crypto = sessionCrypto();
    const [one, other] = [bytes(16), bytes(16)];
    const sealed = crypto.encrypt(one, message, nonce, header);
    expect(() => crypto.decrypt(other, sealed, nonce, header)).toThrow('decryption failed');
    expect(crypto.encrypt(other, message, nonce, header)).toEqual(bare.encrypt(other, message, nonce, header));
    expect(crypto.decrypt(one, sealed, nonce, header)).toEqual(bare.decrypt(one, sealed, nonce, header));
  });

  test('refuses a message that was changed, or whose header was', () => {
    const crypto = sessionCrypto();
    const key = bytes(16);
    const sealed = new Uint8Array(crypto.encrypt(key, message, nonce, header) as Uint8Array);
    expect(() => crypto.decrypt(key, sealed, nonce, bytes(8))).toThrow('decryption failed');
    sealed[0] = (sealed[0] ?? 0) ^ 1;
    expect(() => crypto.decrypt(key, sealed, nonce, header)).toThrow('decryption failed');
  });

  test('gives matter.js all functions that it expects of Node', async () => {
    const crypto: NodeJsStyleCrypto = sessionCrypto();
    const key = await crypto.createKeyPair();
    const signature = await crypto.signEcdsa(key, message);
    await crypto.verifyEcdsa(key, message, signature);
    await expect(async () => crypto.verifyEcdsa(key, header, signature)).rejects.toThrow();
    expect(await crypto.computeHash(message)).toEqual(await bare.computeHash(message));
    expect(await crypto.signHmac(header, message)).toEqual(await bare.signHmac(header, message));
    expect(await crypto.createHkdfKey(message, header, nonce)).toEqual(await bare.createHkdfKey(message, header, nonce));
    expect(await crypto.createPbkdf2Key(message, header, 1000, 16)).toEqual(await bare.createPbkdf2Key(message, header, 1000, 16));
    expect(crypto.randomBytes(16).byteLength).toBe(16);
  });
});
