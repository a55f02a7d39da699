import type { KeyObject } from 'node:crypto';
import { privateKeyFromRaw } from '@libp2p/crypto/keys';
import type { PeerId, PrivateKey } from '@libp2p/interface';
import { hubIdOf } from '../../codec/public-key.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';

/** A private Ed25519 key in libp2p's form: seed and public key, 32 bytes each. VALIDATION_ERROR for any other key. */
export function toLibp2pKey(key: KeyObject): PrivateKey {
  const { d, x } = partsOf(key);
  return privateKeyFromRaw(Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]));
}

/** The id of the hub that has this private key. VALIDATION_ERROR for a key that is not a private Ed25519 key. */
export function hubIdOfKey(key: KeyObject): HubId {
  return hubIdOf(partsOf(key).x);
}

function partsOf(key: KeyObject): { readonly d: string; readonly x: string } {
  const { crv, d, x } = key.export({ format: 'jwk' });
  if (crv === 'Ed25519' && d !== undefined && x !== undefined) return { d, x };
  throw new AtmoError('VALIDATION_ERROR', 'A hub of a mesh needs a private Ed25519 key');
}

/** The hub behind a proven libp2p identity; undefined when its key is of another kind. */
export function hubOf(peer: PeerId): { readonly id: HubId; readonly publicKey: string } | undefined {
  if (peer.type !== 'Ed25519') return undefined;
  const publicKey = Buffer.from(peer.publicKey.raw).toString('base64url');
  return { id: hubIdOf(publicKey), publicKey };
}
