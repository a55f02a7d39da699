import { readFileSync } from 'node:fs';
import { connect, isIPv4, isIPv6, type Socket } from 'node:net';
import type { AbortOptions, ComponentLogger, Logger } from '@libp2p/interface';
import { AbstractMultiaddrConnection, type SendResult } from '@libp2p/utils';
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr';
import { orAborted } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { formatHostPort } from './host-port.ts';
import type { ArrivalCheck, PeerAddress } from './mesh-engine.ts';

type Bytes = Parameters<AbstractMultiaddrConnection['sendData']>[0];

/** Up to here it is cheaper to join the pieces of a message than to have the kernel do it. */
const MAX_JOINED_BYTES = 16_384;

/**
 * A TCP socket as libp2p's upgrader takes it. libp2p's own transport refuses connections from link-local IPv6 addresses,
 * ends quiet ones after two minutes and writes each message in pieces; this one does none of it.
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

/** Opens a TCP connection. NODE_UNAVAILABLE tells address and reason; otherwise the signal's reason. */
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

/** That a hub cannot be reached at an address, and why. */
export function unreachable(address: PeerAddress, cause: Error & { code?: string }): AtmoError {
  const reason = REASONS[cause.code ?? ''] ?? cause.message;
  return new AtmoError('NODE_UNAVAILABLE', `No hub answers at ${formatHostPort(address)}: ${reason}`, {}, { cause });
}

/** Both ends of a TCP connection, as the machine knows them. */
export interface SocketEnds {
  readonly localHost: string;
  readonly localPort: number;
  readonly remotePort: number;
}

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];

/** Undefined for a socket that is closed already. */
export function endsOf({ localAddress: localHost, localPort, remotePort }: Socket): SocketEnds | undefined {
  if (localHost === undefined || localPort === undefined || remotePort === undefined) return undefined;
  return { localHost, localPort, remotePort };
}

/**
 * Tells whether all that was written has come to the other machine, by its acknowledgements: a process that stands still has a
 * machine that answers for it, a cut cable has none. Undefined where the kernel does not say; Linux does (proc_pid_net(5)).
 */
export function arrivalCheck(ends: SocketEnds): ArrivalCheck | undefined {
  return process.platform === 'linux' ? () => hasArrived(ends) : undefined;
}

function hasArrived({ localPort, remotePort }: SocketEnds): boolean | undefined {
  // Own end, other end, state, `unacknowledged:unread`; where other hosts use the same pair of ports, all have to be well.
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

/** An address of TCP in libp2p's form; a link-local IPv6 address keeps its zone. */
export function toMultiaddr(host: string, port: number): Multiaddr {
  if (isIPv4(host)) return multiaddr(`/ip4/${host}/tcp/${port}`);
  if (!isIPv6(host)) return multiaddr(`/dns/${host}/tcp/${port}`);
  const [address, zone] = host.split('%');
  return multiaddr(zone === undefined ? `/ip6/${address}/tcp/${port}` : `/ip6zone/${zone}/ip6/${address}/tcp/${port}`);
}

const nothing = (): void => undefined;

/** libp2p's own log lines tell addresses and peers in prose, and each connection would add loggers that are never freed: none of it. */
const silent: Logger = Object.assign(nothing, { error: nothing, trace: nothing, enabled: false, newScope: () => silent });

/** A logger for libp2p that says nothing; what matters, the engine counts and throws. */
export const silentLogger: ComponentLogger = { forComponent: () => silent };
