import type { HandshakeMessage } from '../../codec/messages/connection.ts';
import { type Invite, parseInvite } from '../../codec/messages/membership.ts';
import { meshIdOf } from '../../codec/public-key.ts';
import type { TrustedTime } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import {
  type ConnectionGate,
  type GateChannel,
  type GatePeer,
  type MeshEngine,
  type PeerAddress,
  parseHostPort,
} from '../transport/mesh-engine.ts';
import { isInviter, type Member, refuseAtGate, requireInTime, verifyCertificate } from './certificates.ts';
import { joinProof } from './invite-store.ts';
import { GATE_VERSION, readGateAnswer, writeGateMessage } from './membership-gate.ts';
import type { MeshMembership } from './mesh-membership.ts';

interface JoinCollaborators {
  readonly membership: MeshMembership;
  readonly engine: Pick<MeshEngine, 'connect'>;
  readonly time: TrustedTime;
}

/** Options for joining a mesh. */
export interface JoinOptions {
  readonly invite: string;
  readonly name: string;
  /** Addresses of hubs on the local network, dialled after the addresses of the invite. */
  readonly found: readonly PeerAddress[];
  readonly signal: AbortSignal;
}

/**
 * Makes this hub a member with an invite and returns the inviter. Rejects with VALIDATION_ERROR if the text is not an invite, CONFLICT if
 * this hub is in another mesh, PERMISSION_DENIED with the reason if a hub refuses, NODE_UNAVAILABLE if no hub answers, CANCELLED if the
 * signal aborts, STORAGE_FAILED if the membership cannot be stored. After a failure the invite can be used again.
 */
export async function joinMesh(collaborators: JoinCollaborators, { invite: text, name, found, signal }: JoinOptions): Promise<Member> {
  const invite = parseInvite(text);
  collaborators.membership.requireFree(meshIdOf(invite.rootKey));
  const attempt = new JoinAttempt(collaborators, { invite, name });
  const failures: AtmoError[] = [];
  for (const address of [...invite.addresses.flatMap((address) => parseHostPort(address) ?? []), ...found]) {
    signal.throwIfAborted();
    const failure = await attemptAt(collaborators.engine, address, { attempt, signal });
    if (attempt.joinedBy) {
      collaborators.membership.announceChange('joined', { hub_id: collaborators.membership.self.hubId, inviter: attempt.joinedBy.hubId });
      return attempt.joinedBy;
    }
    failures.push(failure);
  }
  throw worstOf(failures, invite);
}

async function attemptAt(
  engine: Pick<MeshEngine, 'connect'>,
  address: PeerAddress,
  { attempt, signal }: { readonly attempt: JoinAttempt; readonly signal: AbortSignal },
): Promise<AtmoError> {
  try {
    await engine.connect(address, { signal, gate: attempt });
  } catch (thrown) {
    return toAtmoError(thrown);
  }
  return new AtmoError('CONFLICT', 'There is a connection to that hub already: this hub is a member');
}

/** Returns the most informative failure: the first in which a hub answered. If no hub answered, returns the first failure. */
function worstOf(failures: readonly AtmoError[], { addresses }: Invite): AtmoError {
  const failure = failures.find(({ code }) => code !== 'NODE_UNAVAILABLE' && code !== 'TIMEOUT') ?? failures[0];
  if (failure) return failure;
  return new AtmoError(
    'NODE_UNAVAILABLE',
    `The invite names ${addresses.length === 0 ? 'no address' : 'addresses where nobody answers'}, and no hub was found on the local network. Start the other hub, or make an invite with an address of it`,
  );
}

/**
 * Connection gate of a hub that joins a mesh. It never admits the connection: after the membership is stored, the connection ends, and the
 * hub connects again as a member. The invite has the full root key, so the gate refuses a hub that only imitates the mesh.
 */
export class JoinAttempt implements ConnectionGate {
  readonly #membership: MeshMembership;
  readonly #time: TrustedTime;
  readonly #ticket: { readonly invite: Invite; readonly name: string };
  #joinedBy: Member | undefined;

  constructor(
    { membership, time }: Pick<JoinCollaborators, 'membership' | 'time'>,
    ticket: { readonly invite: Invite; readonly name: string },
  ) {
    this.#membership = membership;
    this.#time = time;
    this.#ticket = ticket;
  }

  /** Inviter that admitted this hub; undefined before the admission. */
  get joinedBy(): Member | undefined {
    return this.#joinedBy;
  }

  /** Requests membership. After success, rejects with PERMISSION_DENIED and the reason `joined`, because this connection has to end. */
  async admit(channel: GateChannel, peer: GatePeer): Promise<void> {
    const { invite, name } = this.#ticket;
    const { self } = this.#membership;
    if (peer.publicKey === self.publicKey) refuseAtGate('self', `${peer.address} is this hub itself`);
    const proof = joinProof(invite.secret, { joiner: self.publicKey, responder: peer.publicKey });
    await writeGateMessage(channel, {
      kind: 'join',
      version: GATE_VERSION,
      meshId: meshIdOf(invite.rootKey),
      inviteId: invite.id,
      proof,
      name,
    });
    const answer = await readGateAnswer(channel, peer);
    if (answer.kind !== 'grant') refuseAtGate('malformed', `${peer.id} answered with a ${answer.kind} where a grant was due`);
    this.#joinedBy = this.#accept(answer, peer);
    throw new AtmoError('PERMISSION_DENIED', 'This hub has joined and connects again as a member', { reason: 'joined' });
  }

  #accept({ responder, certificate }: Extract<HandshakeMessage, { kind: 'grant' }>, peer: GatePeer): Member {
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
