import { readFileSync } from 'node:fs';
import { connect, createServer, isIPv4, isIPv6, type Server, type Socket } from 'node:net';
import type { AbortOptions, ComponentLogger, Logger } from '@libp2p/interface';
import { AbstractMultiaddrConnection, type SendResult } from '@libp2p/utils';
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr';
import { type Clock, orAborted } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { type ArrivalCheck, formatHostPort, type PeerAddress } from './mesh-engine.ts';

type Bytes = Parameters<AbstractMultiaddrConnection['sendData']>[0];

/** Longest message that is joined into one piece before it is written. Up to this length, joining is cheaper than several writes. */
const MAX_JOINED_BYTES = 16_384;

/**
 * A TCP socket in the form that libp2p's upgrader needs. libp2p's own TCP transport is not used: it refuses connections from link-local
 * IPv6 addresses, closes quiet connections after two minutes and writes each message in pieces.
 */
export class TcpConnection extends AbstractMultiaddrConnection {
  readonly #socket: Socket;

  constructor(socket: Socket, direction: 'inbound' | 'outbound', remoteAddr: Multiaddr) {
    super({ remoteAddr, direction, log: silentLogger.forComponent('tcp') });
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (bytes) => this.onData(bytes));
    socket.on('drain', () => this.safeDispatchEvent('drain'));
    socket.on('error', (error) => this.abort(error));
    socket.once('end', () => this.onTransportClosed());
    socket.once('close', () => this.onTransportClosed());
  }

  override sendData(data: Bytes): SendResult {
    const sentBytes = data.byteLength;
    return { sentBytes, canSendMore: sentBytes <= MAX_JOINED_BYTES ? this.#socket.write(data.subarray()) : this.#sendInPieces(data) };
  }

  override async sendClose(options?: AbortOptions): Promise<void> {
    if (this.#socket.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.once('close', () => resolve());
    options?.signal?.addEventListener('abort', () => this.#socket.destroy(), { once: true });
    this.#socket.destroySoon();
    await promise;
  }

  override sendReset(): void {
    if (this.#socket.writableEnded) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  override sendPause(): void {
    this.#socket.pause();
  }

  override sendResume(): void {
    this.#socket.resume();
  }

  #sendInPieces(data: Bytes): boolean {
    this.#socket.cork();
    let canSendMore = true;
    for (const piece of data) canSendMore = this.#socket.write(piece);
    this.#socket.uncork();
    return canSendMore;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'no answer',
  ENOTFOUND: 'the name is unknown',
  EAI_AGAIN: 'the name cannot be looked up now',
  ECONNRESET: 'connection reset',
};

/** Opens a TCP connection. Rejects with NODE_UNAVAILABLE if this fails (the message tells the cause), or with the signal's reason. */
export async function dialTcp({ host, port }: PeerAddress, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host, port, keepAlive: true, noDelay: true });
  const fail = (error: Error) => reject(unreachable({ host, port }, error));
  socket.once('error', fail);
  socket.once('connect', () => resolve(socket));
  try {
    return await orAborted(promise, signal);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    socket.off('error', fail);
    socket.on('error', () => undefined);
  }
}

/** Returns the error for an address at which no hub can be reached. */
export function unreachable(address: PeerAddress, cause: Error & { code?: string }): AtmoError {
  const reason = REASONS[cause.code ?? ''] ?? cause.message;
  return new AtmoError('NODE_UNAVAILABLE', `No hub answers at ${formatHostPort(address)}: ${reason}`, {}, { cause });
}

/** Both ends of a TCP connection. */
export interface SocketEnds {
  readonly localHost: string;
  readonly localPort: number;
  readonly remotePort: number;
}

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];

/** Returns both ends of a socket; undefined if the socket is closed. */
export function endsOf({ localAddress: localHost, localPort, remotePort }: Socket): SocketEnds | undefined {
  if (localHost === undefined || localPort === undefined || remotePort === undefined) return undefined;
  return { localHost, localPort, remotePort };
}

/**
 * Returns a function that checks by TCP acknowledgements whether the other machine has received everything. A machine acknowledges even if
 * its program is paused, but not if its cable is cut. On systems other than Linux, returns undefined (proc_pid_net(5)).
 */
export function arrivalCheck(ends: SocketEnds): ArrivalCheck | undefined {
  return process.platform === 'linux' ? () => hasArrived(ends) : undefined;
}

function hasArrived({ localPort, remotePort }: SocketEnds): boolean | undefined {
  // A line has the local address, the remote address, the state and `unacknowledged:unread` bytes. Connections to other hosts may have the
  // same ports, so every matching line must have 0 unacknowledged bytes.
  const line = new RegExp(`:${hex(localPort)} [0-9A-F]+:${hex(remotePort)} 01 ([0-9A-F]+):`, 'g');
  try {
    const waiting = TABLES.flatMap((table) => [...readFileSync(table, 'latin1').matchAll(line)].map(([, bytes]) => Number(`0x${bytes}`)));
    return waiting.length === 0 ? undefined : waiting.every((bytes) => bytes === 0);
  } catch {
    return undefined;
  }
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}

/** Returns a TCP address as a multiaddr. A link-local IPv6 address keeps its zone. */
export function toMultiaddr(host: string, port: number): Multiaddr {
  if (isIPv4(host)) return multiaddr(`/ip4/${host}/tcp/${port}`);
  if (!isIPv6(host)) return multiaddr(`/dns/${host}/tcp/${port}`);
  const [address, zone] = host.split('%');
  return multiaddr(zone === undefined ? `/ip6/${address}/tcp/${port}` : `/ip6zone/${zone}/ip6/${address}/tcp/${port}`);
}

const nothing = (): void => undefined;

/** A logger without output. libp2p would log addresses as prose, and would never free the loggers that it makes for connections. */
const silent: Logger = Object.assign(nothing, { error: nothing, trace: nothing, enabled: false, newScope: () => silent });

/** Logger for libp2p without output. No output is needed, because the engine counts and throws all errors that matter. */
export const silentLogger: ComponentLogger = { forComponent: () => silent };

/** The address on which a hub listens. */
export interface ListenAddress {
  /** Address of an interface. If it is empty, the hub listens on all IPv6 and IPv4 addresses. */
  readonly host: string;
  /** Port. If it is 0, the operating system selects a free port. */
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

  /** Starts to listen. Rejects with CONFLICT if the port is taken, and CONFIG_INVALID if the address or port cannot be bound. */
  async open({ host, port }: ListenAddress): Promise<void> {
    const server = createServer({ keepAlive: true, noDelay: true }, (socket) => this.#accept(socket));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', (error) => reject(listenError({ host, port }, error)));
    server.listen({ port, ...(host !== '' && { host }) }, resolve);
    await promise;
    // Ignores errors such as too many open files. The new connection is lost, but the listener stays open.
    server.on('error', () => undefined);
    this.#server = server;
  }

  /** Returns the address as `host:port`; `[::]:port` means every address. Returns nothing if the listener is closed. */
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
    // A connection may be reset before it has its own error listener. This must not end the process.
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
  readonly perSourcePerSecond: number;
  /** Maximum number of connections from all addresses together that have not passed the gate yet. */
  readonly pending: number;
}

/** If an address has this many failed connections within `FAILURES_MS`, its rate is lowered. */
const FAILURES_ALLOWED = 5;
/** The lowered rate. It is not zero, because a hub may share its address with an attacker. */
const PER_SECOND_AFTER_FAILURES = 4;
const FAILURES_MS = 10_000;

/** Limits the rate and the number of inbound connections. Runs before any byte of a connection is read. */
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

  /** Admits a connection, or returns the reason against it. If it is admitted, the caller must call `done` when the attempt ends. */
  enter(host: string): 'entered' | 'inbound_rate' | 'too_many_pending' {
    if (this.#connections.count(host) > this.#allowed(host)) return 'inbound_rate';
    if (this.#pending >= this.#limits.pending) return 'too_many_pending';
    this.#pending += 1;
    return 'entered';
  }

  done(): void {
    this.#pending -= 1;
  }

  failed(host: string): void {
    this.#failures.count(host);
  }

  #allowed(host: string): number {
    const { perSourcePerSecond } = this.#limits;
    const hasFailed = this.#failures.of(host) >= FAILURES_ALLOWED;
    return hasFailed ? Math.min(PER_SECOND_AFTER_FAILURES, perSourcePerSecond) : perSourcePerSecond;
  }
}

/** Counts events by name. At the end of each period, all counts return to zero. */
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
