import { hash } from 'node:crypto';
import { MAX_FILTER_BYTES, MAX_LOOKUP_WORDS, type WordFilter } from '../../codec/messages/site.ts';
import { parseToolName } from '../../tools/definition/tool-names.ts';
import type { KnownHub } from '../gossip/known-hub.ts';

/** Bits for each word; with the best number of hashes, one lookup in a hundred is then in vain (Bloom 1970). */
const BITS_PER_WORD = 10;
const MAX_HASHES = 16;
const MIN_BYTES = 8;
const MAX_WORD_LENGTH = 64;
/** Minimum length of a word that a sentence is searched for. */
const MIN_SEARCHED = 3;

/** Announced state of a hub, as far as lookups find the hub by it. */
type Announced = Pick<KnownHub, 'id' | 'name' | 'capabilities' | 'tools' | 'devices'>;

/**
 * Returns the words under which lookups find a hub: its id and name, the types of its capabilities, the names of its tools, the ids of its
 * devices, and the single words of these names. Only what the hub announces to every member is a word.
 */
export function wordsOf({ id, name, capabilities, tools, devices }: Announced): ReadonlySet<string> {
  const names = [
    id,
    name,
    ...capabilities.map(({ type }) => type),
    ...tools.map((tool) => parseToolName(tool.id)?.name ?? tool.id),
    ...devices.flatMap((device) => [device.id, device.name]),
  ];
  return new Set(names.flatMap((text) => [normalized(text), ...singleWords(text)]).filter((word) => word !== ''));
}

/** Returns the word under which a lookup finds a tool, hub or capability of this name; the namespace and version of a tool are left out. */
export function wordOfName(name: string): string {
  return normalized(parseToolName(name)?.name ?? name);
}

/** Returns the words of a sentence that a lookup can have. */
export function wordsOfSentence(sentence: string): readonly string[] {
  return [...new Set(singleWords(sentence))].filter((word) => word.length >= MIN_SEARCHED).slice(0, MAX_LOOKUP_WORDS);
}

function singleWords(text: string): readonly string[] {
  return text.split(/[^\p{L}\p{N}]+/u).map(normalized);
}

function normalized(text: string): string {
  return text.toLowerCase().slice(0, MAX_WORD_LENGTH);
}

/** Returns the Bloom filter of the words of a site. */
export function makeFilter(site: string, words: ReadonlySet<string>): WordFilter {
  const bytes = Math.min(MAX_FILTER_BYTES, Math.max(MIN_BYTES, Math.ceil((words.size * BITS_PER_WORD) / 8)));
  const hashes = Math.min(MAX_HASHES, Math.max(1, Math.round(((8 * bytes) / Math.max(1, words.size)) * Math.LN2)));
  const bits = new Uint8Array(bytes);
  for (const word of words)
    for (const bit of bitsOf(site, word, { hashes, bits })) bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7));
  return { hashes, bits };
}

/** Returns whether the site may have the word. It may not have it nevertheless, because a Bloom filter has false positives. */
export function mayHave(site: string, word: string, filter: WordFilter): boolean {
  return bitsOf(site, word, filter).every((bit) => ((filter.bits[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0);
}

/** Double hashing (Kirsch and Mitzenmacher 2006). The site is hashed too, so that sites have different false positives. */
function bitsOf(site: string, word: string, { hashes, bits }: WordFilter): readonly number[] {
  const digest = hash('sha256', `${site}\n${word}`, 'buffer');
  const first = digest.readUInt32BE(0);
  const step = digest.readUInt32BE(4);
  return Array.from({ length: hashes }, (_, index) => (first + index * step) % (8 * bits.length));
}
