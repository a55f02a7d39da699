import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { AtmoError } from '../../core/errors.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';

/** A request over a new connection. Redirects are returned, not followed. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  /** Headers that are added to the default headers, or replace them. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
  /** Resolves the host name; default: the resolver of the operating system. */
  readonly lookup?: LookupFunction;
  /** Certificates in PEM of the only authorities to trust; default: those that Node trusts. */
  readonly ca?: string;
}

/** Error code of a connection that was not established in time. */
const CONNECT_TIMEOUT = 'CONNECT_TIMEOUT';
const DEFAULT_HEADERS = { accept: '*/*', 'accept-encoding': 'gzip, deflate, br', 'user-agent': 'atmosphere-edge' };

/**
 * Sends a request and resolves with the head of the response. If the connection fails or the signal aborts, rejects with the result of
 * `failure(code)`, where `code` is an error code such as `ECONNREFUSED`.
 */
export async function sendRequest(
  { url, method, headers, body, signal, lookup, ca }: HttpRequest,
  failure: (code: string) => unknown,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const fail = (code: string) => reject(failure(code));
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const trust = { ...(lookup && { lookup }), ...(ca !== undefined && { ca }) };
  const request = send(url, { method, headers: { ...DEFAULT_HEADERS, ...headers }, signal, agent: false, ...trust });
  request.once('response', resolve);
  const isReady = url.protocol === 'https:' ? 'secureConnect' : 'connect';
  request.once('socket', (socket) => limitConnectTime(socket, { isReady, onTimeout: () => fail(CONNECT_TIMEOUT) }));
  // Has an effect only without a prior response or error. In that case, the server switched to another protocol (RFC 9110 §15.2.2).
  request.once('close', () => fail('another protocol'));
  request.once('error', (error) => fail(connectionCode(error)));
  request.end(body);
  return promise;
}

/** Returns the headers of a response. If a header was sent several times, keeps all of its values. */
export function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) for (const value of values) headers.append(name, value);
  return headers;
}

/** Ends a connection that is not ready in time. An https connection is ready after its TLS handshake. */
function limitConnectTime(socket: Socket, { isReady, onTimeout }: { readonly isReady: string; readonly onTimeout: () => void }): void {
  const timer = setTimeout(() => {
    onTimeout();
    socket.destroy();
  }, INVOCATION_POLICY.connectTimeoutMs);
  for (const event of [isReady, 'close']) socket.once(event, () => clearTimeout(timer));
}

/** Is called with each decoded piece of a body as it arrives. */
type ChunkListener = (part: Uint8Array) => void;

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * Returns the body of a response, decoded from its content coding (RFC 9110 §8.4). Rejects with PAYLOAD_TOO_LARGE if the decoded body is
 * longer than `maxBytes`, and with SERVICE_REFUSED if the coding is unknown. If the body ends early, is aborted or cannot be decoded,
 * rejects with the error of `failure`.
 */
export async function readDecodedBody(
  response: IncomingMessage,
  { method, maxBytes, onPart }: { readonly method: string; readonly maxBytes: number; readonly onPart?: ChunkListener | undefined },
  failure: (code: string) => unknown,
): Promise<Uint8Array<ArrayBuffer>> {
  if (method === 'HEAD') return new Uint8Array();
  const brokenOff = watchConnectionError(response);
  try {
    const body = await collectBounded(decodedStream(response), maxBytes, onPart);
    const error = brokenOff();
    if (error) throw error;
    return body;
  } catch (error) {
    if (error instanceof AtmoError) throw error;
    throw failure(connectionCode(error));
  } finally {
    response.destroy();
  }
}

/**
 * Watches the connection of a body that has neither a length nor chunks (RFC 9112 §6.3, case 8). Node.js reports every end of such a body
 * as regular, even a reset or an abort. The returned function returns the connection's error, if there was one.
 */
function watchConnectionError({ headers, socket }: IncomingMessage): () => Error | undefined {
  let brokenOff: Error | undefined;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) {
    socket.once('error', (error: Error) => {
      brokenOff = error;
    });
  }
  return () => brokenOff;
}

function decodedStream(response: IncomingMessage): AsyncIterable<Uint8Array> {
  const coding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (coding === 'identity' || coding === '') return response;
  const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (!decoder) throw new AtmoError('SERVICE_REFUSED', `The answer is packed in a way that was not asked for (${coding.slice(0, 40)})`);
  // The callback can be empty: the loop that reads this stream throws the stream's errors.
  return pipeline(response, decoder(), () => {});
}

/** Returns the whole content of a stream. If it is longer than `maxBytes`, ends the stream and rejects with PAYLOAD_TOO_LARGE. */
export async function collectBounded(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  onPart?: ChunkListener,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of stream) {
    length += part.length;
    if (length > maxBytes) throw new AtmoError('PAYLOAD_TOO_LARGE', `The answer is longer than ${maxBytes} bytes`, { max_bytes: maxBytes });
    parts.push(part);
    onPart?.(part);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Codes of Node.js and OpenSSL for a rejected certificate (nodejs.org/api/tls.html, X509 certificate error codes). */
const CERTIFICATE_CODES = /^(CERT_|CRL_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH)/;
/** Error code for a certificate that is not valid yet. A possible cause is a wrong clock of the hub. */
const NOT_YET_VALID = 'CERT_NOT_YET_VALID';

/** Returns the error SERVICE_UNAVAILABLE if the code means a rejected certificate, and undefined for any other code. */
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

/** Returns the code of a connection error, such as `ECONNREFUSED`. Without a code, returns `no answer`, never text from the server. */
export function connectionCode(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : 'no answer';
}
