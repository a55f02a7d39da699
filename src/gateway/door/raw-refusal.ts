import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AtmoError } from '../../core/errors.ts';
import { problem } from './answer.ts';

/** Longest request target, in characters. */
export const MAX_TARGET_CHARS = 8_192;

/** How long a refused connection may take to end. */
const LEFT_MS = 2_000;

/** What the parser of HTTP tells when it gives up. */
interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Uint8Array;
}

/** Answers on the bare socket when the parser gave up: too slow (408), too long (414, 431), not HTTP (400). */
export function refuseUnparsed(error: ParserError, socket: Duplex): void {
  const [status, refusal] = refusalOf(error);
  refuseRaw(socket, status, refusal);
}

/** Writes a whole answer to a socket and ends it; one whose reader has not taken what came before is cut. */
export function refuseRaw(socket: Duplex, status: number, error: AtmoError): void {
  if (!socket.writable || socket.writableLength > 0) {
    socket.destroy();
    return;
  }
  const { headers, body } = problem(error, { requestId: 'none', status });
  const text = String(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${headers['content-type']}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
  leave(socket);
}

/**
 * Reads and drops what still comes, so that the other side gets the answer and its end is seen, and cuts it after a while: nobody
 * else looks after a socket that the parser has given up.
 */
function leave(socket: Duplex): void {
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LEFT_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** The error for a request target that is too long (RFC 9110 §15.5.15). */
export function targetTooLong(): AtmoError {
  return new AtmoError('PAYLOAD_TOO_LARGE', `Path and query may have at most ${MAX_TARGET_CHARS} characters; send the rest in a body`, {
    max_characters: MAX_TARGET_CHARS,
  });
}

function refusalOf({ code, rawPacket }: ParserError): [status: number, error: AtmoError] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, new AtmoError('TIMEOUT', 'The request did not arrive in time; send it at once')];
  if (code === 'HPE_HEADER_OVERFLOW' && isFirstLine(rawPacket)) return [414, targetTooLong()];
  if (code === 'HPE_HEADER_OVERFLOW') return [431, new AtmoError('PAYLOAD_TOO_LARGE', 'The headers are too large; at most 16 KiB')];
  return [400, new AtmoError('VALIDATION_ERROR', 'This is not an HTTP/1.1 request')];
}

/** True when what came last has no end of a line within the longest target: it is the target that is too long. */
function isFirstLine(packet: Uint8Array | undefined): boolean {
  if (packet === undefined) return false;
  const end = packet.indexOf(0x0a);
  return end === -1 ? /^[A-Z]+ \//.test(Buffer.from(packet.subarray(0, 16)).toString('latin1')) : end > MAX_TARGET_CHARS;
}
