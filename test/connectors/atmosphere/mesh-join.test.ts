import { createPublicKey, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createMeshJoin, idOfKey } from '../../../src/connectors/atmosphere/atmosphere-bridge.ts';
import { makeMesh } from './atmosphere-fixture.ts';

const NODE = { nodeId: 'a'.repeat(16), name: 'hall', capabilities: ['core:echo'] };
const mesh = makeMesh();
const { meshId } = mesh;
const invalid = expect.objectContaining({ code: 'CONFIG_INVALID' });

function entryOf(secrets: Partial<Record<'meshKey' | 'token', string>>) {
  const sources = Object.fromEntries(Object.keys(secrets).map((name) => [name, `env:${name}`]));
  return createMeshJoin({ meshId, ...sources }, NODE.nodeId, secrets)(NODE);
}

describe('a founder', () => {
  test.each([
    ['hex', mesh.seedHex],
    ['base64', Buffer.from(mesh.seedHex, 'hex').toString('base64')],
  ])('registers the mesh with a proof that its key makes (%s)', (_, meshKey) => {
    const frame = entryOf({ meshKey });
    expect(frame).toMatchObject({
      type: 'register_mesh',
      mesh_id: meshId,
      node_id: NODE.nodeId,
      mesh_public_key: mesh.publicKey.toString('base64'),
    });
    const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: mesh.publicKey.toString('base64url') } });
    expect(verify(null, Buffer.from(meshId), key, Buffer.from(String(frame.founder_proof), 'base64'))).toBe(true);
    expect(JSON.stringify(frame)).not.toContain(meshKey);
  });

  test.each([
    ['a key of another mesh', makeMesh().seedHex],
    ['no key', 'abc'],
  ])('cannot be one with %s', (_, meshKey) => expect(() => entryOf({ meshKey })).toThrow(invalid));

  test('needs no token', () => expect(() => entryOf({ meshKey: mesh.seedHex, token: '{}' })).toThrow(invalid));
});

describe('a member', () => {
  const token = mesh.token();

  test.each([
    ['JSON', JSON.stringify(token)],
    ['base64url', Buffer.from(JSON.stringify(token)).toString('base64url')],
  ])('joins with the token as it was issued (%s)', (_, text) => {
    expect(entryOf({ token: text })).toEqual({
      type: 'join',
      mesh_id: meshId,
      node_id: NODE.nodeId,
      name: 'hall',
      capabilities: ['core:echo'],
      token,
    });
  });

  test('joins an open mesh without a token', () => expect(entryOf({})).not.toHaveProperty('token'));

  test.each([
    ['of another mesh', JSON.stringify(makeMesh().token())],
    ['for another node', JSON.stringify(mesh.token({ node_id: 'b'.repeat(16) }))],
    ['without a signature', JSON.stringify({ ...token, signature: null })],
    ['that is none', 'hello'],
  ])('is told at the start of a token %s, without the token', (_, text) => {
    expect(() => entryOf({ token: text })).toThrow(invalid);
    expect(() => entryOf({ token: text })).not.toThrow(text);
  });
});

test('ids are the first 16 hex digits of the SHA-256 of a raw key', () => {
  expect(idOfKey(new Uint8Array(32))).toBe('66687aadf862bd77');
});
