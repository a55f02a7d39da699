import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { INVOCATION_POLICY } from '../../tools/calls/bounds/invocation-policy.ts';
import { connectionCode } from './connection-code.ts';

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
const HEADERS = { accept: '*/*', 'accept-encoding': 'gzip, deflate, br', 'user-agent': 'atmosphere-edge' };

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
  const request = send(url, { method, headers: { ...HEADERS, ...headers }, signal, agent: false, ...(lookup && { lookup }) });
  request.once('response', resolve);
  const isReady = url.protocol === 'https:' ? 'secureConnect' : 'connect';
  request.once('socket', (socket) => limitConnecting(socket, { isReady, onTimeout: () => fail(CONNECT_TIMEOUT) }));
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
function limitConnecting(socket: Socket, { isReady, onTimeout }: { readonly isReady: string; readonly onTimeout: () => void }): void {
  const timer = setTimeout(() => {
    onTimeout();
    socket.destroy();
  }, INVOCATION_POLICY.connectTimeoutMs);
  for (const event of [isReady, 'close']) socket.once(event, () => clearTimeout(timer));
}
