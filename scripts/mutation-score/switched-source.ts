import type { Mutant } from './mutants.ts';

/** Name of the global function that a switched source asks whether a mutant is the active one. */
export const SWITCH = '__isMutant';

/**
 * Returns the source with all mutants in it, of which at most one is active at a time: `SWITCH` is asked at each place. Lines keep
 * their numbers unless a replacement has lines of its own.
 */
export function switchedSource(source: string, mutants: readonly Mutant[]): string {
  const outerFirst = mutants.toSorted((a, b) => a.start - b.start || b.end - a.end);
  return switchedPart(source, { start: 0, end: source.length }, outerFirst);
}

function switchedPart(source: string, { start, end }: Pick<Mutant, 'start' | 'end'>, mutants: readonly Mutant[]): string {
  let text = '';
  let at = start;
  let left = mutants;
  for (let [first] = left; first; [first] = left) {
    const place = first;
    const here = left.filter((mutant) => mutant.start === place.start && mutant.end === place.end);
    const inside = left.filter((mutant) => !here.includes(mutant) && mutant.end <= place.end);
    text += source.slice(at, place.start) + switched(here, switchedPart(source, place, inside));
    at = place.end;
    left = left.filter((mutant) => mutant.start >= at);
  }
  return text + source.slice(at, end);
}

function switched(mutants: readonly Mutant[], original: string): string {
  return mutants.reduce((text, { id, kind, instead }) => {
    const isActive = `${SWITCH}('${id}')`;
    if (kind === 'expression') return `(${isActive} ? (${instead}) : (${text}))`;
    return `{ if (${isActive}) {} else {${text}} }`;
  }, original);
}
