/** Numbers that look random and are the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Random = () => number;

const below = (random: Random, limit: number): number => Math.floor(random() * limit);

/** CBOR that parsers fall over (RFC 8949 §3, §5): put in front of, into or instead of a message. */
const TRAPS: readonly Buffer[] = [
  Buffer.alloc(5_000, 0x81),
  Buffer.alloc(5_000, 0xa1),
  Buffer.alloc(5_000, 0xc1),
  Buffer.from('9bffffffffffffffff', 'hex'),
  Buffer.from('bb7fffffffffffffff', 'hex'),
  Buffer.from('5b00000000ffffffff', 'hex'),
  Buffer.from('7b0000ffffffffffff', 'hex'),
  Buffer.from(`c25901ff${'ff'.repeat(511)}`, 'hex'),
  Buffer.from('9f01ff', 'hex'),
  Buffer.from('bf0102ff', 'hex'),
  Buffer.from('5f4101ff', 'hex'),
  Buffer.from('a201000100', 'hex'),
  Buffer.from('62c328', 'hex'),
  Buffer.from('63eda080', 'hex'),
  Buffer.from('fb7ff8000000000000', 'hex'),
  Buffer.from('d9d9f7d9d9f7f6', 'hex'),
  Buffer.from('a1695f5f70726f746f5f5f01', 'hex'),
  Buffer.from('1c', 'hex'),
  Buffer.from('f818', 'hex'),
];

const MUTATIONS: readonly ((bytes: Buffer, random: Random) => Buffer)[] = [
  // Replayed as it was.
  (bytes) => bytes,
  (bytes, random) => {
    const flipped = Buffer.from(bytes);
    for (let count = 1 + below(random, 8); count > 0; count--) {
      const at = below(random, flipped.length);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << below(random, 8));
    }
    return flipped;
  },
  (bytes, random) => bytes.subarray(0, below(random, bytes.length)),
  (bytes, random) => Buffer.concat([bytes, bytes.subarray(below(random, bytes.length))]),
  (bytes, random) => {
    const at = below(random, bytes.length);
    return Buffer.concat([bytes.subarray(0, at), trap(random), bytes.subarray(at)]);
  },
  (bytes, random) => {
    const at = below(random, bytes.length);
    return Buffer.concat([bytes.subarray(0, at), trap(random), bytes.subarray(at + 1 + below(random, 16))]);
  },
  (_bytes, random) => trap(random),
  (_bytes, random) => Buffer.from(Array.from({ length: 1 + below(random, 300) }, () => below(random, 256))),
  (bytes, random) => Buffer.concat(Array.from({ length: 1 + below(random, 6) }, () => bytes)),
];

function trap(random: Random): Buffer {
  return TRAPS[below(random, TRAPS.length)] ?? Buffer.alloc(1);
}

/** One of the messages, changed: flipped, truncated, repeated, with traps in it, random, or replayed as it was. */
export function mutated(messages: readonly Uint8Array[], random: Random): Buffer {
  const message = Buffer.from(messages[below(random, messages.length)] ?? [0x80]);
  const mutate = MUTATIONS[below(random, MUTATIONS.length)];
  return mutate && message.length > 0 ? mutate(message, random) : message;
}
