import { encodeFrame, type Frame } from '../../codec/messages/connection.ts';
import { AtmoError } from '../../core/errors.ts';
import type { MeshStream } from '../transport/mesh-engine.ts';

/** Bytes of a request's body, or of its answer with all parts, that may be on their way unread. */
export const CREDIT_WINDOW_BYTES = 262_144;

interface Waiting {
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: AtmoError) => void;
}

/** The sender's view of what its peer still has room for, in one direction of one request. */
export class CreditWindow {
  readonly #waiting: Waiting[] = [];
  #room = CREDIT_WINDOW_BYTES;
  /** Makes the error: most requests end without anybody who hears of it. */
  #end: (() => AtmoError) | undefined;

  /** Undefined when the bytes may be sent at once; else resolves when they may, and rejects when the request has ended. */
  take(bytes: number): Promise<void> | undefined {
    if (this.#end) return Promise.reject(this.#end());
    if (this.#waiting.length === 0 && this.#room >= bytes) {
      this.#room -= bytes;
      return undefined;
    }
    return new Promise((resolve, reject) => this.#waiting.push({ bytes, resolve, reject }));
  }

  /** More room; never more than the whole window, whatever the peer says. */
  grant(bytes: number): void {
    this.#room = Math.min(CREDIT_WINDOW_BYTES, this.#room + bytes);
    for (let next = this.#waiting[0]; next && next.bytes <= this.#room; next = this.#waiting[0]) {
      this.#room -= next.bytes;
      this.#waiting.shift();
      next.resolve();
    }
  }

  /** Throws why the request has ended, where it has. */
  check(): void {
    if (this.#end) throw this.#end();
  }

  /** Whoever waits hears why there will be no more room. */
  end(reason: () => AtmoError): void {
    this.#end ??= reason;
    for (const { reject } of this.#waiting.splice(0)) reject(reason());
  }
}

/** Room is given back in pieces of this size: small answers need no frame for it. */
const GRANT_BYTES = CREDIT_WINDOW_BYTES / 4;

/** The receiver's view of one direction of one request: what came, what was read, and how much room to give back. */
export class CreditLedger {
  /** Came and was not given back yet. */
  #owed = 0;
  #read = 0;

  /** False when the sender has sent more than it had room for. */
  came(bytes: number): boolean {
    this.#owed += bytes;
    return this.#owed <= CREDIT_WINDOW_BYTES;
  }

  /** Bytes of room to tell the sender of, now that so many more were read; 0 while it is not worth a frame. */
  read(bytes: number): number {
    this.#read += bytes;
    if (this.#read < GRANT_BYTES) return 0;
    const granted = this.#read;
    this.#read = 0;
    this.#owed -= granted;
    return granted;
  }
}

/** Writes frames to the stream of a link and knows when it is full. */
export class FrameSender {
  readonly #stream: MeshStream;
  #drained: Promise<void> | undefined;

  constructor(stream: MeshStream) {
    this.#stream = stream;
  }

  /** Resolves when the stream has room again; undefined while it has. */
  get room(): Promise<void> | undefined {
    return this.#drained;
  }

  /** Sends in any case: for what is bounded otherwise, as answers are by the requests in flight. */
  send(frame: Frame): void {
    if (this.#stream.send(encodeFrame(frame)) || this.#drained) return;
    const freed = () => {
      this.#drained = undefined;
    };
    this.#drained = this.#stream.drained().then(freed, freed);
  }
}

/** Longest body that travels in one frame, and longest piece of a longer one. */
const CHUNK_BYTES = 32_768;
/** Shortest piece but the last one: what is kept of a piece is more than its bytes. */
const LEAST_CHUNK_BYTES = 4_096;
/** Longest body of a request or an answer. */
export const MAX_BODY_BYTES = 4_194_304;

/** PAYLOAD_TOO_LARGE when no link carries the body. */
export function requireSendable(body: Uint8Array): void {
  if (body.length <= MAX_BODY_BYTES) return;
  throw new AtmoError('PAYLOAD_TOO_LARGE', `The message has ${body.length} bytes; between hubs at most ${MAX_BODY_BYTES} travel at once`);
}

/** The pieces of a body, views of it. */
function* chunksOf(body: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < body.length; start += CHUNK_BYTES) yield body.subarray(start, start + CHUNK_BYTES);
}

/** Puts the pieces of one body together. */
class BodyAssembler {
  readonly #pieces: Uint8Array[] = [];
  #length = 0;

  /** False when the body has become longer than any may be. */
  add(piece: Uint8Array): boolean {
    this.#pieces.push(piece);
    this.#length += piece.length;
    return this.#length <= MAX_BODY_BYTES;
  }

  body(): Uint8Array {
    return Buffer.concat(this.#pieces, this.#length);
  }
}

/** Whose frames, and how much room the peer has for them. */
export interface BodyRoute {
  readonly id: number;
  readonly sender: FrameSender;
  readonly window: CreditWindow;
}

/**
 * Sends a body: all but the last piece as chunks, as the peer has room; the last one goes with the frame that `finish`
 * sends. Undefined when that was done at once; else rejects when the window ends.
 */
export function sendBody(body: Uint8Array, route: BodyRoute, finish: (last: Uint8Array) => void): Promise<void> | undefined {
  if (body.length > CHUNK_BYTES) return sendLongBody(body, route, finish);
  finish(body);
  return undefined;
}

async function sendLongBody(body: Uint8Array, { id, sender, window }: BodyRoute, finish: (last: Uint8Array) => void): Promise<void> {
  const lastStart = Math.floor((body.length - 1) / CHUNK_BYTES) * CHUNK_BYTES;
  for (const bytes of chunksOf(body.subarray(0, lastStart))) {
    await window.take(bytes.length);
    await sender.room;
    window.check();
    sender.send({ type: 'chunk', id, bytes });
  }
  finish(body.subarray(lastStart));
}

/** Bytes of unfinished bodies that one peer may have us keep. */
const MAX_KEPT_BYTES = 16_777_216;

/** What becomes of a piece: kept, its body thrown away for being too much, or sent against the rules. */
export type Arrival =
  | { readonly kind: 'kept'; readonly grantBytes: number }
  | { readonly kind: 'too-much' }
  | { readonly kind: 'malformed' };

interface IncomingBody {
  readonly assembler: BodyAssembler;
  readonly ledger: CreditLedger;
  bytes: number;
  isRefused: boolean;
}

/** The bodies that are coming from a peer piece by piece, in one direction. */
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
    if (piece.length < LEAST_CHUNK_BYTES || !body.ledger.came(piece.length)) return { kind: 'malformed' };
    const grantBytes = body.ledger.read(piece.length);
    if (body.isRefused) return { kind: 'kept', grantBytes };
    this.#keptBytes += piece.length;
    body.bytes += piece.length;
    if (body.assembler.add(piece) && this.#keptBytes <= MAX_KEPT_BYTES) return { kind: 'kept', grantBytes };
    this.#refuse(id, body);
    return { kind: 'too-much' };
  }

  /** The whole body with its last piece; undefined when it was refused before. */
  finish(id: number, last: Uint8Array): Uint8Array | undefined {
    const body = this.#bodies.get(id);
    if (!body) return last;
    this.drop(id);
    if (body.isRefused || !body.assembler.add(last)) return undefined;
    return body.assembler.body();
  }

  drop(id: number): void {
    this.#keptBytes -= this.#bodies.get(id)?.bytes ?? 0;
    this.#bodies.delete(id);
  }

  #bodyOf(id: number): IncomingBody {
    const known = this.#bodies.get(id);
    if (known) return known;
    const body = { assembler: new BodyAssembler(), ledger: new CreditLedger(), bytes: 0, isRefused: false };
    this.#bodies.set(id, body);
    return body;
  }

  /** Its further pieces are thrown away as they come. */
  #refuse(id: number, body: IncomingBody): void {
    this.#keptBytes -= body.bytes;
    this.#bodies.set(id, { ...body, assembler: new BodyAssembler(), bytes: 0, isRefused: true });
  }
}
