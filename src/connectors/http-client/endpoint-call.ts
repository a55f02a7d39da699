import type { IncomingMessage } from 'node:http';
import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { certificateFailure } from './connection-failure.ts';
import { headersOf, readDecodedBody, sendRequest } from './http-request.ts';

/** A request to an address that the owner configured; it may be in the owner's own network. */
export interface EndpointCall {
  /** For messages, such as `the ntfy server`. */
  readonly service: string;
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData;
  /** True where a request that went out may have done something. */
  readonly isActing: boolean;
  readonly signal: AbortSignal;
  /** Longest answer; 1 MiB when absent. */
  readonly maxBytes?: number;
  /** Hears an answer that is no refusal while it arrives, piece by piece. */
  readonly onPart?: (part: Uint8Array) => void;
}

/** An answer with a status from 200 to 299. */
export interface EndpointResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

const MAX_BYTES = 1_048_576;
const SHOWN = 300;
/** The connection was never made: nothing was sent. */
const NOT_CONNECTED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|CONNECT_TIMEOUT|ERR_TLS)/;

/**
 * Calls a service that the owner configured. Errors: SERVICE_UNAVAILABLE (nothing was delivered), SERVICE_REFUSED (any status
 * beside 2xx; `details.status` has it), RATE_LIMITED (429), PAYLOAD_TOO_LARGE (the answer), OUTCOME_UNKNOWN (an acting request
 * that was sent and not answered), else TIMEOUT or what the signal aborts with. The text of the answer is not in the message of
 * an error unless the service refused, and then only its beginning.
 */
export async function callEndpoint(call: EndpointCall): Promise<EndpointResponse> {
  // What had no time left was not sent: there is nothing unknown about it.
  call.signal.throwIfAborted();
  const response = await sendCall(call);
  const body = await readBody(call, response);
  const answer = { status: response.statusCode ?? 0, headers: headersOf(response), body };
  if (isOk(response)) return answer;
  throw statusError(call, answer);
}

/** The JSON of an answer. SERVICE_REFUSED when it is none. */
export function jsonOf({ service }: Pick<EndpointCall, 'service'>, { status, body }: Pick<EndpointResponse, 'status' | 'body'>): Json {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as Json;
  } catch {
    throw new AtmoError('SERVICE_REFUSED', `${service} answered with something that is no JSON; is the address right?`, { status });
  }
}

async function sendCall(call: EndpointCall): Promise<IncomingMessage> {
  const { url, method, signal, headers } = call;
  // The form of a body and its media type are those that `fetch` gives it.
  const body = call.body === undefined ? undefined : new Response(call.body);
  const type = body?.headers.get('content-type');
  const given = Object.fromEntries(new Headers({ ...(type && { 'content-type': type }), ...headers }));
  const content = body && { body: new Uint8Array(await body.arrayBuffer()) };
  return sendRequest({ url, method, headers: given, signal, ...content }, (code) => connectionError(call, signal, code));
}

function readBody(call: EndpointCall, response: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const { method, maxBytes = MAX_BYTES, signal } = call;
  const onPart = isOk(response) ? call.onPart : undefined;
  return readDecodedBody(response, { method, maxBytes, onPart }, (code) => connectionError(call, signal, code));
}

function isOk({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

function connectionError({ service, isActing }: Pick<EndpointCall, 'service' | 'isActing'>, signal: AbortSignal, code: string): unknown {
  const certificate = certificateFailure(service, code);
  if (certificate) return certificate;
  if (NOT_CONNECTED.test(code)) {
    return new AtmoError('SERVICE_UNAVAILABLE', `${service} cannot be reached (${code}); nothing was sent`, { reason: code });
  }
  if (isActing) return new AtmoError('OUTCOME_UNKNOWN', `${service} did not answer; whether it took the request is not known`);
  if (signal.aborted) return signal.reason;
  return new AtmoError('SERVICE_UNAVAILABLE', `${service} broke off the connection (${code})`, { reason: code });
}

function statusError({ service, isActing }: EndpointCall, { status, headers, body }: EndpointResponse): AtmoError {
  if (status >= 300 && status < 400) {
    const moved = `${service} sends requests on to ${headers.get('location') ?? 'another address'}; configure that address`;
    return new AtmoError('SERVICE_REFUSED', moved, { status });
  }
  const said = new TextDecoder().decode(body.subarray(0, SHOWN)).replaceAll(/\s+/g, ' ').trim();
  const retryAfter = headers.get('retry-after');
  const details = { status, ...(retryAfter !== null && { retry_after: retryAfter }) };
  return new AtmoError(codeOfStatus(status, isActing), `${service} answered ${status}${said === '' ? '' : `: ${said}`}`, details);
}

function codeOfStatus(status: number, isActing: boolean): ErrorCode {
  if (status === 429) return 'RATE_LIMITED';
  if (status === 503) return 'SERVICE_UNAVAILABLE';
  return isActing && (status === 502 || status === 504) ? 'OUTCOME_UNKNOWN' : 'SERVICE_REFUSED';
}
