import type { Socket } from 'node:net';
import type { AbortOptions } from '@libp2p/interface';
import { AbstractMultiaddrConnection, type SendResult } from '@libp2p/utils';
import type { Multiaddr } from '@multiformats/multiaddr';
import { silentLogger } from '../libp2p/silent-logger.ts';

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
