import { maxRisk } from '../../core/access/authorizer.ts';
import type { ErrorBody } from '../../core/errors.ts';
import type { InnerCall } from '../definition/tool-definition.ts';
import type { CallRequest } from './call-answer.ts';
import type { Preflight } from './call-pipeline.ts';

/** Calls in calls in calls: as deep as composed tools may be registered. */
const MAX_DEPTH = 4;
const MAX_CALLS = 256;

/** A call that is asked about; without parameters where nobody knows them yet. */
export type AskedCall = Omit<CallRequest, 'params'> & { readonly params?: unknown };

/** What is said of a call by itself, and the calls that it is going to make. */
export interface OwnVerdict {
  readonly verdict: Preflight;
  readonly innerCalls: readonly InnerCall[];
}

/**
 * Judges a call with all calls that it is going to make, those first that come first, so that nothing is half done when
 * one of them has to wait for people. Ends at the first that would be refused.
 */
export class WholeJudgement {
  readonly #judge: (asked: AskedCall) => Promise<OwnVerdict>;
  #callsLeft = MAX_CALLS;

  constructor(judge: (asked: AskedCall) => Promise<OwnVerdict>) {
    this.#judge = judge;
  }

  async of(asked: AskedCall, depth = 0): Promise<Preflight> {
    const { verdict, innerCalls } = await this.#judge(asked);
    if (!verdict.allowed || depth === MAX_DEPTH) return verdict;
    let whole = verdict;
    for (const inner of innerCalls) {
      this.#callsLeft -= 1;
      if (this.#callsLeft < 0) return tooMany(asked.tool);
      const below = await this.of(madeBy(asked, inner), depth + 1);
      if (!below.allowed) return { allowed: false, error: toldOf(asked.tool, inner.tool, below.error) };
      whole = { allowed: true, risk: maxRisk(whole.risk, below.risk), effects: [...whole.effects, ...below.effects] };
    }
    return whole;
  }
}

/** Where a call is to run, and by when, is its own business. */
function madeBy({ principal, traceId, sessionId, signal, within }: AskedCall, { tool, params }: InnerCall): AskedCall {
  return {
    principal,
    tool,
    ...(params && { params }),
    ...(traceId !== undefined && { traceId }),
    ...(sessionId !== undefined && { sessionId }),
    ...(signal && { signal }),
    ...(within && { within }),
  };
}

function toldOf(outer: string, inner: string, error: ErrorBody): ErrorBody {
  return { ...error, message: `${outer} would call ${inner}: ${error.message}` };
}

function tooMany(tool: string): Preflight {
  const message = `${tool} would make more than ${MAX_CALLS} calls; call its steps by themselves`;
  return { allowed: false, error: { code: 'RESOURCE_EXCEEDED', message, details: { permanent: true }, retryable: false } };
}
