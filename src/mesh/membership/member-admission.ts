import { type CertificateChain, certificateChainCodec, inviteText, parseInvite } from '../../codec/messages/membership.ts';
import type { SigningKey } from '../../codec/public-key.ts';
import { requireGrant } from '../../core/auth/permission.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import type { Invitation, InviteOptions } from '../mesh-control.ts';
import { parseHostPort } from '../transport/mesh-engine.ts';
import {
  type CertificateRequest,
  inviterCertificate,
  type Member,
  memberCertificate,
  refuseAtGate,
  requireInviter,
  requireWithin,
} from './certificates.ts';
import type { InviteStore } from './invite-store.ts';
import type { JoinRequest } from './membership-gate.ts';
import type { MeshAuthority } from './mesh-authority.ts';
import type { MeshMembership } from './mesh-membership.ts';

const MINUTE_MS = 60_000;
const INVITE_TTL_MS = 15 * MINUTE_MS;
const MAX_INVITE_TTL_MS = 24 * 60 * MINUTE_MS;
const MAX_ADDRESSES = 4;
const MAX_PERMISSIONS = 16;
const MAX_NAME = 64;
/** Default upper limit of the permissions that a new member's tokens can have on other hubs: all except administration. */
const MEMBER_PERMISSIONS = ['*'] as const;

interface AdmissionCollaborators extends Pick<HubContext, 'clock' | 'time'> {
  readonly membership: MeshMembership;
  readonly authority: Pick<MeshAuthority, 'openRoot' | 'delegationFor' | 'delivered'>;
  readonly invites: InviteStore;
}

/** Admits hubs and renews their certificates. For both, this hub must be an inviter. */
export class MemberAdmission {
  readonly #parts: AdmissionCollaborators;
  /** Decrypted root keys, by the id of the invite for which each was decrypted. */
  readonly #roots = new Map<string, SigningKey>();

  constructor(parts: AdmissionCollaborators) {
    this.#parts = parts;
  }

  /** Checks that another hub made the invite. Throws CONFLICT if this hub made it, VALIDATION_ERROR if the text is not an invite. */
  requireForeign(text: string): void {
    const { id } = parseInvite(text);
    if (this.#parts.invites.has(id)) {
      throw new AtmoError('CONFLICT', 'This hub made the invite. Run the same command on the other hub, the one that is to join', {
        invite_id: id,
      });
    }
  }

  /**
   * Creates an invite for one hub. Rejects with CONFLICT if this hub is in no mesh, PERMISSION_DENIED if it is no inviter or lacks a
   * permission of the invite, VALIDATION_ERROR if the options are not valid, RESOURCE_EXCEEDED if too many invites are open.
   */
  async invite({ ttlMs = INVITE_TTL_MS, permissions = MEMBER_PERMISSIONS, addresses = [], inviter }: InviteOptions): Promise<Invitation> {
    const own = this.#parts.membership.requireOwn();
    requireInviter(own);
    checkTerms({ ttlMs, permissions, addresses });
    const root = inviter && (await this.#parts.authority.openRoot(inviter.passphrase));
    if (!root) requireWithin(permissions, own);
    const { id, secret, expiresAtMs } = this.#parts.invites.make({ ttlMs, permissions, mayInvite: root !== undefined });
    if (root) this.#keepOpen(id, { root, ttlMs });
    const text = inviteText({ rootKey: this.#parts.membership.record().rootKey, id, secret, expiresAt: expiresAtMs / 1000, addresses });
    return { text, id, expiresAtMs };
  }

  /** Admits a hub with an invite. Throws the errors of `InviteStore.redeem`, such as PERMISSION_DENIED if the invite is not valid. */
  grant({ inviteId, proof, name, publicKey }: JoinRequest): Member {
    const { self } = this.#parts.membership;
    const { id, permissions, mayInvite } = this.#parts.invites.redeem({
      inviteId,
      proof,
      keys: { joiner: publicKey, responder: self.publicKey },
    });
    const request = { key: publicKey, permissions };
    const certificate = mayInvite ? this.#byRoot(id, request) : this.#byThisHub(request);
    const member = this.#parts.membership.verify(certificate);
    this.#parts.membership.remember(member);
    this.#parts.membership.announceChange('joined', { hub_id: member.hubId, name: visibleLine(name, MAX_NAME) });
    return member;
  }

  openInvites(): ReturnType<InviteStore['open']> {
    return this.#parts.invites.open();
  }

  /**
   * Answers a `renew` request of a connected member; the request is a certificate. If it is the member's own certificate, returns a new
   * one. If it is a certificate for this hub that the root key signed, stores it and returns an empty response. Throws PERMISSION_DENIED or
   * VALIDATION_ERROR if the request is not valid, STORAGE_FAILED if the certificate cannot be stored.
   */
  answerRenew(from: HubId, request: Uint8Array): Uint8Array {
    const presented = this.#parts.membership.verify(certificateChainCodec.decode(request));
    if (presented.hubId === this.#parts.membership.self.hubId) return this.#acceptDelegation(presented);
    if (presented.hubId !== from) refuseAtGate('certificate_of_another', `${from} asked to renew the certificate of ${presented.hubId}`);
    const delegated = this.#parts.authority.delegationFor(from);
    const certificate = delegated ?? this.#renewed(this.#newest(presented));
    const member = this.#parts.membership.verify(certificate);
    const answer = certificateChainCodec.encode(certificate);
    this.#parts.membership.remember(member);
    return answer;
  }

  #acceptDelegation(delegated: Member): Uint8Array {
    if (delegated.inviter !== undefined)
      refuseAtGate('certificate_invalid', 'Only the root key gives a hub a certificate that it did not ask for');
    this.#parts.membership.replaceCertificate(delegated.certificate);
    return new Uint8Array();
  }

  /** Returns the member with its newest certificate. This may grant fewer permissions than the certificate that the member presented. */
  #newest(presented: Member): Member {
    const known = this.#parts.membership.member(presented.hubId);
    return known && known.issuedAtMs > presented.issuedAtMs ? known : presented;
  }

  /** Returns a new certificate with the same permissions. Throws PERMISSION_DENIED if this hub lacks one of these permissions. */
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
    const own = this.#parts.membership.requireOwn();
    return memberCertificate({ own, self: this.#parts.membership.self }, request, this.#parts.time);
  }

  #byRoot(inviteId: string, request: CertificateRequest): CertificateChain {
    const root = this.#roots.get(inviteId);
    if (!root)
      refuseAtGate(
        'invite_expired',
        'The hub that made the invite restarted since, and the root key is sealed again. Ask for a new invite',
      );
    return inviterCertificate(root, request, this.#parts.time);
  }

  #keepOpen(id: string, { root, ttlMs }: { readonly root: SigningKey; readonly ttlMs: number }): void {
    this.#roots.set(id, root);
    this.#parts.clock.after(ttlMs, () => this.#roots.delete(id));
  }
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
