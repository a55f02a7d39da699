import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import { AtmoError } from '../../core/errors.ts';
import type { NamedCertificate, ServedCertificate } from '../tls/certificate-manager.ts';
import { isLoopback } from './addresses.ts';
import { refuseSocket } from './answer.ts';

interface ConnectionHandler {
  /** Serves HTTP on a socket. `raw` is the TCP socket under a TLS socket. For plain HTTP, both are the same socket. */
  serve(socket: Socket, raw: Socket): void;
}

/** First byte of a TLS handshake record (RFC 8446 §5.1). No HTTP request begins with it. */
const HANDSHAKE = 0x16;
const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * Serves TLS and plain HTTP on one port. Plain HTTP is only for this machine: other machines get a 400 response. Closes a connection that
 * does not send anything, or does not finish its TLS handshake, within 10 s.
 */
export class PortMultiplexer {
  readonly #handler: ConnectionHandler;
  readonly #waiting = new Set<Socket>();
  #contextFor: (name: string) => SecureContext;

  constructor(handler: ConnectionHandler, certificate: ServedCertificate) {
    this.#handler = handler;
    this.#contextFor = contextsOf(certificate);
  }

  /** Sets the certificate for new connections. Existing connections keep theirs. */
  setCertificate(certificate: ServedCertificate): void {
    this.#contextFor = contextsOf(certificate);
  }

  accept(socket: Socket): void {
    this.#waiting.add(socket);
    socket.setTimeout(HANDSHAKE_TIMEOUT_MS, () => socket.destroy());
    socket.once('close', () => this.#waiting.delete(socket));
    socket.once('readable', () => this.#detectProtocol(socket));
  }

  close(): void {
    for (const socket of this.#waiting) socket.destroy();
  }

  #detectProtocol(socket: Socket): void {
    const bytes: unknown = socket.read();
    if (!(bytes instanceof Uint8Array)) {
      socket.destroy();
      return;
    }
    socket.unshift(bytes);
    if (bytes[0] === HANDSHAKE) this.#startTls(socket);
    else if (isLoopback(unmappedAddress(socket.remoteAddress))) this.#serve(socket, socket);
    else refuseSocket(socket, 400, PLAIN_HTTP_REFUSED);
  }

  #startTls(raw: Socket): void {
    const contextFor = this.#contextFor;
    const SNICallback = (name: string, done: (error: null, context: SecureContext) => void) => done(null, contextFor(name));
    const socket = new TLSSocket(raw, { isServer: true, secureContext: contextFor(''), SNICallback });
    socket.on('error', () => raw.destroy());
    socket.once('secure', () => this.#serve(socket, raw));
  }

  #serve(socket: Socket, raw: Socket): void {
    this.#waiting.delete(raw);
    raw.setTimeout(0);
    raw.removeAllListeners('timeout');
    this.#handler.serve(socket, raw);
  }
}

const PLAIN_HTTP_REFUSED = new AtmoError(
  'VALIDATION_ERROR',
  'This port takes no plain HTTP from other machines; use https:// (see "atmo tls")',
);

/** Returns a function that chooses the certificate for the name for which a client asks (Server Name Indication, RFC 6066 §3). */
function contextsOf({ named, ...usual }: ServedCertificate): (name: string) => SecureContext {
  const context = contextOf(usual);
  if (!named) return () => context;
  const special = contextOf(named);
  return (name) => (named.names.includes(name.toLowerCase()) ? special : context);
}

function contextOf({ chain, key }: NamedCertificate): SecureContext {
  return createSecureContext({ cert: chain, key, minVersion: 'TLSv1.2' });
}

function unmappedAddress(address: string | undefined): string {
  return address?.replace(/^::ffff:(?=\d+\.)/i, '') ?? '';
}
