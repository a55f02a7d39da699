import type { IncomingMessage } from 'node:http';
import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { AtmoError } from '../../core/errors.ts';
import { collectBounded } from './bounded-body.ts';
import { connectionCode } from './connection-code.ts';

interface BodyBounds {
  readonly method: string;
  readonly maxBytes: number;
  /** Is called with each piece as it arrives, unpacked. */
  readonly onPart?: ((part: Uint8Array) => void) | undefined;
}

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * The body of an answer with its content coding (RFC 9110 §8.4) undone, measured behind that: what unpacks to more than
 * `maxBytes` is given up on the way (PAYLOAD_TOO_LARGE). Rejects with what `failure` makes of the code of a body that ends early, is
 * aborted, or cannot be unpacked.
 */
export async function readDecoded(
  response: IncomingMessage,
  { method, maxBytes, onPart }: BodyBounds,
  failure: (code: string) => unknown,
): Promise<Uint8Array<ArrayBuffer>> {
  if (method === 'HEAD') return new Uint8Array();
  const brokenOff = watchEnd(response);
  try {
    const body = await collectBounded(decoded(response), maxBytes, onPart);
    const error = brokenOff();
    if (error) throw error;
    return body;
  } catch (error) {
    if (error instanceof AtmoError) throw error;
    throw failure(connectionCode(error));
  } finally {
    response.destroy();
  }
}

/**
 * Answers what broke off a body that ends with its connection (RFC 9112 §6.3, case 8): Node takes every end for the one that was
 * meant, also a reset and the abort of the signal. Bodies with a length or chunks say themselves that something is missing.
 */
function watchEnd({ headers, socket }: IncomingMessage): () => Error | undefined {
  let brokenOff: Error | undefined;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) {
    socket.once('error', (error: Error) => {
      brokenOff = error;
    });
  }
  return () => brokenOff;
}

function decoded(response: IncomingMessage): AsyncIterable<Uint8Array> {
  const coding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (coding === 'identity' || coding === '') return response;
  const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (!decoder) throw new AtmoError('SERVICE_REFUSED', `The answer is packed in a way that was not asked for (${coding.slice(0, 40)})`);
  // What went wrong comes out of the iteration.
  return pipeline(response, decoder(), () => {});
}
