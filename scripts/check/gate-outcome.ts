import type { Finished } from './command.ts';
import { failure, type Outcome, PASSED, skip } from './tally.ts';

/** Exit status of a gate that this machine cannot run: without private networks, or without the commit to compare with. */
const NOT_POSSIBLE = 77;

/** The outcome of `npm run bench -- --gate`; what a machine cannot run is skipped with the reason that it gave. */
export function gateOutcome({ status, output }: Finished): Outcome {
  const lastLine = output.trimEnd().split('\n').at(-1) ?? '';
  if (status === NOT_POSSIBLE) return skip(lastLine);
  return status === 0 ? PASSED : failure(`gate, with status ${status}, the last line was: ${lastLine}`);
}
