import type { HubId } from '../../core/ids.ts';
import type { MemberRole } from './members/member.ts';
import type { MembershipState } from './mesh-membership.ts';
import type { Membership } from './open-membership.ts';

/** How this hub stands to its mesh, for people. Times in milliseconds since 1970; what a hub in no mesh has not is absent. */
export interface MembershipStatus {
  readonly state: MembershipState;
  readonly hubId: HubId;
  /** What people call this hub. */
  readonly hubName?: string;
  readonly meshId?: string;
  /** What the mesh was called by who made it. */
  readonly name?: string;
  readonly roles?: readonly MemberRole[];
  readonly permissions?: readonly string[];
  readonly expiresAtMs?: number;
  readonly inviter?: HubId;
  /** The sealed root key is on this hub. */
  readonly hasRootKey: boolean;
  readonly openInvites: number;
  /** Other members that were met. */
  readonly members: number;
  readonly revoked: readonly HubId[];
}

export function membershipStatus({ membership, authority, admission }: Membership): MembershipStatus {
  const own = membership.own();
  const name = own && membership.record().name;
  return {
    state: membership.state(),
    hubId: membership.self.hubId,
    ...(own && { meshId: own.meshId, roles: own.roles, permissions: own.permissions, expiresAtMs: own.expiresAtMs }),
    ...(name !== undefined && { name }),
    ...(own?.inviter && { inviter: own.inviter }),
    hasRootKey: authority.hasRootKey(),
    openInvites: admission.openInvites().length,
    members: membership.members().length,
    revoked: membership.revokedHubs(),
  };
}
