import { type Frame, frameCodec } from '../../codec/messages/connection.ts';
import { AtmoError } from '../../core/errors.ts';
import type { MeshStream } from '../transport/mesh-engine.ts';

/** Maximum number of unread bytes in each direction: of a request's body, and of the answer with all its parts. */
export const CREDIT_WINDOW_BYTES = 262_144;

interface PendingSend {
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: AtmoError) => void;
}

/** Tracks how many more bytes the sender may send, in one direction of one request. */
export class CreditWindow {
  readonly #waiting: PendingSend[] = [];
  #credit = CREDIT_WINDOW_BYTES;
  /** Set at the end of the request. Makes the error for senders that still wait. It is a function, because usually no sender waits. */
  #end: (() => AtmoError) | undefined;

  /** Takes credit. Returns undefined if there is enough now. Otherwise returns a promise, which rejects if the request ends first. */
  take(bytes: number): Promise<void> | undefined {
    if (this.#end) return Promise.reject(this.#end());
    if (this.#waiting.length === 0 && this.#credit >= bytes) {
      this.#credit -= bytes;
      return undefined;
    }
    return new Promise((resolve, reject) => this.#waiting.push({ bytes, resolve, reject }));
  }

  /** Adds credit, up to the whole window. */
  grant(bytes: number): void {
    this.#credit = Math.min(CREDIT_WINDOW_BYTES, this.#credit + bytes);
    for (let next = this.#waiting[0]; next && next.bytes <= this.#credit; next = this.#waiting[0]) {
      this.#credit -= next.bytes;
      this.#waiting.shift();
      next.resolve();
    }
  }

  /** Throws if the request has ended. */
  check(): void {
    if (this.#end) throw this.#end();
  }

  /** Ends the request. Pending sends reject with the error that `reason` returns. */
  end(reason: () => AtmoError): void {
    this.#end ??= reason;
    for (const { reject } of this.#waiting.splice(0)) reject(reason());
  }
}

/** Minimum number of bytes that a credit frame grants. Small answers thus need no credit frame. */
const GRANT_BYTES = CREDIT_WINDOW_BYTES / 4;

/** Tracks received and read bytes in one direction of one request, to grant new credit to the sender. */
export class CreditLedger {
  /** Number of received bytes for which no new credit has been granted. */
  #owed = 0;
  #read = 0;

  /** Records received bytes. Returns false if the sender has exceeded its credit. */
  add(bytes: number): boolean {
    this.#owed += bytes;
    return this.#owed <= CREDIT_WINDOW_BYTES;
  }

  /** Records read bytes. Returns the credit to grant, or 0 if it is still too little for a credit frame. */
  read(bytes: number): number {
    this.#read += bytes;
    if (this.#read < GRANT_BYTES) return 0;
    const granted = this.#read;
    this.#read = 0;
    this.#owed -= granted;
    return granted;
  }
}

/** Sends frames over the stream of a link, and detects when the queue of the stream is full. */
export class FrameSender {
  readonly #stream: MeshStream;
  #drained: Promise<void> | undefined;

  constructor(stream: MeshStream) {
    this.#stream = stream;
  }

  /** Resolves when the queue has space again; undefined while it has space. */
  get drained(): Promise<void> | undefined {
    return this.#drained;
  }

  /** Sends a frame even if the queue is full. The queue stays short, because only a limited number of requests run at once. */
  send(frame: Frame): void {
    if (this.#stream.send(frameCodec.encode(frame)) || this.#drained) return;
    const freed = () => {
      this.#drained = undefined;
    };
    this.#drained = this.#stream.drained().then(freed, freed);
  }
}

/** Longest body in one frame, and longest piece of a longer body. */
const CHUNK_BYTES = 32_768;
/** Minimum size of a piece that is not the last. Smaller pieces are refused, because each piece costs memory beyond its bytes. */
const LEAST_CHUNK_BYTES = 4_096;
/** Longest body of a request or an answer. */
const MAX_BODY_BYTES = 4_194_304;

/** Throws PAYLOAD_TOO_LARGE if a body is too long for any link. */
export function requireSendable(body: Uint8Array): void {
  if (body.length <= MAX_BODY_BYTES) return;
  throw new AtmoError('PAYLOAD_TOO_LARGE', `The message has ${body.length} bytes; a message between hubs has at most ${MAX_BODY_BYTES}`);
}

/** How a body is sent: the id of the request to which the body belongs, the frame sender and the credit for the body. */
export interface BodyRoute {
  readonly id: number;
  readonly sender: FrameSender;
  readonly window: CreditWindow;
}

/**
 * Sends a body. A long body goes in chunk frames within the credit, except the last piece, which `finish` sends. Returns undefined if
 * everything was sent at once. Otherwise returns a promise, which rejects if the request ends first.
 */
export function sendBody(body: Uint8Array, route: BodyRoute, finish: (last: Uint8Array) => void): Promise<void> | undefined {
  if (body.length > CHUNK_BYTES) return sendLongBody(body, route, finish);
  finish(body);
  return undefined;
}

async function sendLongBody(body: Uint8Array, { id, sender, window }: BodyRoute, finish: (last: Uint8Array) => void): Promise<void> {
  const lastStart = Math.floor((body.length - 1) / CHUNK_BYTES) * CHUNK_BYTES;
  for (let start = 0; start < lastStart; start += CHUNK_BYTES) {
    const bytes = body.subarray(start, start + CHUNK_BYTES);
    await window.take(bytes.length);
    await sender.drained;
    window.check();
    sender.send({ type: 'chunk', id, bytes });
  }
  finish(body.subarray(lastStart));
}

/** Maximum size of all unfinished bodies of one peer together, in bytes. */
const MAX_KEPT_BYTES = 16_777_216;

/** What became of a received piece. `too-much`: it makes the body, or all bodies together, too long. `malformed`: it breaks a rule. */
type Arrival = { readonly kind: 'kept'; readonly grantBytes: number } | { readonly kind: 'too-much' } | { readonly kind: 'malformed' };

interface IncomingBody {
  readonly ledger: CreditLedger;
  pieces: Uint8Array[];
  bytes: number;
  isRefused: boolean;
}

/** Collects the pieces of a peer's unfinished bodies, in one direction. */
export class IncomingBodies {
  readonly #bodies = new Map<number, IncomingBody>();
  #keptBytes = 0;

  get size(): number {
    return this.#bodies.size;
  }

  has(id: number): boolean {
    return this.#bodies.has(id);
  }

  add(id: number, piece: Uint8Array): Arrival {
    const body = this.#bodyOf(id);
    if (piece.length < LEAST_CHUNK_BYTES || !body.ledger.add(piece.length)) return { kind: 'malformed' };
    const grantBytes = body.ledger.read(piece.length);
    if (body.isRefused) return { kind: 'kept', grantBytes };
    body.pieces.push(piece);
    body.bytes += piece.length;
    this.#keptBytes += piece.length;
    if (body.bytes <= MAX_BODY_BYTES && this.#keptBytes <= MAX_KEPT_BYTES) return { kind: 'kept', grantBytes };
    this.#keptBytes -= body.bytes;
    Object.assign(body, { pieces: [], bytes: 0, isRefused: true });
    return { kind: 'too-much' };
  }

  /** Returns the whole body after its last piece, or undefined if the body was refused or is too long. */
  finish(id: number, last: Uint8Array): Uint8Array | undefined {
    const body = this.#bodies.get(id);
    if (!body) return last;
    this.drop(id);
    if (body.isRefused || body.bytes + last.length > MAX_BODY_BYTES) return undefined;
    return Buffer.concat([...body.pieces, last]);
  }

  drop(id: number): void {
    this.#keptBytes -= this.#bodies.get(id)?.bytes ?? 0;
    this.#bodies.delete(id);
  }

  #bodyOf(id: number): IncomingBody {
    const known = this.#bodies.get(id);
    if (known) return known;
    const body = { ledger: new CreditLedger(), pieces: [], bytes: 0, isRefused: false };
    this.#bodies.set(id, body);
    return body;
  }
}
