import { type HandshakeMessage, handshakeCodec } from '../../codec/messages/connection.ts';
import type { CertificateChain } from '../../codec/messages/membership.ts';
import { meshIdOf } from '../../codec/public-key.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { backupCopyPath } from '../../core/files/recoverable-file.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import { ReasonCounter } from '../reason-counter.ts';
import type { ConnectionGate, GateChannel, GatePeer } from '../transport/mesh-engine.ts';
import { type Member, refuseAtGate, verifyCertificate } from './certificates.ts';
import type { MeshMembership } from './mesh-membership.ts';

type Join = Extract<HandshakeMessage, { kind: 'join' }>;

/** Join request of a hub with an invite. The transport has proven the hub's key. */
export interface JoinRequest {
  readonly inviteId: string;
  readonly proof: Uint8Array;
  readonly name: string;
  /** Raw public key of the joining hub, base64url. */
  readonly publicKey: string;
}

interface GateCollaborators {
  readonly membership: MeshMembership;
  /** Returns a new certificate. Throws the errors of `MemberAdmission.grant`. */
  readonly grant: (request: JoinRequest) => Pick<Member, 'certificate'>;
}

/**
 * Connection gate that admits members, and gives invited hubs their certificate. Certificates and invites must match the key of the other
 * hub, which the transport has proven. A refusal ends only this connection.
 */
export class MembershipGate implements ConnectionGate {
  readonly #membership: MeshMembership;
  readonly #grant: GateCollaborators['grant'];
  readonly #refusals = new ReasonCounter<string>();

  constructor({ membership, grant }: GateCollaborators) {
    this.#membership = membership;
    this.#grant = grant;
  }

  /** Resolves if the other hub is a member. Else rejects with PERMISSION_DENIED, even if that hub has just joined and will reconnect. */
  async admit(channel: GateChannel, peer: GatePeer): Promise<void> {
    const shown: CertificateChain[] = [];
    try {
      await (peer.direction === 'outbound' ? this.#dial(channel, peer) : this.#answer(channel, peer, shown));
    } catch (thrown) {
      const reason = reasonOf(thrown);
      if (reason !== JOINED) this.#refusals.count(reason);
      if (reason !== JOINED && reason !== 'refused_by_peer') {
        await writeGateRefusal(channel, thrown, reason === 'revoked' ? this.#proofFor(shown, peer) : undefined);
      }
      throw thrown;
    }
  }

  refusals(): Readonly<Record<string, number>> {
    return this.#refusals.counts();
  }

  async #dial(channel: GateChannel, peer: GatePeer): Promise<void> {
    this.#requireOther(peer);
    const own = this.#requireMember();
    await writeGateMessage(channel, helloOf(own));
    const answer = await readGateAnswer(channel, peer, (revocation) => this.#learn(revocation));
    if (answer.kind !== 'hello') return refuseAtGate('malformed', `${peer.id} answered with a ${answer.kind} where a hello was due`);
    this.#welcome(answer, peer);
  }

  /** Answers the first message of the other hub. If the message has a certificate, appends the certificate to `shown`. */
  async #answer(channel: GateChannel, peer: GatePeer, shown: CertificateChain[]): Promise<void> {
    this.#requireOther(peer);
    const message = await readGateMessage(channel);
    const own = this.#requireMember();
    if (message.kind === 'join') return await this.#letIn(channel, peer, { join: message, own });
    if (message.kind !== 'hello') return refuseAtGate('malformed', `A ${message.kind} is no way to begin`);
    shown.push(message.certificate);
    this.#welcome(message, peer);
    await writeGateMessage(channel, helloOf(own));
  }

  /** Returns the statement that revoked the other hub. The refusal contains the statement: members send a revoked hub only refusals. */
  #proofFor([certificate]: readonly CertificateChain[], peer: GatePeer): Uint8Array | undefined {
    const isOwn = certificate && verifyCertificate(certificate, this.#membership.record().rootKey).key === peer.publicKey;
    return isOwn ? this.#membership.revocationOf(certificate) : undefined;
  }

  /** Adds a revocation that the other hub sent, even if that hub is no member: the signature is proof. Ignores an invalid statement. */
  #learn(revocation: Uint8Array): void {
    try {
      this.#membership.merge(revocation);
    } catch (thrown) {
      if (!(thrown instanceof AtmoError)) throw thrown;
    }
  }

  #welcome({ meshId, certificate }: Extract<HandshakeMessage, { kind: 'hello' }>, peer: GatePeer): void {
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
      const files = `hub.key and ${backupCopyPath('hub.key')} of its state directory`;
      refuseAtGate('revoked', `${peer.id} was revoked. It can join again with a new key: stop it, delete ${files}, start it`);
    }
    const { inviteId, proof, name } = join;
    const { certificate } = this.#grant({ inviteId, proof, name, publicKey: peer.publicKey });
    await writeGateMessage(channel, { kind: 'grant', responder: own.certificate, certificate });
    // Waits until the joining hub closes the connection after reading the grant. Closing the connection here could lose the grant.
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

function helloOf({ meshId, certificate }: Member): HandshakeMessage {
  return { kind: 'hello', version: GATE_VERSION, meshId, certificate };
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof AtmoError)) return 'failed';
  const { reason } = thrown.details;
  return typeof reason === 'string' ? reason : 'closed';
}

/** Version of the handshake messages. */
export const GATE_VERSION = 1;

/** Reads one handshake message. Rejects with PERMISSION_DENIED if the message is malformed or of another version. */
async function readGateMessage(channel: GateChannel): Promise<HandshakeMessage> {
  const message = parse(await channel.read());
  if ('version' in message && message.version !== GATE_VERSION) {
    refuseAtGate(
      'unknown_version',
      `Version ${message.version} of the gate is not spoken here, only version ${GATE_VERSION}. Update the older of the two hubs`,
    );
  }
  return message;
}

/** Reads the answer. If it is a refusal, passes its revocation statement (if any) to `learn` and rejects with PERMISSION_DENIED. */
export async function readGateAnswer(
  channel: GateChannel,
  peer: GatePeer,
  learn?: (revocation: Uint8Array) => void,
): Promise<HandshakeMessage> {
  const answer = await readGateMessage(channel);
  if (answer.kind !== 'refusal') return answer;
  if (answer.revocation) learn?.(answer.revocation);
  throw new AtmoError('PERMISSION_DENIED', `${peer.id} refused: ${visibleLine(answer.message, MAX_MESSAGE)}`, {
    reason: 'refused_by_peer',
    code: answer.code,
  });
}

/** Sends one handshake message. */
export async function writeGateMessage(channel: GateChannel, message: HandshakeMessage): Promise<void> {
  await channel.write(handshakeCodec.encode(message));
}

/** Sends a refusal with its reason and, if given, the revocation statement. Does nothing if the connection is closed. */
async function writeGateRefusal(channel: GateChannel, thrown: unknown, revocation?: Uint8Array): Promise<void> {
  const { code, message } = toAtmoError(thrown);
  const refusal: HandshakeMessage = { kind: 'refusal', code, message: message.slice(0, MAX_MESSAGE), ...(revocation && { revocation }) };
  await channel.write(handshakeCodec.encode(refusal)).catch(() => undefined);
}

/** Maximum length of a refusal text in UTF-16 units. Each unit has at most 3 bytes of UTF-8, and 1,024 bytes are allowed. */
const MAX_MESSAGE = 340;

function parse(bytes: Uint8Array): HandshakeMessage {
  try {
    return handshakeCodec.decode(bytes);
  } catch (thrown) {
    return refuseAtGate('malformed', `What came through the gate is no message of it. ${toAtmoError(thrown).message}`);
  }
}
