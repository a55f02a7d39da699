import { describe, expect, test } from 'vitest';
import { hubIdOf, meshIdOf } from '../../src/codec/public-key.ts';

/** Public key of RFC 8032 §7.1, test 1. */
const KEY = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex').toString('base64url');

describe('ids that come from keys', () => {
  test('the id of a hub is the SHA-256 of the 32 raw bytes of its key, as sha256sum prints it', () => {
    expect(hubIdOf(KEY)).toBe('hub-21fe31dfa154a261');
  });

  test('the id of a mesh is made from its root key in the same way', () => {
    expect(meshIdOf(KEY)).toBe('mesh-21fe31dfa154a261');
  });
});
