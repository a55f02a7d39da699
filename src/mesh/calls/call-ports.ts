import type { KeyObject } from 'node:crypto';
import type { Principal } from '../../core/access/principal.ts';
import type { HubId } from '../../core/ids.ts';
import type { WireFeature } from '../../wire/messages/wire-features.ts';

/** This hub, as it signs. */
export interface SigningHub {
  readonly hubId: HubId;
  /** Ed25519. */
  readonly privateKey: KeyObject;
}

/** The key that a certificate gives to a hub. */
export interface MemberKey {
  /** Raw, 32 bytes, base64url. */
  readonly key: string;
  readonly publicKey: KeyObject;
}

/** Port: the keys of the members of this mesh. A certificate that expired or was revoked has none. */
export interface MemberKeys {
  keyOf(id: HubId): MemberKey | undefined;
}

/** Port: ways to other hubs. */
export interface CallRoutes {
  /** The neighbour to hand a request to; undefined while no way is known. */
  nextHop(target: HubId): HubId | undefined;
  /** Epoch of the newest announcement of the hub. */
  epochOf(target: HubId): number | undefined;
  /** Whether the hub has announced that it reads what not every hub reads. */
  reads(target: HubId, feature: WireFeature): boolean;
}

/** Port: the token that this hub shows for a caller. PERMISSION_DENIED for a caller that has to delegate to this hub first. */
export interface MeshTokens {
  textFor(principal: Principal, executor: HubId): string;
}
