/** A hub that the mesh vouches for. */
export interface TrustedHub {
  /** Raw Ed25519 key, 32 bytes, base64url. */
  readonly key: string;
  /** Grants that tokens issued by the hub may hold at most, as in the permission grammar. */
  readonly permissions: readonly string[];
}

/** Port: whom this hub believes beyond itself. A certificate that expired or was revoked vouches for nobody. */
export interface MeshTrust {
  /** Undefined while the hub is in no mesh. */
  meshId(): string | undefined;
  /** Undefined for a hub that no certificate vouches for now. */
  hub(id: string): TrustedHub | undefined;
}
