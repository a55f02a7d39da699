import { BrokenInvariant } from '../broken-invariant.ts';
import { kindOf, REPEATABLE } from '../device-kinds.ts';
import type { Attempt, Ledger } from '../ledger.ts';

/** Answers with which a call may have had an effect. After all others it has none (docs/errors.md). */
const MAY_HAVE_ACTED = /^(?:success|lost|OUTCOME_UNKNOWN|CANCELLED)$/;
/** The same for a call that may be repeated. */
const REPEATABLE_MAY_HAVE_ACTED = /^(?:TIMEOUT|NODE_UNAVAILABLE|NO_CAPABLE_NODE)$/;
const JOB = /^job (?:(succeeded)|failed (\w+)|.*)$/;

/** Checks that what an agent was answered is what happened. Throws BrokenInvariant. */
export function checkAnswer(ledger: Ledger, attempt: Attempt): void {
  const code = codeOf(attempt);
  if (code === 'success' && !ledger.hasDone(attempt)) fail(attempt, 'nothing was done for its key');
  if (!mayHaveActed(attempt) && ledger.hasActed(attempt)) fail(attempt, 'it was done');
}

/** Checks that an effect may come after the answer to its call. Throws BrokenInvariant. */
export function checkAfterAnswer(attempt: Attempt): void {
  if (!mayHaveActed(attempt)) fail(attempt, 'it was done after that');
}

function mayHaveActed(attempt: Attempt): boolean {
  const code = codeOf(attempt);
  return MAY_HAVE_ACTED.test(code) || (kindOf(attempt) === REPEATABLE && REPEATABLE_MAY_HAVE_ACTED.test(code));
}

/** What an answer says in the end: `success`, the code of an error, or `lost` while it says nothing yet. */
function codeOf({ outcome = 'lost' }: Attempt): string {
  const job = JOB.exec(outcome);
  if (!job) return outcome;
  const [, succeeded, code] = job;
  return succeeded ? 'success' : (code ?? 'lost');
}

function fail({ tool, params, key, agent, outcome, trace }: Attempt, problem: string): never {
  const what = `${agent} got ${outcome} for ${tool} ${params}, key ${key}, but ${problem}`;
  throw new BrokenInvariant('an answer says what happened', what, [trace, key]);
}
