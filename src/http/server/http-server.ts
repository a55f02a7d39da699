import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createListener, isIP, type Server as Listener, type Socket } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { type Clock, repeat } from '../../core/clock.ts';
import { AtmoError, systemCode, toAtmoError } from '../../core/errors.ts';
import type { ServedCertificate } from '../tls/certificate-manager.ts';
import { isWildcard } from '../tls/x509.ts';
import { isLoopback, sourceOf } from './addresses.ts';
import { problem, refuseSocket, refuseUnparsed } from './answer.ts';
import type { HttpApp } from './http-app.ts';
import { PortMultiplexer } from './port-multiplexer.ts';

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

/** What brings requests to the application. */
export interface HttpListener extends AsyncDisposable {
  /** Answers the port. CONFIG_INVALID when the address cannot be listened on. */
  listen(address: HttpAddress): Promise<number>;
}

/** Makes a listener for an application; it does not listen yet. */
export type OpenListener = (app: HttpApp, collaborators: ServerCollaborators) => HttpListener;

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
const KEEP_ALIVE_BUFFER_MS = 10_000;
/** How long a client may leave an answer unread; looked at so often, since a timer for each socket costs each request. */
const STALL_MS = 15_000;
const DRAIN_MS = 10_000;
const LOOPBACK_HOST = '127.0.0.1';

/** The listening sockets of the door: TLS, bounds and timeouts against slow clients, a drain at the end. */
export class HttpServer implements HttpListener {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #certificates: Certificates | undefined;
  readonly #bounds = new ConnectionLimiter();
  readonly #serveHttp: (socket: Socket) => void;
  #stopLooking = () => {};
  #hall: PortMultiplexer | undefined;
  /** For this machine, where the door listens on one address of the network. */
  #local: Listener | undefined;

  constructor(app: HttpApp, { clock, certificates }: ServerCollaborators) {
    this.#clock = clock;
    this.#certificates = certificates;
    const answer = getRequestListener(app.fetch, { hostname: 'host.missing', errorHandler: malformedRequest });
    this.#server = createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: CHECK_INTERVAL_MS,
        keepAliveTimeoutBuffer: KEEP_ALIVE_BUFFER_MS,
      },
      (request, response) => this.#answer(answer, request, response),
    );
    this.#server.on('clientError', refuseUnparsed);
    this.#server.on('connect', (_request, socket) => refuseSocket(socket, 405, NO_TUNNEL));
    this.#server.on('checkExpectation', (_request, response) => refuseExpectation(response));
    const [serve] = this.#server.listeners('connection');
    this.#serveHttp = (socket) => serve?.call(this.#server, socket);
    this.#server.removeAllListeners('connection');
    this.#server.on('connection', (socket: Socket) => this.#enter(socket));
  }

  /** Answers the port. CONFIG_INVALID when the address cannot be listened on. */
  async listen({ host, port }: HttpAddress): Promise<number> {
    if (this.#certificates) {
      const hall = new PortMultiplexer({ serve: (socket, raw) => this.#serve(socket, raw) }, this.#certificates.served);
      this.#certificates.onChange((served) => hall.setCertificate(served));
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
    if (this.#hall) this.#hall.accept(socket);
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
function malformedRequest(thrown: unknown): Response {
  const error =
    thrown instanceof RequestError
      ? new AtmoError('VALIDATION_ERROR', 'The request line or the Host header is malformed')
      : toAtmoError(thrown);
  const answer = problem(error, { requestId: 'none' });
  return new Response(answer.body, { status: answer.status, headers: answer.headers });
}

/** One connection and what runs on it. */
interface Connection {
  readonly socket: Pick<Socket, 'destroy'>;
  readonly source: string;
  running: number;
  /** Bytes that waited for the reader at the last look. */
  unread: number;
}

interface ConnectionLimits {
  readonly connections: number;
  /** Of one other machine. */
  readonly perSource: number;
  /** Requests that run at once on one connection: one, unless a client sends the next before the answer. */
  readonly running: number;
}

const CONNECTION_LIMITS: ConnectionLimits = { connections: 1_024, perSource: 128, running: 16 };

/**
 * Bounds how many connections there are in all and from one source. When all places are taken, the one on which nothing
 * has run for longest has to go: who opens sockets and says nothing pushes out his own, not an honest client.
 */
export class ConnectionLimiter {
  readonly #limits: ConnectionLimits;
  /** The one that was silent for longest is first. */
  readonly #connections = new Map<object, Connection>();

  constructor(limits: ConnectionLimits = CONNECTION_LIMITS) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#connections.size;
  }

  /** False when there is no place for it. */
  admit(socket: Pick<Socket, 'destroy' | 'remoteAddress'>): boolean {
    const source = sourceOf(socket.remoteAddress);
    if (!this.#makeRoom(source)) return false;
    this.#connections.set(socket, { socket, source, running: 0, unread: 0 });
    return true;
  }

  /** The same connection goes on under another socket, such as after the handshake of TLS. */
  replace(socket: object, by: object): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    this.#connections.delete(socket);
    this.#connections.set(by, connection);
  }

  release(socket: object): void {
    this.#connections.delete(socket);
  }

  /** False when too much runs on this connection already. */
  begin(socket: object): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return true;
    if (connection.running >= this.#limits.running) return false;
    connection.running++;
    return true;
  }

  end(socket: object): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    connection.running--;
    this.#connections.delete(socket);
    this.#connections.set(socket, connection);
  }

  /** Cuts those whose reader has taken nothing since the last look, although something waited. */
  cutStalled(): void {
    for (const [key, connection] of this.#connections) {
      const unread = 'writableLength' in key && typeof key.writableLength === 'number' ? key.writableLength : 0;
      if (unread > 0 && unread === connection.unread) connection.socket.destroy();
      connection.unread = unread;
    }
  }

  #makeRoom(source: string): boolean {
    if (source !== 'local') {
      const own = this.#connections.values().filter((connection) => connection.source === source);
      if (own.reduce((count) => count + 1, 0) >= this.#limits.perSource && !this.#cut((one) => one.source === source)) return false;
    }
    return this.#connections.size < this.#limits.connections || this.#cut(() => true);
  }

  #cut(isMeant: (connection: Connection) => boolean): boolean {
    for (const [key, connection] of this.#connections) {
      if (connection.running > 0 || !isMeant(connection)) continue;
      this.#connections.delete(key);
      connection.socket.destroy();
      return true;
    }
    return false;
  }
}

/** Where clients reach a door that listens on all interfaces: by the best of the names that its certificate is about. */
export function serverUrl({ host, port }: HttpAddress, certified: readonly string[] | undefined): string {
  const name = certified !== undefined && isWildcard(host) ? bestName(certified) : host;
  return `${certified === undefined ? 'http' : 'https'}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** An address is reached by everybody in the network; whether a name is depends on who answers for it there. */
function bestName(names: readonly string[]): string {
  return names.find((name) => isIP(name) !== 0 && !isLoopback(name)) ?? names[0] ?? 'localhost';
}

/** Refuses (CONFIG_INVALID) to listen where others on the network could call without TLS. */
export function requireTls(host: string): void {
  if (isLoopback(host)) return;
  throw new AtmoError(
    'CONFIG_INVALID',
    `The HTTP interface may not listen on ${JSON.stringify(host)} without TLS: a token would cross the network in clear. ` +
      'Take http.tls.enabled: false out of the configuration, or set ATMO_HTTP_HOST to 127.0.0.1',
    { host },
  );
}
