import type { HubId } from '../core/ids.ts';
import type { Peer } from '../core/mesh/mesh-view.ts';
import type { Revoked } from './membership/certificates/mesh-authority.ts';
import type { Invitation, InviteOptions } from './membership/joining/member-admission.ts';
import type { MembershipStatus } from './membership/membership-status.ts';

/** What waits for the other hub, or is done. */
export interface Delegated {
  readonly hub: HubId;
  /** False while the hub is not connected: it gets its certificate when it is. */
  readonly isDelivered: boolean;
}

/** Port: what the owner does with the mesh. Each refuses with CONFLICT what does not fit this hub's membership; the message says what does. */
export interface MeshControl {
  /** Makes a mesh; this hub is its first member. The passphrase seals the root key. */
  create(options: { readonly passphrase: string; readonly name?: string | undefined }): Promise<MembershipStatus>;
  invite(options: InviteOptions): Promise<Invitation>;
  /** Joins the mesh of an invite. */
  join(invite: string, options: { readonly signal: AbortSignal }): Promise<MembershipStatus>;
  leave(options: { readonly rootKey: 'keep' | 'delete' }): Promise<void>;
  /** Ends the membership of another hub for good. */
  revoke(options: { readonly hub: string; readonly passphrase?: string | undefined }): Promise<Revoked>;
  /** Lets another hub, or this one, let others in. */
  delegate(options: { readonly hub: string; readonly passphrase: string }): Promise<Delegated>;
  /** Gets this hub a new certificate from a connected hub that may invite. */
  renew(): Promise<MembershipStatus>;
  /** The sealed root key, one line. */
  exportRoot(passphrase: string): Promise<string>;
  importRoot(options: { readonly text: string; readonly passphrase: string }): Promise<void>;
  status(): MembershipStatus;
  peers(): readonly Peer[];
}
