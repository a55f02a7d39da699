import { AtmoError } from '../../core/errors.ts';

/** Codes of Node and OpenSSL for a rejected certificate (nodejs.org/api/tls.html, X509 certificate error codes). */
const CERTIFICATE_CODES = /^(CERT_|CRL_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH)/;
/** Perhaps the clock of the hub is wrong. */
const NOT_YET_VALID = 'CERT_NOT_YET_VALID';

/**
 * SERVICE_UNAVAILABLE for a service whose certificate is rejected, so that nothing was sent: only the owner can change that, and not a
 * repetition. Undefined for all other codes.
 */
export function certificateFailure(service: string, code: string): AtmoError | undefined {
  if (!CERTIFICATE_CODES.test(code)) return undefined;
  const message = `${service} shows a certificate that the hub does not take (${code}): ${adviceFor(code)}; nothing was sent`;
  return new AtmoError('SERVICE_UNAVAILABLE', message, { reason: code, ...(code !== NOT_YET_VALID && { permanent: true }) });
}

function adviceFor(code: string): string {
  if (code === NOT_YET_VALID) return 'it counts from later on; is the time of the hub right?';
  if (code === 'CERT_HAS_EXPIRED') return 'it has expired and has to be renewed there';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'it is for another name than the configured address has';
  return 'nobody whom the hub trusts has signed it; name its authority in ca_file where there is one, or in NODE_EXTRA_CA_CERTS';
}

/** The code of a connection error, such as `ECONNREFUSED`; `no answer` without a code. It is never a text of the other side. */
export function connectionCode(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : 'no answer';
}
