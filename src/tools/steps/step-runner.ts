import { AtmoError, type ErrorBody, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { CallRequest } from '../calls/call-answer.ts';
import type { CallPipeline } from '../calls/call-pipeline.ts';
import type { InnerCall, ToolContext } from '../definition/tool-definition.ts';
import { fillReferences, hasReferences } from './step-reference.ts';

/** One call of several; its parameters may refer to results of earlier steps. */
export interface Step {
  readonly tool: string;
  readonly params: JsonObject;
}

/** How a row of steps ended: the results of those that ran well, and the one that failed. */
export interface StepsOutcome {
  readonly results: readonly Json[];
  readonly failed?: { readonly step: number; readonly tool: string; readonly error: ErrorBody };
}

interface Surroundings {
  /** The running call of which the steps are a part. */
  readonly context: ToolContext;
  /** What `$param` means; data like any other when absent. */
  readonly params?: JsonObject;
}

/** What the steps go through. */
export type StepPipeline = Pick<CallPipeline, 'call' | 'preflight' | 'preflightTool'>;

/**
 * Calls tools one after the other, each as a call of its own for the caller of the whole: permission, rules, approval and
 * journal are those of the step. Ends at the first that fails.
 */
export class StepRunner {
  readonly #pipeline: StepPipeline;

  constructor(pipeline: StepPipeline) {
    this.#pipeline = pipeline;
  }

  /** Nothing runs when a step is already known to be refused, or has to wait for people; its error, with `step` in the details. */
  async run(steps: readonly Step[], surroundings: Surroundings): Promise<StepsOutcome> {
    for (const index of steps.keys()) await this.#judge(steps, index, surroundings);
    const results: Json[] = [];
    const { progress } = surroundings.context;
    for (const [index, step] of steps.entries()) {
      progress(index / steps.length, `Step ${index + 1} of ${steps.length}: ${step.tool}`);
      const outcome = await this.#runStep(step, results, surroundings);
      if ('error' in outcome) return { results, failed: { step: index, tool: step.tool, error: outcome.error } };
      results.push(outcome.result);
    }
    return { results };
  }

  async #judge(steps: readonly Step[], index: number, { context, params }: Surroundings): Promise<void> {
    const step = steps[index];
    if (!step) return;
    const known = knownParams(step, params);
    const request = requestOf({ ...step, params: known ?? {} }, context);
    const verdict = await (known ? this.#pipeline.preflight(request) : this.#pipeline.preflightTool(request));
    if (verdict.allowed) return;
    const { code, message, details } = verdict.error;
    const why = code === 'APPROVAL_REQUIRED' ? 'waits for approval' : 'would be refused';
    const which = `Step ${index + 1} of ${steps.length} (${step.tool})`;
    throw new AtmoError(code, `${which} ${why}, so no step ran: ${message}`, { ...details, step: index });
  }

  /** What came before has happened and has to be told: a failure is an answer here. */
  async #runStep(step: Step, results: readonly Json[], { context, params }: Surroundings): Promise<StepOutcome> {
    try {
      const sources = { results, ...(params && { params }) };
      const answer = await this.#pipeline.call(requestOf({ ...step, params: filled(step, sources) }, context));
      return answer.status === 'error' ? { error: answer.error } : { result: answer.result };
    } catch (thrown) {
      return { error: toAtmoError(thrown).toBody() };
    }
  }
}

/** What the steps will call, for who has to judge them before; nothing of their parameters is known without `given`. */
export function innerCallsOf(steps: readonly Step[], given: Pick<Surroundings, 'params'> | undefined): readonly InnerCall[] {
  return steps.map((step) => {
    const known = given && knownParams(step, given.params);
    return { tool: step.tool, ...(known ? { params: known } : { written: step.params }) };
  });
}

/** Undefined while results of earlier steps decide. */
function knownParams(step: Step, params: JsonObject | undefined): JsonObject | undefined {
  return hasReferences(step.params) ? undefined : filled(step, { results: [], ...(params && { params }) });
}

type StepOutcome = { readonly result: Json } | { readonly error: ErrorBody };

function filled(step: Step, sources: Parameters<typeof fillReferences>[1]): JsonObject {
  const params = fillReferences(step.params, sources);
  return isJsonObject(params) ? params : {};
}

function requestOf({ tool, params }: Step, context: ToolContext): CallRequest {
  const { principal, traceId, sessionId, signal } = context;
  return {
    principal,
    tool,
    params,
    traceId,
    sessionId,
    signal,
    within: context,
    onQuestion: (question) => context.ask(question),
    onMessage: ({ level, data }) => context.tell(level, data),
  };
}
