import { AtmoError } from '../../../core/errors.ts';
import type { TrustedTime } from '../../../core/time/trusted-time.ts';
import { meshIdOf } from '../../../wire/hub-id.ts';
import type { GateMessage } from '../../../wire/messages/gate.ts';
import type { Invite } from '../../../wire/messages/invite.ts';
import type { ConnectionGate, GateChannel, GatePeer } from '../../engine/mesh-engine.ts';
import { verifyCertificate } from '../certificates/certificate-chain.ts';
import { requireInTime } from '../certificates/certificate-time.ts';
import { isInviter, type Member } from '../members/member.ts';
import type { MeshMembership } from '../mesh-membership.ts';
import { refuseAtGate } from './gate-refusal.ts';
import { GATE_VERSION, hearAnswer, sayAtGate } from './gate-talk.ts';
import { joinProof } from './join-proof.ts';

type Grant = Extract<GateMessage, { kind: 'grant' }>;

interface AttemptCollaborators {
  readonly membership: MeshMembership;
  readonly time: TrustedTime;
}

/** What the joiner brings. */
interface JoinTicket {
  readonly invite: Invite;
  /** What this hub calls itself, for people. */
  readonly name: string;
}

/**
 * The joiner's side of the gate. It never admits: once the grant is kept, the connection ends and the hub comes again as a
 * member. The invite's full root key decides whom it believes; a mesh of the same looks is noticed.
 */
export class JoinAttempt implements ConnectionGate {
  readonly #membership: MeshMembership;
  readonly #time: TrustedTime;
  readonly #ticket: JoinTicket;
  #joinedBy: Member | undefined;

  constructor({ membership, time }: AttemptCollaborators, ticket: JoinTicket) {
    this.#membership = membership;
    this.#time = time;
    this.#ticket = ticket;
  }

  /** The hub that let this one in; undefined until it did. */
  get joinedBy(): Member | undefined {
    return this.#joinedBy;
  }

  /** Always throws PERMISSION_DENIED; `details.reason` is `joined` after success. STORAGE_FAILED when the grant could not be kept. */
  async admit(channel: GateChannel, peer: GatePeer): Promise<void> {
    const { invite, name } = this.#ticket;
    const { self } = this.#membership;
    if (peer.publicKey === self.publicKey) refuseAtGate('self', `${peer.address} is this hub itself`);
    const proof = joinProof(invite.secret, { joiner: self.publicKey, responder: peer.publicKey });
    await sayAtGate(channel, { kind: 'join', version: GATE_VERSION, meshId: meshIdOf(invite.rootKey), inviteId: invite.id, proof, name });
    const answer = await hearAnswer(channel, peer);
    if (answer.kind !== 'grant') refuseAtGate('malformed', `${peer.id} answered with a ${answer.kind} where a grant was due`);
    this.#joinedBy = this.#take(answer, peer);
    throw new AtmoError('PERMISSION_DENIED', 'This hub has joined and connects again as a member', { reason: 'joined' });
  }

  #take({ responder, certificate }: Grant, peer: GatePeer): Member {
    const { rootKey, addresses } = this.#ticket.invite;
    const inviter = verifyCertificate(responder, rootKey);
    requireInTime(inviter, this.#time);
    if (inviter.key !== peer.publicKey || !isInviter(inviter)) {
      refuseAtGate('certificate_of_another', `${peer.id} is not a hub that may let others into the mesh of the invite`);
    }
    this.#membership.enter({ rootKey, certificate, addresses: addresses.length > 0 ? addresses : [peer.address] });
    this.#membership.remember(inviter);
    return inviter;
  }
}
