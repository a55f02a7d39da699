import { createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { formatHostPort } from './mesh-engine.ts';

/** The address on which a hub listens. */
export interface ListenAddress {
  /** Address of an interface; all addresses, IPv6 and IPv4, when empty. */
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
}

/** Listens for TCP connections. */
export class TcpListener implements AsyncDisposable {
  readonly #onSocket: (socket: Socket) => void;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(onSocket: (socket: Socket) => void) {
    this.#onSocket = onSocket;
  }

  /** Rejects with CONFLICT when the port is taken and with CONFIG_INVALID when this machine cannot bind the address or port. */
  async open({ host, port }: ListenAddress): Promise<void> {
    const server = createServer({ keepAlive: true, noDelay: true }, (socket) => this.#accept(socket));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', (error) => reject(listenError({ host, port }, error)));
    server.listen({ port, ...(host !== '' && { host }) }, resolve);
    await promise;
    // For example too many open files: the connection is lost, the listener stays open.
    server.on('error', () => undefined);
    this.#server = server;
  }

  /** Returns `host:port`; `[::]:port` stands for every address. */
  addresses(): readonly string[] {
    const address = this.#server?.address();
    return typeof address === 'object' && address ? [formatHostPort({ host: address.address, port: address.port })] : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    for (const socket of this.#sockets) socket.destroy();
    await promise;
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // A reset before the connection adds its own listener must not end the process.
    socket.on('error', () => undefined);
    this.#onSocket(socket);
  }
}

function listenError(address: ListenAddress, error: NodeJS.ErrnoException): AtmoError {
  const where = address.host === '' ? `port ${address.port}` : formatHostPort(address);
  if (error.code === 'EADDRINUSE') {
    const problem = `The mesh cannot listen on ${where}: another program has the port. Stop it, or set mesh.port to another one`;
    return new AtmoError('CONFLICT', problem, { port: address.port }, { cause: error });
  }
  const problem = `The mesh cannot listen on ${where} (${error.code ?? error.message}): set mesh.host to an address of this machine`;
  return new AtmoError('CONFIG_INVALID', `${problem} and mesh.port to a port above 1023`, { port: address.port }, { cause: error });
}

/** Limits of inbound connections. */
export interface InboundLimits {
  /** Connections a second from one address. */
  readonly perSourcePerSecond: number;
  /** Connections that have not passed the gate yet, from all addresses. */
  readonly pending: number;
}

/** Refused connections of one address within `FAILURES_MS` after which its rate is lowered. */
const FAILURES_ALLOWED = 5;
/** The lowered rate, so that a hub behind the same address as an attacker still gets through. */
const PER_SECOND_AFTER_FAILURES = 4;
const FAILURES_MS = 10_000;

/** Limits rate and number of inbound connections before any byte of them is read. */
export class InboundLimiter {
  readonly #limits: InboundLimits;
  readonly #connections: PeriodCounter;
  readonly #failures: PeriodCounter;
  #pending = 0;

  constructor(clock: Clock, limits: InboundLimits) {
    this.#limits = limits;
    this.#connections = new PeriodCounter(clock, 1_000);
    this.#failures = new PeriodCounter(clock, FAILURES_MS);
  }

  /** Admits a connection or returns the reason against it. Call `done` at the end of the attempt of an admitted one. */
  enter(host: string): 'entered' | 'inbound_rate' | 'too_many_pending' {
    if (this.#connections.count(host) > this.#allowed(host)) return 'inbound_rate';
    if (this.#pending >= this.#limits.pending) return 'too_many_pending';
    this.#pending += 1;
    return 'entered';
  }

  done(): void {
    this.#pending -= 1;
  }

  /** Records a failed connection of the address. */
  failed(host: string): void {
    this.#failures.count(host);
  }

  #allowed(host: string): number {
    const { perSourcePerSecond } = this.#limits;
    const hasFailed = this.#failures.of(host) >= FAILURES_ALLOWED;
    return hasFailed ? Math.min(PER_SECOND_AFTER_FAILURES, perSourcePerSecond) : perSourcePerSecond;
  }
}

/** Counts by name, from zero in each period. */
class PeriodCounter {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #counts = new Map<string, number>();
  #endsMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, periodMs: number) {
    this.#clock = clock;
    this.#periodMs = periodMs;
  }

  of(name: string): number {
    const nowMs = this.#clock.monotonic();
    if (nowMs >= this.#endsMs) {
      this.#counts.clear();
      this.#endsMs = nowMs + this.#periodMs;
    }
    return this.#counts.get(name) ?? 0;
  }

  count(name: string): number {
    const count = this.of(name) + 1;
    this.#counts.set(name, count);
    return count;
  }
}
