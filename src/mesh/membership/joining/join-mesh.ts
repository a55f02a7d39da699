import { AtmoError, toAtmoError } from '../../../core/errors.ts';
import type { TrustedTime } from '../../../core/time/trusted-time.ts';
import { meshIdOf } from '../../../wire/hub-id.ts';
import { type Invite, parseInvite } from '../../../wire/messages/invite.ts';
import { parseHostPort } from '../../engine/host-port.ts';
import type { MeshEngine, PeerAddress } from '../../engine/mesh-engine.ts';
import type { Member } from '../members/member.ts';
import type { MeshMembership } from '../mesh-membership.ts';
import { JoinAttempt } from './join-attempt.ts';

interface JoinCollaborators {
  readonly membership: MeshMembership;
  readonly engine: Pick<MeshEngine, 'connect'>;
  readonly time: TrustedTime;
}

/** How to join. */
export interface JoinOptions {
  /** The invite's text. */
  readonly invite: string;
  /** What this hub calls itself, for people. */
  readonly name: string;
  /** Hubs that were found on the local network, to be tried after those that the invite names. */
  readonly found: readonly PeerAddress[];
  readonly signal: AbortSignal;
}

/**
 * Makes this hub a member with an invite, and answers the hub that let it in. VALIDATION_ERROR for a text that is no invite,
 * CONFLICT when the hub is in another mesh, PERMISSION_DENIED with the reason when it was refused, NODE_UNAVAILABLE when no hub
 * could be asked, CANCELLED, STORAGE_FAILED. After a failure the same invite may be tried again.
 */
export async function joinMesh(parts: JoinCollaborators, { invite: text, name, found, signal }: JoinOptions): Promise<Member> {
  const invite = parseInvite(text);
  parts.membership.requireFree(meshIdOf(invite.rootKey));
  const attempt = new JoinAttempt(parts, { invite, name });
  const failures: AtmoError[] = [];
  for (const address of [...invite.addresses.flatMap((address) => parseHostPort(address) ?? []), ...found]) {
    signal.throwIfAborted();
    const failure = await attemptAt(parts.engine, address, { attempt, signal });
    if (attempt.joinedBy) {
      parts.membership.announceChange('joined', { hub_id: parts.membership.self.hubId, inviter: attempt.joinedBy.hubId });
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

/** The one that says most: a refusal by the hub of the invite before one by a hub that knows nothing of it, before silence. */
function worstOf(failures: readonly AtmoError[], { addresses }: Invite): AtmoError {
  const told = failures.find(({ code }) => code !== 'NODE_UNAVAILABLE' && code !== 'TIMEOUT') ?? failures[0];
  if (told) return told;
  return new AtmoError(
    'NODE_UNAVAILABLE',
    `The invite names ${addresses.length === 0 ? 'no address' : 'addresses where nobody answers'}, and no hub was found on the local network. Start the other hub, or make an invite with an address of it`,
  );
}
