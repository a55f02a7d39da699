import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createListener, type Server as Listener, type Socket } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { systemCode } from '../../core/process/system-code.ts';
import type { Clock } from '../../core/time/clock.ts';
import { repeat } from '../../core/time/repeat.ts';
import type { ServedCertificate } from '../tls/served-certificate.ts';
import { isWildcard } from '../tls/tls-names.ts';
import { problem } from './answer.ts';
import { ConnectionBounds } from './connection-bounds.ts';
import type { DoorApp } from './door.ts';
import { EntranceHall } from './entrance-hall.ts';
import { isLoopback } from './loopback.ts';
import { refuseRaw, refuseUnparsed } from './raw-refusal.ts';

/** Where the door listens. */
export interface HttpAddress {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
}

/** Where certificates come from; absent for plain HTTP on a loopback address. */
interface Certificates {
  readonly served: ServedCertificate;
  onChange(listener: (served: ServedCertificate) => void): void;
}

interface ServerCollaborators {
  readonly clock: Clock;
  readonly certificates: Certificates | undefined;
}

/** Bounds against clients that are slow on purpose. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
const CHECK_INTERVAL_MS = 1_000;
/**
 * How much longer a connection lives than the 5 s that clients are told. A client on a busy machine sends late on one that it takes for
 * living; with the second that Node adds, its call was lost and it could not know whether it ran.
 */
const KEPT_LONGER_MS = 10_000;
/** How long a client may leave an answer unread; looked at so often, since a timer for each socket costs each request. */
const STALL_MS = 15_000;
const DRAIN_MS = 10_000;
const LOOPBACK_HOST = '127.0.0.1';

/** The listening sockets of the door: TLS, bounds and timeouts against slow clients, a drain at the end. */
export class HttpServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #certificates: Certificates | undefined;
  readonly #bounds = new ConnectionBounds();
  readonly #serveHttp: (socket: Socket) => void;
  #stopLooking = () => {};
  #hall: EntranceHall | undefined;
  /** For this machine, where the door listens on one address of the network. */
  #local: Listener | undefined;

  constructor(app: DoorApp, { clock, certificates }: ServerCollaborators) {
    this.#clock = clock;
    this.#certificates = certificates;
    const answer = getRequestListener(app.fetch, { hostname: 'host.missing', errorHandler: malformed });
    this.#server = createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: CHECK_INTERVAL_MS,
        keepAliveTimeoutBuffer: KEPT_LONGER_MS,
      },
      (request, response) => this.#answer(answer, request, response),
    );
    this.#server.on('clientError', refuseUnparsed);
    this.#server.on('connect', (_request, socket) => refuseRaw(socket, 405, NO_TUNNEL));
    this.#server.on('checkExpectation', (_request, response) => refuseExpectation(response));
    const [serve] = this.#server.listeners('connection');
    this.#serveHttp = (socket) => serve?.call(this.#server, socket);
    this.#server.removeAllListeners('connection');
    this.#server.on('connection', (socket: Socket) => this.#enter(socket));
  }

  /** Answers the port. CONFIG_INVALID when the address cannot be listened on. */
  async listen({ host, port }: HttpAddress): Promise<number> {
    if (this.#certificates) {
      const hall = new EntranceHall({ serve: (socket, raw) => this.#serve(socket, raw) }, this.#certificates.served);
      this.#certificates.onChange((served) => hall.renew(served));
      this.#hall = hall;
    }
    const taken = await listenOn(this.#server, { host, port });
    this.#stopLooking = repeat(this.#clock, STALL_MS, () => this.#bounds.cutStalled());
    if (isLoopback(host) || isWildcard(host)) return taken;
    this.#local = createListener({ noDelay: true }, (socket) => this.#enter(socket));
    await listenOn(this.#local, { host: LOOPBACK_HOST, port: taken });
    return taken;
  }

  /** Takes no new connection, lets running requests end, cuts what is left after 10 s. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = Promise.all([closeOf(this.#server), this.#local && closeOf(this.#local)]);
    this.#hall?.close();
    const stopCut = this.#clock.after(DRAIN_MS, () => this.#server.closeAllConnections());
    let stopSweep = () => {};
    // Connections kept alive would hold the server open after their last answer.
    const sweep = () => {
      this.#server.closeIdleConnections();
      stopSweep = this.#clock.after(50, sweep);
    };
    sweep();
    await closed;
    this.#stopLooking();
    stopCut();
    stopSweep();
  }

  #enter(socket: Socket): void {
    if (!this.#bounds.admit(socket)) {
      socket.destroy();
      return;
    }
    // Node takes its own listener away from a socket that it hands out; without one a reset would end the process.
    socket.on('error', ignored);
    if (this.#hall) this.#hall.enter(socket);
    else this.#serve(socket, socket);
    socket.once('close', () => this.#bounds.release(socket));
  }

  #serve(socket: Socket, raw: Socket): void {
    if (socket !== raw) {
      this.#bounds.replace(raw, socket);
      raw.once('close', () => this.#bounds.release(socket));
    }
    this.#serveHttp(socket);
  }

  #answer(answer: ReturnType<typeof getRequestListener>, request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (!this.#bounds.begin(socket)) {
      sendProblem(response, 503, TOO_MANY);
      return;
    }
    response.once('close', () => this.#bounds.end(socket));
    void answer(request, response);
  }
}

const NO_TUNNEL = new AtmoError('NOT_SUPPORTED', 'CONNECT is not possible: the hub is no proxy');
const TOO_MANY = new AtmoError(
  'RESOURCE_EXCEEDED',
  'Too many requests run on this connection; wait for their answers before you send more',
);
const EXPECTATION = new AtmoError('NOT_SUPPORTED', 'The only expectation that the hub meets is 100-continue');

async function listenOn(server: Listener, { host, port }: HttpAddress): Promise<number> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = systemCode(error);
    const advice = 'stop what listens there (another hub?), or set ATMO_HTTP_PORT or ATMO_HTTP_HOST';
    throw new AtmoError(
      'CONFIG_INVALID',
      `The HTTP interface cannot listen on ${host}:${port} (${code}); ${advice}`,
      { host, port },
      { cause: error },
    );
  }
  // A connection that cannot be taken, where files have run out for one, is the loss of its caller alone.
  server.on('error', ignored);
  return (server.address() as AddressInfo).port;
}

function closeOf(server: Listener): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function ignored(): void {
  // A connection that breaks concerns nobody but its requests, which are told by its end.
}

function refuseExpectation(response: ServerResponse): void {
  sendProblem(response, 417, EXPECTATION);
}

function sendProblem(response: ServerResponse, status: number, error: AtmoError): void {
  const { headers, body } = problem(error, { requestId: 'none', status });
  response.writeHead(status, { ...headers, connection: 'close' }).end(body);
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
