import { AtmoError } from '../../core/errors.ts';

/** Reason to refuse a hub during the handshake; metrics count refusals by reason. */
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

/** Throws PERMISSION_DENIED with the reason in `details.reason`; the message says what to do. */
export function refuseAtGate(reason: GateReason, message: string): never {
  throw new AtmoError('PERMISSION_DENIED', message, { reason });
}
