import type { GateBase } from '../bench/gate/base-program.ts';
import type { Finished } from './command.ts';
import { failure, NOT_POSSIBLE, type Outcome, PASSED, skip } from './tally.ts';

/**
 * The outcome of `npm run bench -- --gate`. What a machine cannot run or judge is skipped with the reason that it gave: without private
 * networks, without the commit to compare with, or too busy. A gate that does not block never fails: if it was killed or ended with an error,
 * it is skipped too.
 */
export function gateOutcome({ status, output }: Finished, { blocks }: Pick<GateBase, 'blocks'>): Outcome {
  const lastLine = output.trimEnd().split('\n').at(-1) ?? '';
  if (status === 0) return PASSED;
  if (status === NOT_POSSIBLE) return skip(lastLine);
  const note = `gate, with status ${status}, the last line was: ${lastLine}`;
  return blocks ? failure(note) : skip(note);
}
