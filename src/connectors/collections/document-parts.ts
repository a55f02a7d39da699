/** About as much as a model of embeddings takes in at once without losing the thread, in characters. */
const PART_LENGTH = 1_000;
/** What stands at a cut belongs to both parts. */
const OVERLAP = 120;
/** The later a cut is, the better; these are its places, the best first. */
const CUTS = ['\n\n', '\n', '. ', '! ', '? ', '; ', ', ', ' '];

/** A text in parts that overlap, cut between paragraphs, sentences or words where it can be; none for white space alone. */
export function documentParts(text: string): readonly string[] {
  const parts: string[] = [];
  let at = 0;
  while (at < text.length) {
    const end = cutAfter(text, at);
    const part = text.slice(at, end).trim();
    if (part !== '') parts.push(part);
    if (end >= text.length) break;
    at = wordStart(text, Math.max(end - OVERLAP, at + 1), end);
  }
  return parts;
}

function cutAfter(text: string, at: number): number {
  const limit = at + PART_LENGTH;
  if (limit >= text.length) return text.length;
  const half = at + PART_LENGTH / 2;
  for (const cut of CUTS) {
    const found = text.lastIndexOf(cut, limit - cut.length);
    if (found >= half) return found + cut.length;
  }
  return isSplitPair(text, limit) ? limit - 1 : limit;
}

function wordStart(text: string, from: number, end: number): number {
  const space = text.indexOf(' ', from);
  if (space !== -1 && space < end) return space + 1;
  return isSplitPair(text, from) ? from + 1 : from;
}

/** Half of a surrogate pair is no character. */
function isSplitPair(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
