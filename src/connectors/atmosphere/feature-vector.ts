/** Peers answer 500 to their own callers after a vector of another length (nomic-embed-text, which the original uses). */
const DIMENSIONS = 768;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const STEPS = 10_000;

/**
 * The words of a text as a vector of length 1, by feature hashing (Weinberger et al., ICML 2009): the same text gives the same
 * vector, without a model. It is near the vectors of texts with the same words, and unrelated to those of a language model.
 */
export function featureVector(text: string): readonly number[] {
  const sums = new Float64Array(DIMENSIONS);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    const hash = fnv1a(word);
    sums[hash % DIMENSIONS] = (sums[hash % DIMENSIONS] ?? 0) + (hash & 0x80000000 ? -1 : 1);
  }
  const length = Math.sqrt(sums.reduce((sum, value) => sum + value * value, 0));
  // Words can cancel each other out.
  if (length === 0) sums[0] = 1;
  return Array.from(sums, (sum) => Math.round((sum / (length || 1)) * STEPS) / STEPS);
}

function fnv1a(word: string): number {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(word)) hash = Math.imul(hash ^ byte, FNV_PRIME) >>> 0;
  return hash;
}
