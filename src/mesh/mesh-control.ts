import type { HubId } from '../core/ids.ts';
import type { Peer } from '../core/mesh-view.ts';

/** The configuration of the mesh. */
export interface MeshSettings {
  /** Network interfaces for discovery; all when empty. */
  readonly interfaces: readonly string[];
  /** `host:port` of hubs that discovery cannot find. */
  readonly peers: readonly string[];
  /** `host:port` under which hubs of other networks reach this one. */
  readonly announceAddresses: readonly string[];
  readonly announcesDevices: boolean;
  readonly isDiscoveryEnabled: boolean;
  /** The hub forwards calls between hubs that do not reach each other. */
  readonly isRelay: boolean;
}

/** The state of this hub's membership. */
export type MembershipState = 'none' | 'member' | 'expired' | 'revoked';

/** A role in a certificate; an inviter may admit other hubs. */
export type MemberRole = 'member' | 'inviter';

/** The membership of this hub, for people. Times in milliseconds since 1970. */
export interface MembershipStatus {
  readonly state: MembershipState;
  readonly hubId: HubId;
  /** The name of this hub. */
  readonly hubName?: string;
  readonly meshId?: string;
  /** The name that its owner gave the mesh. */
  readonly name?: string;
  readonly roles?: readonly MemberRole[];
  readonly permissions?: readonly string[];
  readonly expiresAtMs?: number;
  readonly inviter?: HubId;
  /** The sealed root key is on this hub. */
  readonly hasRootKey: boolean;
  readonly openInvites: number;
  /** Number of other known members. */
  readonly members: number;
  readonly revoked: readonly HubId[];
}

/** The options of an invite; absent ones have a safe default. */
export interface InviteOptions {
  readonly ttlMs?: number | undefined;
  readonly permissions?: readonly string[] | undefined;
  /** `host:port` under which this hub can be reached; at most 4. */
  readonly addresses?: readonly string[] | undefined;
  /** Makes the new hub an inviter. The root key signs its certificate, so it stays open in memory until the invite expires. */
  readonly inviter?: { readonly passphrase: string } | undefined;
}

/** A new invite; its text is a secret, its id is not. */
export interface Invitation {
  readonly text: string;
  readonly id: string;
  readonly expiresAtMs: number;
}

/** The effect of a revocation. */
export interface Revoked {
  readonly hub: HubId;
  /** Members that the hub had admitted: their certificates ended with its own. */
  readonly alsoEnded: readonly HubId[];
}

/** The result of a delegation. */
export interface Delegated {
  readonly hub: HubId;
  /** False when the hub is not connected: it gets its certificate when it connects. */
  readonly isDelivered: boolean;
}

/** Port: the owner's control of the mesh. A method that does not fit the state of the membership rejects with CONFLICT; the message names the way. */
export interface MeshControl {
  /** Makes a mesh with this hub as its first member. The passphrase seals the root key. */
  create(options: { readonly passphrase: string; readonly name?: string | undefined }): Promise<MembershipStatus>;
  invite(options: InviteOptions): Promise<Invitation>;
  /** Joins the mesh of an invite. */
  join(invite: string, options: { readonly signal: AbortSignal }): Promise<MembershipStatus>;
  leave(options: { readonly rootKey: 'keep' | 'delete' }): Promise<void>;
  /** Ends the membership of another hub for good. */
  revoke(options: { readonly hub: string; readonly passphrase?: string | undefined }): Promise<Revoked>;
  /** Makes another hub, or this one, an inviter. */
  delegate(options: { readonly hub: string; readonly passphrase: string }): Promise<Delegated>;
  /** Gets this hub a new certificate from a connected hub that may invite. */
  renew(): Promise<MembershipStatus>;
  /** Resolves with the sealed root key, one line. */
  exportRoot(passphrase: string): Promise<string>;
  importRoot(options: { readonly text: string; readonly passphrase: string }): Promise<void>;
  status(): MembershipStatus;
  peers(): readonly Peer[];
}
