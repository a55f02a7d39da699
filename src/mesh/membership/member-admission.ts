import { type CertificateChain, certificateChainCodec, inviteText, parseInvite } from '../../codec/messages/membership.ts';
import { requireGrant } from '../../core/auth/permission.ts';
import type { Clock, TrustedTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import { parseHostPort } from '../transport/host-port.ts';
import {
  type CertificateRequest,
  inviterCertificate,
  type Member,
  memberCertificate,
  requireInviter,
  requireWithin,
} from './certificates.ts';
import { refuseAtGate } from './gate-refusal.ts';
import type { InviteStore } from './invite-store.ts';
import type { MeshAuthority } from './mesh-authority.ts';
import type { MeshMembership } from './mesh-membership.ts';
import type { OpenRootKey } from './root-key.ts';

const MINUTE_MS = 60_000;
/** How long an invite lasts unless the owner says otherwise. */
const INVITE_TTL_MS = 15 * MINUTE_MS;
const MAX_INVITE_TTL_MS = 24 * 60 * MINUTE_MS;
const MAX_ADDRESSES = 4;
const MAX_PERMISSIONS = 16;
const MAX_NAME = 64;
/** What tokens of a new member may do on other hubs unless the owner says otherwise: everything but administration. */
const MEMBER_PERMISSIONS = ['*'] as const;

/** What the owner can say of an invite; what is left out gets the careful value. */
export interface InviteOptions {
  readonly ttlMs?: number | undefined;
  readonly permissions?: readonly string[] | undefined;
  /** `host:port` under which this hub can be reached; at most 4. */
  readonly addresses?: readonly string[] | undefined;
  /** The new hub may let others in, too. The root key says so, and stays open in memory until the invite is used or expires. */
  readonly inviter?: { readonly passphrase: string } | undefined;
}

/** A hub with an invite, at the gate. The transport has proven its key. */
interface JoinRequest {
  readonly inviteId: string;
  readonly proof: Uint8Array;
  readonly name: string;
  /** Raw key of the joiner, base64url. */
  readonly publicKey: string;
}

interface AdmissionCollaborators {
  readonly membership: MeshMembership;
  readonly authority: Pick<MeshAuthority, 'openRoot' | 'delegationFor' | 'delivered'>;
  readonly invites: InviteStore;
  readonly time: TrustedTime;
  readonly clock: Clock;
}

/** Lets hubs in and renews their certificates, where this hub may. */
export class MemberAdmission {
  readonly #membership: MeshMembership;
  readonly #authority: AdmissionCollaborators['authority'];
  readonly #invites: InviteStore;
  readonly #time: TrustedTime;
  readonly #clock: Clock;
  /** Root keys that invites wait for, by the id of the invite. */
  readonly #roots = new Map<string, OpenRootKey>();

  constructor({ membership, authority, invites, time, clock }: AdmissionCollaborators) {
    this.#membership = membership;
    this.#authority = authority;
    this.#invites = invites;
    this.#time = time;
    this.#clock = clock;
  }

  /** CONFLICT for the text of an invite that this hub made itself, VALIDATION_ERROR for one that is no invite. */
  requireForeign(text: string): void {
    const { id } = parseInvite(text);
    if (this.#invites.has(id)) {
      throw new AtmoError('CONFLICT', 'This hub made the invite. Run the same command on the other hub, the one that is to join', {
        invite_id: id,
      });
    }
  }

  /**
   * One line of text that lets one hub in. PERMISSION_DENIED when this hub may not invite or give so much, VALIDATION_ERROR,
   * CONFLICT while it is in no mesh, RESOURCE_EXCEEDED when too many invites are open, STORAGE_FAILED.
   */
  async invite({ ttlMs = INVITE_TTL_MS, permissions = MEMBER_PERMISSIONS, addresses = [], inviter }: InviteOptions): Promise<Invitation> {
    const own = this.#membership.requireOwn();
    requireInviter(own);
    checkTerms({ ttlMs, permissions, addresses });
    const root = inviter && (await this.#authority.openRoot(inviter.passphrase));
    if (!root) requireWithin(permissions, own);
    const { id, secret, expiresAtMs } = this.#invites.make({ ttlMs, permissions, mayInvite: root !== undefined });
    if (root) this.#keepOpen(id, { root, ttlMs });
    const text = inviteText({ rootKey: this.#membership.record().rootKey, id, secret, expiresAt: expiresAtMs / 1000, addresses });
    return { text, id, expiresAtMs };
  }

  /** The certificate for a hub that proved to be invited. PERMISSION_DENIED or RATE_LIMITED with the reason, STORAGE_FAILED. */
  grant({ inviteId, proof, name, publicKey }: JoinRequest): Member {
    const { self } = this.#membership;
    const { id, permissions, mayInvite } = this.#invites.redeem({
      inviteId,
      proof,
      keys: { joiner: publicKey, responder: self.publicKey },
    });
    const request = { key: publicKey, permissions };
    const certificate = mayInvite ? this.#byRoot(id, request) : this.#byThisHub(request);
    const member = this.#membership.verify(certificate);
    this.#membership.remember(member);
    this.#membership.announceChange('joined', { hub_id: member.hubId, name: visibleLine(name, MAX_NAME) });
    return member;
  }

  /** Invites that somebody may still use. */
  openInvites(): ReturnType<InviteStore['open']> {
    return this.#invites.open();
  }

  /**
   * Answers a request of the kind `renew` from a connected member: for its own certificate a fresh one of the same rights, for a
   * certificate by the root key for this hub nothing, once it is taken over. PERMISSION_DENIED, VALIDATION_ERROR, STORAGE_FAILED.
   */
  answerRenew(from: HubId, request: Uint8Array): Uint8Array {
    const presented = this.#membership.verify(certificateChainCodec.decode(request));
    if (presented.hubId === this.#membership.self.hubId) return this.#takeDelegation(presented);
    if (presented.hubId !== from) refuseAtGate('certificate_of_another', `${from} asked to renew the certificate of ${presented.hubId}`);
    const delegated = this.#authority.delegationFor(from);
    const certificate = delegated ?? this.#renewed(this.#newest(presented));
    const member = this.#membership.verify(certificate);
    const answer = certificateChainCodec.encode(certificate);
    this.#membership.remember(member);
    return answer;
  }

  #takeDelegation(delegated: Member): Uint8Array {
    if (delegated.inviter !== undefined)
      refuseAtGate('certificate_invalid', 'Only the root key gives a hub a certificate that it did not ask for');
    this.#membership.replaceCertificate(delegated.certificate);
    return new Uint8Array();
  }

  /** A hub that was given less since then does not get back what it had with its old certificate. */
  #newest(presented: Member): Member {
    const known = this.#membership.member(presented.hubId);
    return known && known.issuedAtMs > presented.issuedAtMs ? known : presented;
  }

  /** What the member has and this hub can give; a renewed certificate gives nothing that the old one did not. */
  #renewed(member: Member): CertificateChain {
    if (member.inviter === undefined) {
      throw new AtmoError(
        'NOT_SUPPORTED',
        `The root key signed the certificate of ${member.hubId}; it is renewed with atmo mesh delegate ${member.hubId}`,
      );
    }
    return this.#byThisHub({ key: member.key, permissions: member.permissions });
  }

  #byThisHub(request: CertificateRequest): CertificateChain {
    const own = this.#membership.requireOwn();
    return memberCertificate({ own, self: this.#membership.self }, request, this.#time);
  }

  #byRoot(inviteId: string, request: CertificateRequest): CertificateChain {
    const root = this.#roots.get(inviteId);
    if (!root)
      refuseAtGate(
        'invite_expired',
        'The hub that made the invite restarted since, and the root key is sealed again. Ask for a new invite',
      );
    return inviterCertificate(root, request, this.#time);
  }

  #keepOpen(id: string, { root, ttlMs }: { readonly root: OpenRootKey; readonly ttlMs: number }): void {
    this.#roots.set(id, root);
    this.#clock.after(ttlMs, () => this.#roots.delete(id));
  }
}

/** A new invite: its text is a secret, its id is not. */
export interface Invitation {
  readonly text: string;
  readonly id: string;
  readonly expiresAtMs: number;
}

interface Terms {
  readonly ttlMs: number;
  readonly permissions: readonly string[];
  readonly addresses: readonly string[];
}

function checkTerms({ ttlMs, permissions, addresses }: Terms): void {
  if (!(ttlMs >= MINUTE_MS && ttlMs <= MAX_INVITE_TTL_MS))
    throw new AtmoError('VALIDATION_ERROR', 'An invite lasts from a minute to a day');
  if (addresses.length > MAX_ADDRESSES) throw new AtmoError('VALIDATION_ERROR', `An invite names at most ${MAX_ADDRESSES} addresses`);
  const strange = addresses.find((address) => !parseHostPort(address));
  if (strange !== undefined) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      `${JSON.stringify(strange.slice(0, 80))} is no address of a hub; write 192.168.1.5:8082 or [fe80::1%eth0]:8082`,
    );
  }
  if (permissions.length < 1 || permissions.length > MAX_PERMISSIONS) {
    throw new AtmoError('VALIDATION_ERROR', `An invite gives 1 to ${MAX_PERMISSIONS} permissions`);
  }
  permissions.forEach(requireGrant);
}
