import type { Need } from './need.ts';
import type { Ranked } from './rank.ts';
import type { MetNeed } from './reasons.ts';
import type { TermIndex } from './term-index.ts';

/** The needs that a document meets, with what meets them. */
export function foundNeeds<Item extends object>(
  index: TermIndex<Item>,
  { document, metBy }: Ranked,
  needs: readonly Need[],
): readonly MetNeed[] {
  return needs.flatMap((need, place) => {
    const alternative = need.alternatives[metBy[place] ?? -1];
    const posting = alternative && index.posting(alternative.term, document);
    return alternative && posting ? [{ need, alternative, field: posting.field }] : [];
  });
}
