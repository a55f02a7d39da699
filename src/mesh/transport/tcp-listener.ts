import { createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { formatHostPort } from './host-port.ts';

/** Where a door listens. */
export interface ListenAddress {
  /** Address of an interface; all addresses, IPv6 and IPv4, when empty. */
  readonly host: string;
  /** 0 takes a free one. */
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

  /** CONFLICT when the port is taken, CONFIG_INVALID when the address is not this machine's or the port needs rights. */
  async open({ host, port }: ListenAddress): Promise<void> {
    const server = createServer({ keepAlive: true, noDelay: true }, (socket) => this.#accept(socket));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', (error) => reject(listenError({ host, port }, error)));
    server.listen({ port, ...(host !== '' && { host }) }, resolve);
    await promise;
    // Such as too many open files: the connection is lost, the door stays open.
    server.on('error', () => undefined);
    this.#server = server;
  }

  /** `host:port`; `[::]:port` stands for every address. */
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
    // Until somebody else listens: a reset before that must not end the process.
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

/** What may knock. */
export interface InboundLimits {
  /** Connections a second from one address. */
  readonly perSourcePerSecond: number;
  /** Connections that have not passed the gate yet, from all addresses. */
  readonly pending: number;
}

/** Connections of one address that were refused within the time of `FAILURES_MS` before it is let in less often. */
const FAILURES_ALLOWED = 5;
/** Then so many a second are let in: who shares the address with an attacker still gets through. */
const PER_SECOND_AFTER_FAILURES = 4;
const FAILURES_MS = 10_000;

/** Bounds how often and how many strangers may knock, before a byte of theirs is read. */
export class InboundLimiter {
  readonly #limits: InboundLimits;
  readonly #knocks: PeriodCounter;
  readonly #failures: PeriodCounter;
  #pending = 0;

  constructor(clock: Clock, limits: InboundLimits) {
    this.#limits = limits;
    this.#knocks = new PeriodCounter(clock, 1_000);
    this.#failures = new PeriodCounter(clock, FAILURES_MS);
  }

  /** Lets a connection in, or says why not. What was let in is told to `done` later. */
  enter(host: string): 'entered' | 'inbound_rate' | 'too_many_pending' {
    if (this.#knocks.count(host) > this.#allowed(host)) return 'inbound_rate';
    if (this.#pending >= this.#limits.pending) return 'too_many_pending';
    this.#pending += 1;
    return 'entered';
  }

  done(): void {
    this.#pending -= 1;
  }

  /** A connection of the address did not become one. */
  failed(host: string): void {
    this.#failures.count(host);
  }

  #allowed(host: string): number {
    const { perSourcePerSecond } = this.#limits;
    const hasFailed = this.#failures.of(host) >= FAILURES_ALLOWED;
    return hasFailed ? Math.min(PER_SECOND_AFTER_FAILURES, perSourcePerSecond) : perSourcePerSecond;
  }
}

/** Counts by name, anew in each period. */
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
