import './matter-platform.ts';
import {
  createCipheriv,
  createDecipheriv,
  createECDH,
  createHash,
  createHmac,
  createSecretKey,
  createSign,
  createVerify,
  hkdf,
  type KeyObject,
  pbkdf2,
  randomBytes,
} from 'node:crypto';
import { type NodeJsCryptoApiLike, NodeJsStyleCrypto } from '@matter/main';

/**
 * Returns the cryptography of Node for matter.js, with one key object for each session key. From the bytes of a key, Node makes such an
 * object for each message, which takes longer than the encryption of the message itself (AES-128-CCM, Matter core specification 4.8.2).
 *
 * A key object is kept as long as matter.js keeps the bytes: until its session ends.
 */
export function sessionCrypto(): NodeJsStyleCrypto {
  const keys = new WeakMap<Uint8Array, KeyObject>();
  const kept = (bytes: Uint8Array): KeyObject => {
    const key = keys.get(bytes) ?? createSecretKey(bytes);
    keys.set(bytes, key);
    return key;
  };
  const node: NodeJsCryptoApiLike = {
    createCipheriv: (algorithm, key, nonce, options) => createCipheriv(algorithm, kept(key), nonce, options),
    createDecipheriv: (algorithm, key, nonce, options) => createDecipheriv(algorithm, kept(key), nonce, options),
    createECDH,
    createHash,
    createHmac,
    createSign,
    createVerify,
    hkdf,
    pbkdf2,
    randomBytes,
  };
  return new NodeJsStyleCrypto(node);
}
