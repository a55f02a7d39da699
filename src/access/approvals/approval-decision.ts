import { isSelfOrDescendant } from '../../core/access/agent-id.ts';
import type { SignedDecision } from '../../core/access/approvals.ts';
import { AtmoError } from '../../core/errors.ts';
import { isSignedStatement } from '../../wire/approval-statement.ts';
import { publicKeyOf } from '../../wire/ed25519-key.ts';
import { type ApprovalRecord, statementOf } from './approval-record.ts';
import type { EnrolledKey } from './approver-registry.ts';

/**
 * The key with which a person has validly signed a decision about a request. An approval needs more than a denial: a key
 * from before the request, of somebody who did not make it. PERMISSION_DENIED with the reason.
 */
export function decidingKey(record: ApprovalRecord, decision: SignedDecision, keys: readonly EnrolledKey[]): EnrolledKey {
  const { person } = decision;
  if (keys.length === 0) refuse(`${JSON.stringify(person.slice(0, 32))} has no approver key on this hub`);
  const statement = statementOf(record, decision);
  const key = keys.find((candidate) => isSignedStatement(decision.signature, statement, publicKeyOf(candidate.key)));
  if (!key) return refuse(`The signature is not one by ${person} over this decision about this request on this hub`);
  if (decision.decision === 'deny') return key;
  if (isOwnRequest(record, person) || record.requester.keys.includes(key.key)) {
    refuse(`${person} cannot approve what ${record.requester.id} asks for: who asks never approves, another person has to`);
  }
  if (key.serial > record.newestEnrolment) {
    refuse(`Key ${key.keyId} of ${person} was enrolled after the request was made; it counts for the next one`);
  }
  return key;
}

/** The owner may call and approve in one; an agent, and whatever comes from it, never is the person of its name. */
function isOwnRequest({ requester }: ApprovalRecord, person: string): boolean {
  if (requester.kind === 'owner' && person === 'owner') return false;
  return isSelfOrDescendant(requester.id, person);
}

function refuse(reason: string): never {
  throw new AtmoError('PERMISSION_DENIED', reason);
}
