import type { HubId } from '../core/ids.ts';
import type { Peer } from '../core/mesh-view.ts';

/** Configuration of the mesh. */
export interface MeshSettings {
  /** Network interfaces for discovery; empty means all interfaces. */
  readonly interfaces: readonly string[];
  /** Addresses, as `host:port`, of hubs that discovery cannot find. */
  readonly peers: readonly string[];
  /** Addresses, as `host:port`, at which hubs in other networks reach this hub. */
  readonly announceAddresses: readonly string[];
  readonly announcesDevices: boolean;
  readonly isDiscoveryEnabled: boolean;
  /** Whether this hub forwards calls between hubs that do not reach each other. */
  readonly isRelay: boolean;
  /** Name of this hub's site; absent if the mesh has no sites. */
  readonly site?: string;
}

/** The state of this hub's membership. */
export type MembershipState = 'none' | 'member' | 'expired' | 'revoked';

/** Role in a certificate; a hub with the role `inviter` may admit other hubs. */
export type MemberRole = 'member' | 'inviter';

/** Membership of this hub as it is shown to people. Times are in milliseconds since 1970. */
export interface MembershipStatus {
  readonly state: MembershipState;
  readonly hubId: HubId;
  readonly hubName?: string;
  readonly meshId?: string;
  readonly name?: string;
  readonly roles?: readonly MemberRole[];
  readonly permissions?: readonly string[];
  readonly expiresAtMs?: number;
  readonly inviter?: HubId;
  /** Whether the sealed root key is stored on this hub. */
  readonly hasRootKey: boolean;
  readonly openInvites: number;
  /** Number of other members whose valid certificates this hub has stored. */
  readonly members: number;
  readonly revoked: readonly HubId[];
}

/** Options of an invite; all of them have safe defaults. */
export interface InviteOptions {
  readonly ttlMs?: number | undefined;
  readonly permissions?: readonly string[] | undefined;
  /** Addresses of this hub as `host:port`; at most 4. */
  readonly addresses?: readonly string[] | undefined;
  /** If set, the new hub becomes an inviter. To sign its certificate, the root key stays decrypted in memory until the invite expires. */
  readonly inviter?: { readonly passphrase: string } | undefined;
}

/** New invite; `text` is a secret, `id` is not. */
export interface Invitation {
  readonly text: string;
  readonly id: string;
  readonly expiresAtMs: number;
}

/** Result of a revocation. */
export interface Revoked {
  readonly hub: HubId;
  /** Members that the revoked hub had admitted; their certificates ended too. */
  readonly alsoEnded: readonly HubId[];
}

/** Result of making a hub an inviter. */
export interface Delegated {
  readonly hub: HubId;
  /** False if the hub is not connected. It then gets the certificate when it connects. */
  readonly isDelivered: boolean;
}

/** The owner's operations on the mesh. Methods reject with CONFLICT if the state of the membership does not allow the operation. */
export interface MeshControl {
  /** Creates a mesh with this hub as its first member. The passphrase encrypts the root key. */
  create(options: { readonly passphrase: string; readonly name?: string | undefined }): Promise<MembershipStatus>;
  invite(options: InviteOptions): Promise<Invitation>;
  join(invite: string, options: { readonly signal: AbortSignal }): Promise<MembershipStatus>;
  leave(options: { readonly rootKey: 'keep' | 'delete' }): Promise<void>;
  /** Permanently ends the membership of another hub. */
  revoke(options: { readonly hub: string; readonly passphrase?: string | undefined }): Promise<Revoked>;
  /** Makes another hub, or this hub itself, an inviter. */
  delegate(options: { readonly hub: string; readonly passphrase: string }): Promise<Delegated>;
  /** Requests a new certificate for this hub from a connected inviter. */
  renew(): Promise<MembershipStatus>;
  /** Resolves with the sealed root key as one line of text. */
  exportRoot(passphrase: string): Promise<string>;
  importRoot(options: { readonly text: string; readonly passphrase: string }): Promise<void>;
  status(): MembershipStatus;
  peers(): readonly Peer[];
}
