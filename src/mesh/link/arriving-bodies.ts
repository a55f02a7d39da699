import { BodyAssembler, LEAST_CHUNK_BYTES } from './body-chunks.ts';
import { CreditLedger } from './credit-ledger.ts';

/** Bytes of unfinished bodies that one peer may have us keep. */
const MAX_KEPT_BYTES = 16_777_216;

/** What becomes of a piece: kept, its body thrown away for being too much, or sent against the rules. */
export type Arrival =
  | { readonly kind: 'kept'; readonly grantBytes: number }
  | { readonly kind: 'too-much' }
  | { readonly kind: 'malformed' };

interface Arriving {
  readonly assembler: BodyAssembler;
  readonly ledger: CreditLedger;
  bytes: number;
  isRefused: boolean;
}

/** The bodies that are coming from a peer piece by piece, in one direction. */
export class ArrivingBodies {
  readonly #bodies = new Map<number, Arriving>();
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

  #bodyOf(id: number): Arriving {
    const known = this.#bodies.get(id);
    if (known) return known;
    const body = { assembler: new BodyAssembler(), ledger: new CreditLedger(), bytes: 0, isRefused: false };
    this.#bodies.set(id, body);
    return body;
  }

  /** Its further pieces are thrown away as they come. */
  #refuse(id: number, body: Arriving): void {
    this.#keptBytes -= body.bytes;
    this.#bodies.set(id, { ...body, assembler: new BodyAssembler(), bytes: 0, isRefused: true });
  }
}
