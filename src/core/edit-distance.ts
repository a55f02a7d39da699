/** Returns the Levenshtein distance of two short texts: the number of letters to add, delete or replace. */
export function editDistance(a: string, b: string): number {
  // One row of the table, which becomes the next row from left to right.
  const distances = Uint32Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const letter = a.charCodeAt(row - 1);
    let [diagonal, left] = [row - 1, row];
    distances[0] = row;
    for (let column = 1; column <= b.length; column++) {
      const above = distances[column] ?? 0;
      left = Math.min(diagonal + (letter === b.charCodeAt(column - 1) ? 0 : 1), above + 1, left + 1);
      distances[column] = left;
      diagonal = above;
    }
  }
  return distances[b.length] ?? a.length;
}

/** Returns whether two texts differ in at most `most` letters. */
export function isWithinDistance(a: string, b: string, most: number): boolean {
  return Math.abs(a.length - b.length) <= most && editDistance(a, b) <= most;
}

const MAX_COMPARED_LENGTH = 64;

/**
 * Returns up to `limit` candidates, the most similar first. Omits a candidate if at least half of its letters differ. If `text` has at
 * least four letters, a candidate that contains it is never omitted.
 */
export function nearestTexts(text: string, candidates: Iterable<string>, limit = 3): readonly string[] {
  const wanted = text.toLowerCase().slice(0, MAX_COMPARED_LENGTH);
  const near: { readonly candidate: string; readonly distance: number }[] = [];
  for (const candidate of candidates) {
    const other = candidate.toLowerCase().slice(0, MAX_COMPARED_LENGTH);
    const bound = Math.ceil(Math.max(wanted.length, other.length) / 2);
    if (Math.abs(wanted.length - other.length) >= bound && !isPart(other, wanted)) continue;
    const distance = isPart(other, wanted) ? 1 : editDistance(wanted, other);
    if (distance < bound || isPart(other, wanted)) near.push({ candidate, distance });
  }
  return near
    .sort((a, b) => a.distance - b.distance || compareText(a.candidate, b.candidate))
    .slice(0, limit)
    .map(({ candidate }) => candidate);
}

const MIN_PART_LENGTH = 4;

function isPart(whole: string, part: string): boolean {
  return part.length >= MIN_PART_LENGTH && whole.includes(part);
}

/** Compares texts by code unit, so that the order is the same on every machine and in every locale. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
