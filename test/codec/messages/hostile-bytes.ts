import { seededRandom } from '../../seeded-random.ts';

/** Makes bytes that a hostile member might send, the same ones for the same seed. */
export class HostileBytes {
  readonly #corpus: readonly Uint8Array[];
  readonly #uniform: () => number;

  /** `corpus`: honest messages to begin with. */
  constructor(corpus: readonly Uint8Array[], seed: number) {
    this.#corpus = corpus;
    this.#uniform = seededRandom(seed);
  }

  /** Mostly an honest message with one to four things done to it. */
  next(): Uint8Array {
    const shape = this.#below(16);
    if (shape === 0) return this.#random(this.#below(64));
    if (shape === 1) return this.#bomb();
    let bytes = this.#pick(this.#corpus);
    for (let times = 1 + this.#below(4); times > 0; times--) bytes = this.#mutated(bytes);
    return bytes;
  }

  #mutated(bytes: Uint8Array): Uint8Array {
    const at = this.#below(bytes.length + 1);
    const way = this.#below(8);
    if (way < 2) return this.#flipped(bytes, at);
    if (way === 2) return bytes.slice(0, at);
    if (way === 3) return spliced(bytes, { at, drop: 1 + this.#below(8), insert: new Uint8Array() });
    if (way === 4) return spliced(bytes, { at, drop: this.#below(2), insert: Uint8Array.from(this.#pick(ODD_HEADS)) });
    if (way === 5) return spliced(bytes, { at, drop: 0, insert: this.#random(1 + this.#below(9)) });
    if (way === 6) return spliced(bytes, { at, drop: 0, insert: bytes.slice(at, at + this.#below(40)) });
    const other = this.#pick(this.#corpus);
    const from = this.#below(other.length);
    return spliced(bytes, { at, drop: this.#below(30), insert: other.slice(from, from + this.#below(60)) });
  }

  #flipped(bytes: Uint8Array, at: number): Uint8Array {
    const copy = Uint8Array.from(bytes);
    if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << this.#below(8));
    return copy;
  }

  /** Many small items inside or beside each other, or one that announces more than there is. */
  #bomb(): Uint8Array {
    const length = 1 + this.#below(this.#below(50) === 0 ? 65_000 : 300);
    const head = this.#pick(ODD_HEADS);
    const bytes = new Uint8Array(length).fill(this.#pick([0x81, 0x82, 0xa1, 0x9f, 0xbf, 0xc1, 0x80, 0x00, 0x60, 0xff, 0x5f, 0x7f]));
    bytes.set(head.slice(0, length));
    return bytes;
  }

  #random(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.#below(256));
  }

  #pick<Item>(items: readonly Item[]): Item {
    const item = items[this.#below(items.length)];
    if (item === undefined) throw new RangeError('There is nothing to pick from');
    return item;
  }

  #below(bound: number): number {
    return Math.floor(this.#uniform() * bound);
  }
}

/** Heads that honest encoders do not write: huge lengths, indefinite ones, tags, bignums, floats, long forms, bad UTF-8, keys twice. */
const ODD_HEADS: readonly (readonly number[])[] = [
  [0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0x9a, 0xff, 0xff, 0xff, 0xff],
  [0xbb, 0x80, 0, 0, 0, 0, 0, 0, 0],
  [0x7a, 0x7f, 0xff, 0xff, 0xff],
  [0x5f, 0x41, 0x00, 0xff],
  [0x7f, 0x61, 0x61, 0xff],
  [0x9f, 0x01, 0xff],
  [0xbf, 0x01, 0x02, 0xff],
  [0xc2, 0x49, 1, 0, 0, 0, 0, 0, 0, 0, 0],
  [0xc3, 0x41, 1],
  [0xd8, 0x18, 0x41, 0x00],
  [0xd9, 0xdf, 0xfe, 0x82, 0x00, 0x80],
  [0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0x3b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0xfb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0],
  [0xf9, 0x7e, 0x00],
  [0xf7],
  [0xf8, 0x20],
  [0x18, 0x01],
  [0x61, 0xff],
  [0x62, 0xc0, 0xaf],
  [0x63, 0xed, 0xa0, 0x80],
  [0x63, 0xef, 0xbb, 0xbf],
  [0xa2, 0x01, 0x01, 0x01, 0x01],
  [0xa1, 0x69, 0x5f, 0x5f, 0x70, 0x72, 0x6f, 0x74, 0x6f, 0x5f, 0x5f, 0xa0],
  [0xf6],
  [0xa0],
  [0x80],
];

interface Splice {
  readonly at: number;
  readonly drop: number;
  readonly insert: Uint8Array;
}

function spliced(bytes: Uint8Array, { at, drop, insert }: Splice): Uint8Array {
  return Uint8Array.from(Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + drop)]));
}
