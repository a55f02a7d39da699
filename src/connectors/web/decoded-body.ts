import type { IncomingMessage } from 'node:http';
import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { AtmoError } from '../../core/errors.ts';
import { collectBounded } from '../http/bounded-body.ts';
import { connectionCode } from '../http/connection-code.ts';

interface BodyBounds {
  readonly method?: 'GET' | 'HEAD';
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * The body of an answer with its content coding (RFC 9110 §8.4) undone, measured behind that: what unpacks to more than
 * `maxBytes` is given up on the way (PAYLOAD_TOO_LARGE). SERVICE_REFUSED for a body that ends early or that cannot be unpacked.
 */
export async function readDecoded(response: IncomingMessage, { method, maxBytes, signal }: BodyBounds): Promise<Uint8Array<ArrayBuffer>> {
  if (method === 'HEAD') return new Uint8Array();
  try {
    return await collectBounded(decoded(response), maxBytes);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AtmoError) throw error;
    throw new AtmoError('SERVICE_REFUSED', `The answer broke off or cannot be unpacked (${connectionCode(error)})`, {
      status: response.statusCode ?? 0,
    });
  } finally {
    response.destroy();
  }
}

function decoded(response: IncomingMessage): AsyncIterable<Uint8Array> {
  const coding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (coding === 'identity' || coding === '') return response;
  const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (!decoder) throw new AtmoError('SERVICE_REFUSED', `The answer is packed in a way that was not asked for (${coding.slice(0, 40)})`);
  // What went wrong comes out of the iteration.
  return pipeline(response, decoder(), () => {});
}
