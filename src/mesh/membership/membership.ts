import type { HubContext } from '../../core/context.ts';
import { present } from '../../core/json.ts';
import { recordNote } from '../../core/storage/audit-sink.ts';
import type { MembershipStatus } from '../mesh-control.ts';
import type { LocalHub } from './certificates.ts';
import { InviteStore } from './invite-store.ts';
import { MemberAdmission } from './member-admission.ts';
import { MembershipGate } from './membership-gate.ts';
import { MeshAuthority } from './mesh-authority.ts';
import { MeshMembership } from './mesh-membership.ts';
import { type PassphraseBox, RootKey, type RootKeyFile } from './root-key.ts';

interface MembershipPorts extends Pick<HubContext, 'clock' | 'logger' | 'events' | 'store' | 'time'> {
  readonly self: LocalHub;
  readonly rootKeyFile: RootKeyFile;
  /** Encryption of the root key; tests replace it by a fast one. */
  readonly box?: PassphraseBox;
}

/** Parts of membership. Whoever opens them must start and dispose `membership`; the other parts need neither. */
export interface Membership {
  readonly membership: MeshMembership;
  readonly authority: MeshAuthority;
  readonly admission: MemberAdmission;
  readonly gate: MembershipGate;
}

/** Creates the parts of membership; they do nothing before `membership.start()`. */
export function openMembership({ rootKeyFile, box, self, clock, logger, events, store, time }: MembershipPorts): Membership {
  const membership = new MeshMembership({ self, clock, logger, events, store, time });
  const invites = new InviteStore({ store, time });
  const authority = new MeshAuthority({ membership, rootKey: new RootKey(rootKeyFile, box), invites, store, time });
  const admission = new MemberAdmission({ membership, authority, invites, time, clock });
  return { membership, authority, admission, gate: new MembershipGate({ membership, grant: (request) => admission.grant(request) }) };
}

/** Returns the membership of this hub in the form that is shown to people. */
export function membershipStatus({ membership, authority, admission }: Membership): MembershipStatus {
  const own = membership.own();
  const name = own && membership.record().name;
  return {
    state: membership.state(),
    hubId: membership.self.hubId,
    ...(own && { meshId: own.meshId, roles: own.roles, permissions: own.permissions, expiresAtMs: own.expiresAtMs }),
    ...present({ name, inviter: own?.inviter }),
    hasRootKey: authority.hasRootKey(),
    openInvites: admission.openInvites().length,
    members: membership.members().length,
    revoked: membership.revokedHubs(),
  };
}

/** Changes possible without a call on this hub: a hub joins with an invite, another hub revokes a member, a certificate is renewed. */
const WITHOUT_A_CALL: ReadonlySet<unknown> = new Set(['joined', 'revoked', 'renewed']);

/** Writes each membership change of a kind in `WITHOUT_A_CALL` into the audit log. Returns a function that stops this. */
export function auditMembershipChanges(parts: Pick<HubContext, 'logger' | 'events' | 'time' | 'audit'>): () => void {
  return parts.events.listen(
    ({ subject, data }) => {
      if (!WITHOUT_A_CALL.has(data.change)) return;
      void recordNote(parts, { event: `mesh.${String(data.change)}`, atMs: parts.time.now(), data: { mesh_id: subject, ...data } });
    },
    ['mesh.changed'],
  );
}
