import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import type { JsonObject } from '../../../src/core/json.ts';

/** A mesh with its key, and tokens as its founder signs them. */
export function makeMesh() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  const meshId = createHash('sha256').update(raw).digest('hex').slice(0, 16);
  const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
  let tokens = 0;
  const token = (over: JsonObject = {}): JsonObject => {
    // Sorted keys without spaces: what the relay checks the signature over.
    const signed = {
      capabilities: ['participant'],
      expires_at: 4_000_000_000,
      issued_at: 1_770_000_000,
      issuer_id: 'f'.repeat(16),
      mesh_id: meshId,
      node_id: null,
      nonce: `nonce-${tokens++}`,
    };
    const signature = sign(null, Buffer.from(JSON.stringify({ ...signed, ...over })), privateKey).toString('base64');
    return { ...signed, ...over, signature };
  };
  return { meshId, seedHex: seed.toString('hex'), publicKey: raw, token };
}

/** A payload as the original announces. */
export function gossip(from: string, over: JsonObject = {}): JsonObject {
  const inner = { type: 'announce', from, capabilities: [capability()], timestamp: 1_767_225_600, ttl: 10, nonce: 'n1', ...over };
  return { type: 'gossip', node_id: from, data: Buffer.from(JSON.stringify(inner)).toString('base64'), capabilities: ['llm'] };
}

export function capability(over: JsonObject = {}): JsonObject {
  return { id: 'a:llm', label: 'llm', description: 'A model', vector: [0.1, 0.2], local: true, hops: 0, ...over };
}
