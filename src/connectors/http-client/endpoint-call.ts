import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { certificateFailure, headersOf, readDecodedBody, sendRequest } from './http-request.ts';

/** A request to a URL that the owner configured; it may be in the home network. */
export interface EndpointCall {
  /** Name of the service for messages, such as `the ntfy server`. */
  readonly service: string;
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData;
  /** True for a request that changes something at the service. */
  readonly isActing: boolean;
  readonly signal: AbortSignal;
  /** Maximum length of the response in bytes; default 1 MiB. */
  readonly maxBytes?: number;
  /** Is called with each piece of the body if the status is 2xx. */
  readonly onPart?: (part: Uint8Array) => void;
}

/** A response with a status from 200 to 299. */
export interface EndpointResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

const MAX_BYTES = 1_048_576;
const SHOWN = 300;
/** Error codes of a connection that could not be established. In these cases nothing was sent. */
const NOT_CONNECTED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|CONNECT_TIMEOUT|ERR_TLS)/;

/**
 * Calls a service that the owner configured, and resolves if the status is 2xx. Otherwise rejects with SERVICE_UNAVAILABLE (no connection,
 * a lost connection, or status 503), RATE_LIMITED (status 429), SERVICE_REFUSED (any other status, which is in `details.status`),
 * PAYLOAD_TOO_LARGE (the response is too large), or the signal's reason. If a changing request was sent but got no complete response, or
 * got status 502 or 504, rejects with OUTCOME_UNKNOWN instead. The message for an error status quotes the beginning of the response.
 */
export async function callEndpoint(call: EndpointCall): Promise<EndpointResponse> {
  const { url, method, signal, maxBytes = MAX_BYTES } = call;
  // An aborted call must fail before anything is sent: then it certainly changed nothing.
  signal.throwIfAborted();
  const failure = (code: string) => connectionError(call, code);
  // `Response` encodes the body and chooses its media type in the same way as `fetch`.
  const form = call.body === undefined ? undefined : new Response(call.body);
  const type = form?.headers.get('content-type');
  const headers = Object.fromEntries(new Headers({ ...(type && { 'content-type': type }), ...call.headers }));
  const content = form && { body: new Uint8Array(await form.arrayBuffer()) };
  const response = await sendRequest({ url, method, headers, signal, ...content }, failure);
  const { statusCode: status = 0 } = response;
  const isOk = status >= 200 && status < 300;
  const body = await readDecodedBody(response, { method, maxBytes, onPart: isOk ? call.onPart : undefined }, failure);
  const answer = { status, headers: headersOf(response), body };
  if (isOk) return answer;
  throw statusError(call, answer);
}

/** A JSON body for a changing request, with a bearer token if there is one. */
interface JsonPost extends Pick<EndpointCall, 'service' | 'url' | 'headers' | 'signal'> {
  readonly token?: string | undefined;
  readonly json: string;
}

/** Posts JSON as a changing request; rejects like `callEndpoint`. */
export function postJson({ token, json, headers, ...call }: JsonPost): Promise<EndpointResponse> {
  const authorization = token !== undefined && { authorization: `Bearer ${token}` };
  const all = { 'content-type': 'application/json', ...headers, ...authorization };
  return callEndpoint({ ...call, method: 'POST', headers: all, body: json, isActing: true });
}

/** Returns the JSON of a response. Throws SERVICE_REFUSED if the body is not JSON. */
export function jsonOf({ service }: Pick<EndpointCall, 'service'>, { status, body }: Pick<EndpointResponse, 'status' | 'body'>): Json {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as Json;
  } catch {
    throw new AtmoError('SERVICE_REFUSED', `${service} answered with something that is no JSON; is the address right?`, { status });
  }
}

function connectionError({ service, isActing, signal }: EndpointCall, code: string): unknown {
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
