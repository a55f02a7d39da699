import type { KeyObject } from 'node:crypto';
import { privateKeyFromRaw } from '@libp2p/crypto/keys';
import type { PeerId, PrivateKey } from '@libp2p/interface';
import { hubIdOf } from '../../codec/public-key.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';

/** Returns a private key in libp2p's form: 32 bytes of seed, 32 bytes of public key. Throws VALIDATION_ERROR if it is not Ed25519. */
export function toLibp2pKey(key: KeyObject): PrivateKey {
  const { d, x } = jwkOf(key);
  return privateKeyFromRaw(Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]));
}

/** Returns the id of the hub with this private key. Throws VALIDATION_ERROR if the key is not a private Ed25519 key. */
export function hubIdOfKey(key: KeyObject): HubId {
  return hubIdOf(jwkOf(key).x);
}

function jwkOf(key: KeyObject): { readonly d: string; readonly x: string } {
  const { crv, d, x } = key.export({ format: 'jwk' });
  if (crv === 'Ed25519' && d !== undefined && x !== undefined) return { d, x };
  throw new AtmoError('VALIDATION_ERROR', 'A hub of a mesh needs a private Ed25519 key');
}

/** Returns the hub with a proven libp2p identity. Returns undefined if the identity is not an Ed25519 key. */
export function hubOf(peer: PeerId): { readonly id: HubId; readonly publicKey: string } | undefined {
  if (peer.type !== 'Ed25519') return undefined;
  const publicKey = Buffer.from(peer.publicKey.raw).toString('base64url');
  return { id: hubIdOf(publicKey), publicKey };
}
