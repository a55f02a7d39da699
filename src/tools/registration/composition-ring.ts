import { AtmoError } from '../../core/errors.ts';
import type { Step } from '../steps/step-runner.ts';

/** How many composed tools may call each other in a row. */
export const MAX_DEPTH = 4;

/**
 * CONFLICT when a composed tool would call itself, through whatever others, or calls more than four in a row. `stepsOf`
 * knows the steps of a composed tool by the name that a step has for it.
 */
export function requireNoRing(key: string, steps: readonly Step[], stepsOf: (name: string) => readonly Step[] | undefined): void {
  let level = steps.map(({ tool }) => tool);
  for (let depth = 1; level.length > 0; depth++) {
    if (level.some((name) => name.split('@', 1)[0] === key)) throw refused(`${key} would call itself`);
    const next = new Set(level.flatMap((name) => stepsOf(name) ?? []).map(({ tool }) => tool));
    if (level.some((name) => stepsOf(name)) && depth >= MAX_DEPTH)
      throw refused(`${key} would make a row of more than ${MAX_DEPTH} composed tools`);
    level = [...next];
  }
}

function refused(problem: string): AtmoError {
  return new AtmoError('CONFLICT', `${problem}; write the steps of the inner tool into this one`, { reason: 'ring' });
}
