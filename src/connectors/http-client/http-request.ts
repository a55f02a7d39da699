import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { AtmoError } from '../../core/errors.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';
import { connectionCode } from './connection-failure.ts';

/** A request over a connection of its own; redirects are answers like others. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  /** Beside those that say what the hub can read. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
  /** The resolver of the machine when absent. */
  readonly lookup?: LookupFunction;
}

/** The code of a connection that was not made in the time that it may take. */
const CONNECT_TIMEOUT = 'CONNECT_TIMEOUT';
const DEFAULT_HEADERS = { accept: '*/*', 'accept-encoding': 'gzip, deflate, br', 'user-agent': 'atmosphere-edge' };

/**
 * Sends a request and resolves with the head of its answer. Rejects with what `failure` makes of the code of the connection, such as
 * `ECONNREFUSED`, and after an abort too.
 */
export async function sendRequest(
  { url, method, headers, body, signal, lookup }: HttpRequest,
  failure: (code: string) => unknown,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const fail = (code: string) => reject(failure(code));
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const request = send(url, { method, headers: { ...DEFAULT_HEADERS, ...headers }, signal, agent: false, ...(lookup && { lookup }) });
  request.once('response', resolve);
  const isReady = url.protocol === 'https:' ? 'secureConnect' : 'connect';
  request.once('socket', (socket) => limitConnectTime(socket, { isReady, onTimeout: () => fail(CONNECT_TIMEOUT) }));
  // Whoever answers that it speaks another protocol from now on has answered nothing that was asked (RFC 9110 §15.2.2).
  request.once('close', () => fail('another protocol'));
  request.once('error', (error) => fail(connectionCode(error)));
  request.end(body);
  return promise;
}

/** The headers of an answer, each as often as it came. */
export function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) for (const value of values) headers.append(name, value);
  return headers;
}

/** Ends a connection that takes too long to be one, the handshake of TLS included. */
function limitConnectTime(socket: Socket, { isReady, onTimeout }: { readonly isReady: string; readonly onTimeout: () => void }): void {
  const timer = setTimeout(() => {
    onTimeout();
    socket.destroy();
  }, INVOCATION_POLICY.connectTimeoutMs);
  for (const event of [isReady, 'close']) socket.once(event, () => clearTimeout(timer));
}

interface BodyBounds {
  readonly method: string;
  readonly maxBytes: number;
  /** Is called with each piece as it arrives, unpacked. */
  readonly onPart?: ((part: Uint8Array) => void) | undefined;
}

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * The body of an answer with its content coding (RFC 9110 §8.4) undone, measured behind that: what unpacks to more than
 * `maxBytes` is given up on the way (PAYLOAD_TOO_LARGE). Rejects with what `failure` makes of the code of a body that ends early, is
 * aborted, or cannot be unpacked.
 */
export async function readDecodedBody(
  response: IncomingMessage,
  { method, maxBytes, onPart }: BodyBounds,
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
 * Answers what broke off a body that ends with its connection (RFC 9112 §6.3, case 8): Node takes every end for the one that was
 * meant, also a reset and the abort of the signal. Bodies with a length or chunks say themselves that something is missing.
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
  // What went wrong comes out of the iteration.
  return pipeline(response, decoder(), () => {});
}

/** Hears each piece of a body as it comes. */
type ChunkListener = (part: Uint8Array) => void;

/** All that a stream brings, in one piece. PAYLOAD_TOO_LARGE beyond `maxBytes`; the stream is then ended. */
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
