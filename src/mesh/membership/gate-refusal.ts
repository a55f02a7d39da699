import { AtmoError } from '../../core/errors.ts';

/** Why somebody is not let in; metrics count by these words. */
type GateReason =
  | 'malformed'
  | 'unknown_version'
  | 'self'
  | 'other_mesh'
  | 'not_a_member'
  | 'certificate_invalid'
  | 'certificate_of_another'
  | 'expired'
  | 'not_yet_valid'
  | 'revoked'
  | 'invite_unknown'
  | 'invite_expired'
  | 'invite_used'
  | 'wrong_proof'
  | 'too_many_attempts'
  | 'refused_by_peer';

/** Refuses with a reason for the counters and a sentence that says what to do: PERMISSION_DENIED, `details.reason`. */
export function refuseAtGate(reason: GateReason, message: string): never {
  throw new AtmoError('PERMISSION_DENIED', message, { reason });
}
