import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import { AtmoError } from '../../core/errors.ts';
import type { ServedCertificate } from '../tls/certificate-source.ts';
import { isLoopback } from './addresses.ts';
import { refuseSocket } from './answer.ts';

/** Where connections go on. */
interface ConnectionHandler {
  /** Serves HTTP on a socket; `raw` is the one that came in. */
  serve(socket: Socket, raw: Socket): void;
}

/** First byte of a TLS record with a handshake (RFC 8446 §5.1); no method of HTTP begins like that. */
const HANDSHAKE = 0x16;
const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * One port for TLS and, from this machine alone, for plain HTTP: who calls from elsewhere without TLS is told so. What
 * says nothing, or does not finish its handshake within 10 s, is cut.
 */
export class PortMultiplexer {
  readonly #doors: ConnectionHandler;
  readonly #waiting = new Set<Socket>();
  #context: SecureContext;

  constructor(doors: ConnectionHandler, certificate: ServedCertificate) {
    this.#doors = doors;
    this.#context = contextOf(certificate);
  }

  /** Connections from now on get this certificate; those that stand go on. */
  setCertificate(certificate: ServedCertificate): void {
    this.#context = contextOf(certificate);
  }

  accept(socket: Socket): void {
    this.#waiting.add(socket);
    socket.setTimeout(HANDSHAKE_TIMEOUT_MS, () => socket.destroy());
    socket.once('close', () => this.#waiting.delete(socket));
    socket.once('readable', () => this.#sort(socket));
  }

  /** Cuts those that have not said anything of use yet. */
  close(): void {
    for (const socket of this.#waiting) socket.destroy();
  }

  #sort(socket: Socket): void {
    const bytes: unknown = socket.read();
    if (!(bytes instanceof Uint8Array)) {
      socket.destroy();
      return;
    }
    socket.unshift(bytes);
    if (bytes[0] === HANDSHAKE) this.#shakeHands(socket);
    else if (isLoopback(unmappedAddress(socket.remoteAddress))) this.#pass(socket, socket);
    else refuseSocket(socket, 400, PLAIN_HTTP_REFUSED);
  }

  #shakeHands(raw: Socket): void {
    const socket = new TLSSocket(raw, { isServer: true, secureContext: this.#context });
    socket.on('error', () => raw.destroy());
    socket.once('secure', () => this.#pass(socket, raw));
  }

  #pass(socket: Socket, raw: Socket): void {
    this.#waiting.delete(raw);
    raw.setTimeout(0);
    raw.removeAllListeners('timeout');
    this.#doors.serve(socket, raw);
  }
}

const PLAIN_HTTP_REFUSED = new AtmoError(
  'VALIDATION_ERROR',
  'This port takes no plain HTTP from other machines; use https:// (see "atmo tls")',
);

function contextOf({ chain, key }: ServedCertificate): SecureContext {
  return createSecureContext({ cert: chain, key, minVersion: 'TLSv1.2' });
}

function unmappedAddress(address: string | undefined): string {
  return address?.replace(/^::ffff:(?=\d+\.)/i, '') ?? '';
}
