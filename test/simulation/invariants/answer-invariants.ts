import { BrokenInvariant } from '../broken-invariant.ts';
import { kindOf, REPEATABLE } from '../device-kinds.ts';
import type { Attempt, GivenToken, Ledger } from '../ledger.ts';

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

/** A token that a hub has made for an agent from another one. */
interface MadeToken extends GivenToken {
  readonly parent: GivenToken;
}

/** What an agent asked a hub for, and when. Milliseconds of the world. */
interface AskedToken {
  readonly permissions: readonly string[];
  readonly begunMs: number;
}

/** Checks that a hub has made a token no wider than the one that it comes from, and than what was asked for. Throws BrokenInvariant. */
export function checkNarrower({ id, agent, permissions, expiresMs, parent }: MadeToken, asked: AskedToken): void {
  const { begunMs } = asked;
  const fail = (problem: string) => {
    throw new BrokenInvariant('a token is no wider than its parent', `${id} of ${agent} ${problem}`, [id, parent.id]);
  };
  const excess = permissions.filter((permission) => !parent.permissions.includes(permission) || !asked.permissions.includes(permission));
  if (excess.length > 0) fail(`allows ${excess}`);
  if (expiresMs > parent.expiresMs) fail(`lasts ${expiresMs - parent.expiresMs} ms longer`);
  if (!agent.startsWith(`${parent.agent}/`)) fail(`is not of an agent below ${parent.agent}`);
  if ((parent.revokedMs ?? begunMs) < begunMs) fail(`was made after its parent was revoked at ${parent.revokedMs} ms`);
}
