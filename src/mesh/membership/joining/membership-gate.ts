import { AtmoError } from '../../../core/errors.ts';
import { meshIdOf } from '../../../wire/hub-id.ts';
import type { CertificateChain } from '../../../wire/messages/certificate.ts';
import type { GateMessage } from '../../../wire/messages/gate.ts';
import type { ConnectionGate, GateChannel, GatePeer } from '../../engine/mesh-engine.ts';
import { verifyCertificate } from '../certificates/certificate-chain.ts';
import type { Member } from '../members/member.ts';
import type { MeshMembership } from '../mesh-membership.ts';
import { refuseAtGate } from './gate-refusal.ts';
import { GATE_VERSION, hearAnswer, hearAtGate, sayAtGate, sayRefusal } from './gate-talk.ts';
import type { MemberAdmission } from './member-admission.ts';

type Hello = Extract<GateMessage, { kind: 'hello' }>;
type Join = Extract<GateMessage, { kind: 'join' }>;

/**
 * Lets members through, and hubs with an invite as far as their certificate. The transport has proven the key of the other side;
 * only what is said under that key counts, and what is refused changes nothing for anybody else.
 */
export class MembershipGate implements ConnectionGate {
  readonly #membership: MeshMembership;
  readonly #admission: MemberAdmission;
  readonly #refusals = new Map<string, number>();

  constructor({ membership, admission }: { readonly membership: MeshMembership; readonly admission: MemberAdmission }) {
    this.#membership = membership;
    this.#admission = admission;
  }

  /** Resolves for a member. PERMISSION_DENIED with `details.reason` for everybody else, also for who just joined: it comes again. */
  async admit(channel: GateChannel, peer: GatePeer): Promise<void> {
    const shown: CertificateChain[] = [];
    try {
      await (peer.direction === 'outbound' ? this.#dial(channel, peer) : this.#answer(channel, peer, shown));
    } catch (thrown) {
      const reason = reasonOf(thrown);
      if (reason !== JOINED) this.#refusals.set(reason, (this.#refusals.get(reason) ?? 0) + 1);
      if (reason !== JOINED && reason !== 'refused_by_peer') {
        await sayRefusal(channel, thrown, reason === 'revoked' ? this.#proofFor(shown, peer) : undefined);
      }
      throw thrown;
    }
  }

  /** What was refused since the start, by reason. */
  refusals(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#refusals);
  }

  async #dial(channel: GateChannel, peer: GatePeer): Promise<void> {
    this.#requireOther(peer);
    const own = this.#requireMember();
    await sayAtGate(channel, helloOf(own));
    const answer = await hearAnswer(channel, peer, (revocation) => this.#learn(revocation));
    if (answer.kind !== 'hello') return refuseAtGate('malformed', `${peer.id} answered with a ${answer.kind} where a hello was due`);
    this.#welcome(answer, peer);
  }

  /** `shown` takes what the other side shows. */
  async #answer(channel: GateChannel, peer: GatePeer, shown: CertificateChain[]): Promise<void> {
    this.#requireOther(peer);
    const message = await hearAtGate(channel);
    const own = this.#requireMember();
    if (message.kind === 'join') return await this.#letIn(channel, peer, { join: message, own });
    if (message.kind !== 'hello') return refuseAtGate('malformed', `A ${message.kind} is no way to begin`);
    shown.push(message.certificate);
    this.#welcome(message, peer);
    await sayAtGate(channel, helloOf(own));
  }

  /** A revoked hub is barred everywhere: here alone it can hear of it. Only who has the key of the certificate gets the proof. */
  #proofFor([certificate]: readonly CertificateChain[], peer: GatePeer): Uint8Array | undefined {
    const isOwn = certificate && verifyCertificate(certificate, this.#membership.record().rootKey).key === peer.publicKey;
    return isOwn ? this.#membership.revocationOf(certificate) : undefined;
  }

  /** Who refuses has not proven to be a member: the statement counts by its own signature, and otherwise nothing of it does. */
  #learn(revocation: Uint8Array): void {
    try {
      this.#membership.merge(revocation);
    } catch (thrown) {
      if (!(thrown instanceof AtmoError)) throw thrown;
    }
  }

  #welcome({ meshId, certificate }: Hello, peer: GatePeer): void {
    this.#requireMesh(meshId);
    this.#membership.remember(this.#verify(certificate, peer));
  }

  #verify(certificate: CertificateChain, peer: GatePeer): Member {
    const member = this.#membership.verify(certificate);
    if (member.key === peer.publicKey) return member;
    return refuseAtGate('certificate_of_another', `The certificate is for ${member.hubId}, and the key that was proven is ${peer.id}'s`);
  }

  async #letIn(channel: GateChannel, peer: GatePeer, { join, own }: { readonly join: Join; readonly own: Member }): Promise<void> {
    this.#requireMesh(join.meshId);
    if (this.#membership.revokedHubs().includes(peer.id)) {
      refuseAtGate(
        'revoked',
        `${peer.id} was revoked. It can join again with a new key: stop it, delete hub.key of its state directory, start it`,
      );
    }
    const { inviteId, proof, name } = join;
    const { certificate } = this.#admission.grant({ inviteId, proof, name, publicKey: peer.publicKey });
    await sayAtGate(channel, { kind: 'grant', responder: own.certificate, certificate });
    // The joiner closes once it has the grant; to close first could cut it off.
    await channel.read().catch(() => undefined);
    throw new AtmoError('PERMISSION_DENIED', `${peer.id} has joined and comes again as a member`, { reason: JOINED });
  }

  #requireOther({ publicKey, address }: GatePeer): void {
    if (publicKey === this.#membership.self.publicKey)
      refuseAtGate('self', `${address} is this hub itself, or another one with a copy of its key`);
  }

  #requireMesh(meshId: string): void {
    if (meshId !== meshIdOf(this.#membership.record().rootKey))
      refuseAtGate('other_mesh', 'This hub is in another mesh. A hub is in one mesh');
  }

  #requireMember(): Member {
    const state = this.#membership.state();
    if (state === 'none') refuseAtGate('not_a_member', 'This hub is in no mesh. Ask a hub that is, or make one here: atmo mesh create');
    if (state !== 'member') refuseAtGate(state, `The membership of this hub is ${state}. It has to join again`);
    return this.#membership.requireOwn();
  }
}

const JOINED = 'joined';

function helloOf({ meshId, certificate }: Member): GateMessage {
  return { kind: 'hello', version: GATE_VERSION, meshId, certificate };
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof AtmoError)) return 'failed';
  const { reason } = thrown.details;
  return typeof reason === 'string' ? reason : 'closed';
}
