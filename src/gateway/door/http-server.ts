import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Hono } from 'hono';
import type { Clock } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { problem } from './answer.ts';
import { requireLoopback } from './loopback.ts';

/** Where the door listens. */
export interface HttpAddress {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
}

/** Bounds against clients that are slow on purpose. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
const CHECK_INTERVAL_MS = 1_000;
const MAX_CONNECTIONS = 1_024;
const DRAIN_MS = 10_000;

/** The listening socket of the door: timeouts against slow clients, a drain at the end. */
export class HttpServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #clock: Clock;

  constructor(app: Hono, clock: Clock) {
    this.#clock = clock;
    this.#server = createServer(
      { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS, connectionsCheckingInterval: CHECK_INTERVAL_MS },
      getRequestListener(app.fetch, { hostname: 'host.missing', errorHandler: malformed }),
    );
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on('clientError', refuseRaw);
  }

  /** Answers the port. CONFIG_INVALID when the host is not loopback or the port is taken. */
  async listen({ host, port }: HttpAddress): Promise<number> {
    requireLoopback(host);
    this.#server.listen(port, host);
    try {
      await once(this.#server, 'listening');
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      const advice = 'stop what listens there (another hub?), or set ATMO_HTTP_PORT';
      throw new AtmoError(
        'CONFIG_INVALID',
        `The HTTP door cannot listen on ${host}:${port} (${code}); ${advice}`,
        { host, port },
        { cause: error },
      );
    }
    return (this.#server.address() as AddressInfo).port;
  }

  /** Takes no new connection, lets running requests end, cuts what is left after 10 s. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const stopCut = this.#clock.after(DRAIN_MS, () => this.#server.closeAllConnections());
    let stopSweep = () => {};
    // Connections kept alive would hold the server open after their last answer.
    const sweep = () => {
      this.#server.closeIdleConnections();
      stopSweep = this.#clock.after(50, sweep);
    };
    sweep();
    await closed;
    stopCut();
    stopSweep();
  }
}

/** What the adaptor could not even read as a request. */
function malformed(thrown: unknown): Response {
  const error =
    thrown instanceof RequestError
      ? new AtmoError('VALIDATION_ERROR', 'The request line or the Host header is malformed')
      : toAtmoError(thrown);
  const answer = problem(error, { requestId: 'none' });
  return new Response(answer.body, { status: answer.status, headers: answer.headers });
}

/** Answers on the bare socket when the parser gave up: too slow (408), headers too large (431), not HTTP (400). */
function refuseRaw(error: Error & { code?: string }, socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const [line, refusal] = rawRefusal(error.code);
  const { headers, body } = problem(refusal, { requestId: 'none', status: Number(line.slice(0, 3)) });
  const text = String(body);
  const type = headers['content-type'] ?? '';
  socket.end(`HTTP/1.1 ${line}\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`);
}

function rawRefusal(code: string | undefined): [statusLine: string, error: AtmoError] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return ['408 Request Timeout', new AtmoError('TIMEOUT', 'The request did not arrive in time; send it at once')];
  if (code === 'HPE_HEADER_OVERFLOW') {
    return ['431 Request Header Fields Too Large', new AtmoError('PAYLOAD_TOO_LARGE', 'The headers are too large; at most 16 KiB')];
  }
  return ['400 Bad Request', new AtmoError('VALIDATION_ERROR', 'This is not an HTTP/1.1 request')];
}
