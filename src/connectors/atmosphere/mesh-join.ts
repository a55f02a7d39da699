import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readSecret } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, tryParseJson } from '../../core/json.ts';
import type { AtmosphereConfig } from './atmosphere-config.ts';

/** Makes the first frame of a connection, for a node with the names of the capabilities that it announces. */
type CreateJoinFrame = (node: { readonly nodeId: string; readonly name: string; readonly capabilities: readonly string[] }) => JsonObject;

/** PKCS #8 of an Ed25519 key without the key (RFC 8410, section 7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const KEY_BYTES = 32;
const TOKEN_MEMBERS = ['mesh_id', 'issuer_id', 'nonce', 'signature'] as const;

/**
 * Enters the relay: by `register_mesh` with the founder's key, else by `join` with a token, or without one where the mesh is open.
 * CONFIG_INVALID for a secret that is malformed, or for another mesh or node.
 */
export function createMeshJoin(
  { meshId, meshKey, token }: Pick<AtmosphereConfig, 'meshId' | 'meshKey' | 'token'>,
  nodeId: string,
  env: NodeJS.ProcessEnv,
): CreateJoinFrame {
  if (meshKey !== undefined && token !== undefined) throw invalid('has mesh_key and token: a founder needs no token');
  if (meshKey !== undefined) return founderJoin(meshId, readSecret(meshKey, env));
  const joinToken = token === undefined ? undefined : parseJoinToken(readSecret(token, env), meshId, nodeId);
  return (node) => ({
    type: 'join',
    mesh_id: meshId,
    node_id: node.nodeId,
    name: node.name,
    capabilities: node.capabilities,
    ...(joinToken && { token: joinToken }),
  });
}

/** Node and mesh ids of the project: the first 16 hex digits of the SHA-256 of a raw public key. */
export function idOfKey(rawPublicKey: Uint8Array): string {
  return createHash('sha256').update(rawPublicKey).digest('hex').slice(0, 16);
}

function founderJoin(meshId: string, secret: string): CreateJoinFrame {
  const seed = /^[0-9a-f]{64}$/i.test(secret) ? Buffer.from(secret, 'hex') : Buffer.from(secret, 'base64');
  if (seed.length !== KEY_BYTES) throw invalid('mesh_key is not 32 bytes in hex or base64');
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' });
  const rawKey = Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url');
  if (idOfKey(rawKey) !== meshId) throw invalid(`mesh_key is that of mesh ${idOfKey(rawKey)}, and mesh_id is ${meshId}`);
  const publicKey = rawKey.toString('base64');
  const proof = sign(null, Buffer.from(meshId), key).toString('base64');
  return (node) => ({
    type: 'register_mesh',
    mesh_id: meshId,
    mesh_public_key: publicKey,
    founder_proof: proof,
    node_id: node.nodeId,
    // Peers check the proof with this key. A node that holds the key of the mesh needs no other.
    node_public_key: publicKey,
    name: node.name,
    display_name: node.name,
    capabilities: node.capabilities,
  });
}

function parseJoinToken(secret: string, meshId: string, nodeId: string): JsonObject {
  const token = tryParseJson(secret.startsWith('{') ? secret : Buffer.from(secret, 'base64url').toString('utf8'));
  if (!isJsonObject(token) || TOKEN_MEMBERS.some((name) => typeof token[name] !== 'string')) {
    throw invalid(`token is none: it is JSON with ${TOKEN_MEMBERS.join(', ')}, or that in base64url`);
  }
  if (token.mesh_id !== meshId) throw invalid(`token is for another mesh than ${meshId}`);
  const bound = token.node_id ?? null;
  if (bound !== null && bound !== nodeId) throw invalid(`token is for another node; this hub is ${nodeId} there`);
  return token;
}

function invalid(problem: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', `connectors.atmosphere: ${problem}`);
}
