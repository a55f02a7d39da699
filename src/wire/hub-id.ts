import type { HubId } from '../core/ids.ts';
import { sha256Hex } from './hashes.ts';

/** `hub-` and the first 16 hex digits of the SHA-256 of a hub's raw Ed25519 key (32 bytes, base64url). */
export function hubIdOf(publicKey: string): HubId {
  return `hub-${idOf(publicKey)}` as HubId;
}

/** The same for a mesh and its root key: `mesh-` and 16 hex digits. */
export function meshIdOf(rootKey: string): string {
  return `mesh-${idOf(rootKey)}`;
}

function idOf(publicKey: string): string {
  return sha256Hex(Buffer.from(publicKey, 'base64url')).slice(0, 16);
}
