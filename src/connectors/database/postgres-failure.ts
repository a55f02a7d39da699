import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import { certificateFailure } from '../http/certificate-failure.ts';
import { connectionCode } from '../http/connection-code.ts';

/** SQLSTATE (PostgreSQL manual, appendix A), whole or by class; the first that fits. */
const STATES: readonly (readonly [RegExp, ErrorCode, string])[] = [
  [/^57014$/, 'TIMEOUT', 'The statement took too long'],
  [/^(25...|42501|0A000)$/, 'PERMISSION_DENIED', 'The statement would change or reach what it may not'],
  [/^42601$/, 'VALIDATION_ERROR', 'The statement is wrong, or none that may run here'],
  [/^(22|23|42|21|08P01)/, 'VALIDATION_ERROR', 'The statement is wrong'],
  [/^(28|3D)/, 'SERVICE_REFUSED', 'The database does not let the hub in'],
  [/^(53|57|08)/, 'SERVICE_UNAVAILABLE', 'The database cannot take work now'],
];
const NOT_SENT = /^(ECONNREFUSED|ENOENT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_TLS)/;

/** What PostgreSQL or the way to it refused, in the codes of the port `Database`. */
export function postgresFailure(error: unknown, isWritable: boolean): unknown {
  if (error instanceof AtmoError) return error;
  const code = connectionCode(error);
  const message = error instanceof Error ? error.message.slice(0, 300) : '';
  const known = STATES.find(([pattern]) => /^[0-9A-Z]{5}$/.test(code) && pattern.test(code));
  if (known) return new AtmoError(known[1], `${known[2]}: ${message}`, { sqlstate: code });
  if (/^[0-9A-Z]{5}$/.test(code)) return new AtmoError('SERVICE_REFUSED', `The database refused: ${message}`, { sqlstate: code });
  const certificate = certificateFailure('The database', code);
  if (certificate) return certificate;
  if (isWritable && !NOT_SENT.test(code)) {
    return new AtmoError('OUTCOME_UNKNOWN', 'The connection to the database ended; whether the statement changed something is not known');
  }
  return new AtmoError('SERVICE_UNAVAILABLE', `The database cannot be reached (${code})`, { reason: code });
}
