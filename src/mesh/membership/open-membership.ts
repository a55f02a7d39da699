import type { EventBus } from '../../core/events.ts';
import type { Logger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { TrustedTime } from '../../core/time/trusted-time.ts';
import { MeshAuthority } from './certificates/mesh-authority.ts';
import { type PassphraseBox, RootKey, type RootKeyFile } from './certificates/root-key.ts';
import { InviteBook } from './joining/invite-book.ts';
import { MemberAdmission } from './joining/member-admission.ts';
import { MembershipGate } from './joining/membership-gate.ts';
import type { OwnHub } from './members/own-hub.ts';
import { MeshMembership } from './mesh-membership.ts';

/** What membership takes of the hub. */
interface MembershipPorts {
  readonly self: OwnHub;
  readonly store: KeyValueStore;
  readonly rootKeyFile: RootKeyFile;
  /** Another way to seal the root key. */
  readonly box?: PassphraseBox;
  readonly time: TrustedTime;
  readonly clock: Clock;
  readonly events: EventBus;
  readonly logger: Logger;
}

/** Everything about who belongs to the mesh; `membership` is to be started and disposed. */
export interface Membership {
  readonly membership: MeshMembership;
  readonly authority: MeshAuthority;
  readonly admission: MemberAdmission;
  readonly gate: MembershipGate;
}

/** Puts the parts together; nothing happens before `membership.start()`. */
export function openMembership({ rootKeyFile, box, ...ports }: MembershipPorts): Membership {
  const { store, time, clock } = ports;
  const membership = new MeshMembership(ports);
  const invites = new InviteBook({ store, time });
  const authority = new MeshAuthority({ membership, rootKey: new RootKey(rootKeyFile, box), invites, store, time });
  const admission = new MemberAdmission({ membership, authority, invites, time, clock });
  return { membership, authority, admission, gate: new MembershipGate({ membership, admission }) };
}
