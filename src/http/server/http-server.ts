import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createListener, isIP, type Server as Listener, type Socket } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { type Clock, repeat } from '../../core/clock.ts';
import { AtmoError, systemCode, toAtmoError } from '../../core/errors.ts';
import type { ServedCertificate } from '../tls/certificate-manager.ts';
import { isWildcard } from '../tls/x509.ts';
import { isLoopback, sourceOf } from './addresses.ts';
import { drainAndCut, problem, refuseSocket, refuseUnparsed } from './answer.ts';
import type { HttpApp } from './http-app.ts';
import { PortMultiplexer } from './port-multiplexer.ts';

/** The address at which the server listens. */
export interface HttpAddress {
  readonly host: string;
  /** TCP port; 0 means any free port. */
  readonly port: number;
}

/** The server's certificates. A server that offers only plain HTTP on a loopback address has none. */
interface Certificates {
  readonly served: ServedCertificate;
  onChange(listener: (served: ServedCertificate) => void): void;
}

/** Port: receives requests and passes them to the application. */
export interface HttpListener extends AsyncDisposable {
  /** Starts to listen and resolves with the port. Rejects with CONFIG_INVALID if the address cannot be used. */
  listen(address: HttpAddress): Promise<number>;
}

/** Function that returns a listener for an application. The listener is not listening yet. */
export type OpenListener = (app: HttpApp, collaborators: ServerCollaborators) => HttpListener;

interface ServerCollaborators {
  readonly clock: Clock;
  readonly certificates: Certificates | undefined;
}

/** Timeouts in milliseconds for the headers and for the whole request, against clients that send slowly on purpose. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** Interval in milliseconds at which Node.js checks these timeouts, also while nobody is connected. */
const CHECK_INTERVAL_MS = 2_500;
/**
 * Milliseconds that a connection stays open beyond the 5 s that the keep-alive header promises. Node.js adds only one second by default. A
 * busy client may send later than that, and its call would get no response.
 */
const KEEP_ALIVE_BUFFER_MS = 10_000;
/** Interval in milliseconds of the check that disconnects clients which have read nothing of their responses since the last check. */
const STALL_MS = 15_000;
/** Milliseconds that responses have when the server stops. The hub has ended all calls before. */
const DRAIN_MS = 250;
const LOOPBACK_HOST = '127.0.0.1';

/** Listens for connections and serves requests with TLS, limits and timeouts. Its disposal waits at most 250 ms for running requests. */
export class HttpServer implements HttpListener {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #certificates: Certificates | undefined;
  readonly #bounds = new ConnectionLimiter();
  readonly #serveHttp: (socket: Socket) => void;
  #stopLooking = () => {};
  #hall: PortMultiplexer | undefined;
  /** Second listener, on loopback. It exists only if the main listener does not accept loopback connections. */
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

  /** Listens and resolves with the port. Rejects with CONFIG_INVALID if the address cannot be used. */
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

  /** Stops accepting connections and waits for running requests. After DRAIN_MS, it closes all remaining connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = Promise.all([closeOf(this.#server), this.#local && closeOf(this.#local)]);
    this.#hall?.close();
    const stopCut = this.#clock.after(DRAIN_MS, () => this.#server.closeAllConnections());
    let stopSweep = () => {};
    // Closes idle keep-alive connections every 50 ms, since they would keep the server open.
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
    // Node.js removes its own error listener when it hands over a socket. Without this listener, a connection reset would end the process.
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
    // A request behind one after whose response the connection ends would get no response.
    if (socket.writableEnded) return;
    lingerAfter(request, response);
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
  // An error while accepting a connection, such as a lack of file descriptors, affects only the connecting client.
  server.on('error', ignored);
  return (server.address() as AddressInfo).port;
}

function closeOf(server: Listener): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function ignored(): void {
  // A broken connection affects only its own requests, which end with it. So the error can be ignored.
}

/**
 * Lets a client that still sends its body read the response that refused it. Node.js would close the connection at once, and the kernel
 * resets one whose input was not read, with which the response may be lost (RFC 9112 §9.6).
 */
function lingerAfter(request: IncomingMessage, response: ServerResponse): void {
  response.prependOnceListener('finish', () => {
    if (request.complete) return;
    const { socket } = request;
    socket.destroySoon = () => {
      socket.end();
      request.once('end', () => socket.destroy()).resume();
      drainAndCut(socket);
    };
  });
}

function refuseExpectation(response: ServerResponse): void {
  sendProblem(response, 417, EXPECTATION);
}

function sendProblem(response: ServerResponse, status: number, error: AtmoError): void {
  const { headers, body } = problem(error, { requestId: 'none', status });
  response.writeHead(status, { ...headers, connection: 'close' }).end(body);
}

/** Returns the response to a request that the adaptor could not parse. */
function malformedRequest(thrown: unknown): Response {
  const error =
    thrown instanceof RequestError
      ? new AtmoError('VALIDATION_ERROR', 'The request line or the Host header is malformed')
      : toAtmoError(thrown);
  const answer = problem(error, { requestId: 'none' });
  return new Response(answer.body, { status: answer.status, headers: answer.headers });
}

interface Connection {
  readonly socket: Pick<Socket, 'destroy'>;
  readonly source: string;
  running: number;
  /** Number of bytes that the client had not read at the last check. */
  unread: number;
}

interface ConnectionLimits {
  readonly connections: number;
  /** Maximum number of connections from one other machine. */
  readonly perSource: number;
  /** Maximum number of concurrent requests on one connection. A client can send requests without waiting for responses. */
  readonly running: number;
}

const CONNECTION_LIMITS: ConnectionLimits = { connections: 1_024, perSource: 128, running: 16 };

/**
 * Limits the number of connections, in total and for each source. At the limit, it closes the connection that has been idle for longest. At
 * a source's own limit, this is a connection of that source. So a client that opens many idle sockets loses its own sockets.
 */
export class ConnectionLimiter {
  readonly #limits: ConnectionLimits;
  /** The connections in the order of their last use. The first one has been idle for longest. */
  readonly #connections = new Map<object, Connection>();

  constructor(limits: ConnectionLimits = CONNECTION_LIMITS) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Registers a connection. At a limit, it first closes an idle connection. If none is idle, it registers nothing and returns false. */
  admit(socket: Pick<Socket, 'destroy' | 'remoteAddress'>): boolean {
    const source = sourceOf(socket.remoteAddress);
    if (!this.#makeRoom(source)) return false;
    this.#connections.set(socket, { socket, source, running: 0, unread: 0 });
    return true;
  }

  /** Replaces a connection's socket by another one, for example by the TLS socket after the handshake. */
  replace(socket: object, by: object): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    this.#connections.delete(socket);
    this.#connections.set(by, connection);
  }

  release(socket: object): void {
    this.#connections.delete(socket);
  }

  /** Registers a running request. Returns false if too many requests run on the connection. */
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

  /** Closes each connection whose client has pending bytes and has read none of them since the last check. */
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

/**
 * Returns the hub's URL for clients. It contains the name for which an ACME authority has signed a certificate. Without one, it contains the
 * address at which the server listens or, if it listens on all interfaces, the best name in the certificate.
 */
export function serverUrl({ host, port }: HttpAddress, certified: Pick<ServedCertificate, 'names' | 'named'> | undefined): string {
  const name = certified?.named?.names[0] ?? (certified !== undefined && isWildcard(host) ? bestName(certified.names) : host);
  return `${certified === undefined ? 'http' : 'https'}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** Returns the first IP address other than loopback, else the first of `names`. A host name works only on machines that can resolve it. */
function bestName(names: readonly string[]): string {
  return names.find((name) => isIP(name) !== 0 && !isLoopback(name)) ?? names[0] ?? 'localhost';
}

/** Throws CONFIG_INVALID unless the address is loopback. Other machines may not call the hub without TLS. */
export function requireTls(host: string): void {
  if (isLoopback(host)) return;
  throw new AtmoError(
    'CONFIG_INVALID',
    `The HTTP interface may not listen on ${JSON.stringify(host)} without TLS: a token would cross the network in clear. ` +
      'Take http.tls.enabled: false out of the configuration, or set ATMO_HTTP_HOST to 127.0.0.1',
    { host },
  );
}
