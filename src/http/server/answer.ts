import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { OAUTH_SCOPES } from '../../core/auth/oauth.ts';
import { AtmoError, ERROR_CODES, type ErrorBody } from '../../core/errors.ts';

/** The response of a route. The server adds the headers that all responses share. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

/** Returns a JSON response. Properties of `value` that are undefined are omitted. */
export function json(value: unknown, status = 200): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

interface ProblemContext {
  readonly requestId: string;
  /** HTTP status, if it differs from the one in the error table. Examples are 405 and 415. */
  readonly status?: number;
  /** URL of the resource metadata (RFC 9728 §5.1). Only a response with an authentication challenge contains it. */
  readonly resourceMetadata?: string;
}

/**
 * Returns a response with problem details (RFC 9457). They contain our `code`, `details` and `retryable`, but no stack. The property
 * `error` repeats the error in the form of a call's envelope, so that clients find every error there.
 */
export function problem(error: AtmoError, context: ProblemContext): Answer {
  const { code, message, details, retryable } = error.toBody();
  const status = context.status ?? ERROR_CODES[code].httpStatus;
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...withMetadata(problemHeaders(error, status), context.resourceMetadata) },
    body: JSON.stringify({
      type: `https://atmosphere.dev/errors/${code}`,
      title: ERROR_CODES[code].meaning,
      status,
      detail: message,
      instance: `urn:request:${context.requestId}`,
      code,
      details,
      retryable,
      error: { code, message, details, retryable },
    }),
  };
}

/** Seconds after which a client should ask a hub again that is stopping. It is the time that systemd waits and a hub needs to start. */
const RESTART_SECONDS = 5;

/** Returns the headers that an error needs: an authentication challenge (RFC 6750 §3), the time after which to retry, or none. */
export function problemHeaders(error: ChallengedError, status: number): Record<string, string> {
  const challenge = challengeOf(error, status);
  if (challenge !== undefined) return { 'www-authenticate': challenge };
  if (error.code === 'SHUTTING_DOWN') return { 'retry-after': String(RESTART_SECONDS) };
  const retryAfterMs = error.details.retry_after_ms;
  if (typeof retryAfterMs === 'number') return { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) };
  return {};
}

function withMetadata(headers: Record<string, string>, address: string | undefined): Record<string, string> {
  const challenge = headers['www-authenticate'];
  if (challenge === undefined || address === undefined) return headers;
  // A client that has no token yet asks for these scopes (RFC 6750 §3).
  const scope = challenge.includes('scope=') ? '' : `, scope="${OAUTH_SCOPES.join(' ')}"`;
  return { ...headers, 'www-authenticate': `${challenge}, resource_metadata="${address}"${scope}` };
}

type ChallengedError = Pick<ErrorBody, 'code' | 'details'>;

const REALM = 'Bearer realm="atmosphere-edge"';
/** Matches a scope-token (RFC 6749 §3.3). It needs no escapes inside a quoted string. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

function challengeOf({ code, details }: ChallengedError, status: number): string | undefined {
  if (status === 401 && code === 'TOKEN_EXPIRED') return `${REALM}, error="invalid_token", error_description="The token has expired"`;
  if (status === 401) return code === 'UNAUTHENTICATED' ? REALM : `${REALM}, error="invalid_token"`;
  if (code !== 'PERMISSION_DENIED' || !Array.isArray(details.required)) return undefined;
  const scopes = details.required.filter((scope) => typeof scope === 'string' && SCOPE.test(scope));
  return `${REALM}, error="insufficient_scope", scope="${scopes.join(' ')}"`;
}

/** Functions that create errors of the HTTP protocol. */
export const httpErrors = {
  mediaType: (given: string, takes: 'object' | 'object-or-list' | 'form'): AtmoError => {
    const type = takes === 'form' ? 'application/x-www-form-urlencoded' : 'application/json';
    return new AtmoError('VALIDATION_ERROR', `A body has to come as ${type} in UTF-8, not as ${JSON.stringify(given)}`, { given });
  },
  notAcceptable: (types: readonly string[]): AtmoError =>
    new AtmoError('NOT_SUPPORTED', `This is told as ${types.join(' or ')} alone; the Accept header leaves that out`, { types: [...types] }),
  method: (method: string, allowed: readonly string[]): AtmoError =>
    new AtmoError('NOT_SUPPORTED', `${method} is not possible here; use ${allowed.join(' or ')}`, { allowed: [...allowed] }),
};

/** Maximum length of a request target in characters. */
export const MAX_TARGET_CHARS = 8_192;

/** Milliseconds after a refusal until the connection is destroyed. */
const CUT_AFTER_MS = 2_000;

/** Error of the Node.js HTTP parser. */
interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Uint8Array;
}

/** Responds to an unparsable request: 408 if it was too slow, 414 if its target is too long, 431 if its headers are too long, else 400. */
export function refuseUnparsed(error: ParserError, socket: Duplex): void {
  const [status, refusal] = refusalOf(error);
  refuseSocket(socket, status, refusal);
}

/** Writes a complete response and ends the socket. If the socket is not writable or has unsent data, destroys the socket instead. */
export function refuseSocket(socket: Duplex, status: number, error: AtmoError): void {
  if (!socket.writable || socket.writableLength > 0) {
    socket.destroy();
    return;
  }
  const { headers, body } = problem(error, { requestId: 'none', status });
  const text = String(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${headers['content-type']}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
  drainAndCut(socket);
}

/**
 * Reads and discards further input. Otherwise the client might not get the response, and its disconnection would go unnoticed. Destroys the
 * socket after two seconds, because the HTTP server no longer manages it.
 */
export function drainAndCut(socket: Duplex): void {
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), CUT_AFTER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** Returns the error for a too long request target (RFC 9110 §15.5.15). */
export function targetTooLong(): AtmoError {
  return new AtmoError('PAYLOAD_TOO_LARGE', `Path and query may have at most ${MAX_TARGET_CHARS} characters; send the rest in a body`, {
    max_characters: MAX_TARGET_CHARS,
  });
}

function refusalOf({ code, rawPacket }: ParserError): [status: number, error: AtmoError] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, new AtmoError('TIMEOUT', 'The request did not arrive in time; send it at once')];
  if (code === 'HPE_HEADER_OVERFLOW' && isFirstLine(rawPacket)) return [414, targetTooLong()];
  if (code === 'HPE_HEADER_OVERFLOW') return [431, new AtmoError('PAYLOAD_TOO_LARGE', 'The headers are too large; at most 16 KiB')];
  return [400, new AtmoError('VALIDATION_ERROR', 'This is not an HTTP/1.1 request')];
}

/** Returns whether the first line of the request is longer than the limit. If not, the headers are too long. */
function isFirstLine(packet: Uint8Array | undefined): boolean {
  if (packet === undefined) return false;
  const end = packet.indexOf(0x0a);
  return end === -1 ? /^[A-Z]+ \//.test(Buffer.from(packet.subarray(0, 16)).toString('latin1')) : end > MAX_TARGET_CHARS;
}
