import { AtmoError, ERROR_CODES, type ErrorBody } from '../../core/errors.ts';

/** What a route answers; the door adds the headers that every answer has. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

/** A JSON answer. `value` may hold undefined members, they are left out. */
export function json(value: unknown, status = 200): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

interface ProblemContext {
  readonly requestId: string;
  /** Where HTTP has a status of its own, such as 405 and 415, that the error table does not know. */
  readonly status?: number;
  /** Address of the document that tells how the resource is protected (RFC 9728 §5.1), for who came without a good token. */
  readonly resourceMetadata?: string;
}

/**
 * Problem details (RFC 9457) with our `code`, `details` and `retryable`; never a stack. `error` is what the envelope of a call has
 * under that name, so that a client reads every error in the same place.
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

/** Headers that belong to an error whatever the form of its body: the challenge (RFC 6750 §3) and when to come back. */
export function problemHeaders(error: ChallengedError, status: number): Record<string, string> {
  const challenge = challengeOf(error, status);
  if (challenge !== undefined) return { 'www-authenticate': challenge };
  const retryAfterMs = error.details.retry_after_ms;
  if (typeof retryAfterMs === 'number') return { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) };
  return {};
}

function withMetadata(headers: Record<string, string>, address: string | undefined): Record<string, string> {
  const challenge = headers['www-authenticate'];
  if (challenge === undefined || address === undefined) return headers;
  return { ...headers, 'www-authenticate': `${challenge}, resource_metadata="${address}"` };
}

type ChallengedError = Pick<ErrorBody, 'code' | 'details'>;

const REALM = 'Bearer realm="atmosphere-edge"';
/** A scope-token of RFC 6749 §3.3, which needs no quoting. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

function challengeOf({ code, details }: ChallengedError, status: number): string | undefined {
  if (status === 401 && code === 'TOKEN_EXPIRED') return `${REALM}, error="invalid_token", error_description="The token has expired"`;
  if (status === 401) return code === 'UNAUTHENTICATED' ? REALM : `${REALM}, error="invalid_token"`;
  if (code !== 'PERMISSION_DENIED' || !Array.isArray(details.required)) return undefined;
  const scopes = details.required.filter((scope) => typeof scope === 'string' && SCOPE.test(scope));
  return `${REALM}, error="insufficient_scope", scope="${scopes.join(' ')}"`;
}

/** Errors that HTTP itself knows. */
export const httpErrors = {
  mediaType: (given: string): AtmoError =>
    new AtmoError('VALIDATION_ERROR', `A body has to come as application/json in UTF-8, not as ${JSON.stringify(given)}`, { given }),
  notAcceptable: (types: readonly string[]): AtmoError =>
    new AtmoError('NOT_SUPPORTED', `This is told as ${types.join(' or ')} alone; the Accept header leaves that out`, { types: [...types] }),
  method: (method: string, allowed: readonly string[]): AtmoError =>
    new AtmoError('NOT_SUPPORTED', `${method} is not possible here; use ${allowed.join(' or ')}`, { allowed: [...allowed] }),
};
