import type { Mutant } from '../../scripts/mutation-score/mutants.ts';

/** A mutant of `src/calls/order.ts`, whose text is its id. */
export function mutantWith(mutant: Pick<Mutant, 'id'> & Partial<Mutant>): Mutant {
  return { file: 'src/calls/order.ts', line: 1, kind: 'expression', start: 0, end: 1, text: mutant.id, instead: 'true', ...mutant };
}
