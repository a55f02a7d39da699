import { AtmoError, type ErrorBody, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, valueAt } from '../../core/json.ts';
import type { InnerCall, ToolContext } from '../../tools/definition/tool-definition.ts';
import type { CallRequest, ToolCaller } from '../request-and-answer.ts';

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

interface StepContext {
  /** The running call of which the steps are a part. */
  readonly context: ToolContext;
  /** What `$param` means; data like any other when absent. */
  readonly params?: JsonObject;
}

/** What the steps go through. */
export type StepPipeline = Pick<ToolCaller, 'call' | 'preflight' | 'preflightTool'>;

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
  async run(steps: readonly Step[], surroundings: StepContext): Promise<StepsOutcome> {
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

  async #judge(steps: readonly Step[], index: number, { context, params }: StepContext): Promise<void> {
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
  async #runStep(step: Step, results: readonly Json[], { context, params }: StepContext): Promise<StepOutcome> {
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
export function innerCallsOf(steps: readonly Step[], given: Pick<StepContext, 'params'> | undefined): readonly InnerCall[] {
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

/** Member that marks a reference to the result of an earlier step: `{"$result": "0/state/is_on"}`. */
const RESULT_KEY = '$result';
/** Member that marks a parameter of the tool that the steps make up: `{"$param": "level"}`. */
const PARAM_KEY = '$param';
const RESULT_REFERENCE = /^(\d{1,2})((?:\/[^/]*)*)$/;

/** What references can point to. Without `params` a `$param` is data like any other. */
export interface ReferenceSources {
  readonly results: readonly Json[];
  readonly params?: JsonObject;
}

/** True when a value holds a reference to a result anywhere. */
export function hasReferences(value: Json): boolean {
  return referencesWith(value, RESULT_KEY).length > 0;
}

/** How many references to results a value holds; each becomes a copy of what it points to. */
export function countReferences(value: Json): number {
  return referencesWith(value, RESULT_KEY).length;
}

/** Indexes of the steps to whose results a value refers. */
export function referencedSteps(value: Json): readonly number[] {
  return referencesWith(value, RESULT_KEY).map((reference) => Number.parseInt(String(reference), 10));
}

/** Names of the parameters that a value refers to; what is no name is there as it is written. */
export function referencedParameters(value: Json): readonly string[] {
  return referencesWith(value, PARAM_KEY).map((name) => (typeof name === 'string' ? name : JSON.stringify(name)));
}

/** The parameter that a value is as a whole. */
export function parameterOf(value: Json | undefined): string | undefined {
  const name = isJsonObject(value) ? referenceIn(value, PARAM_KEY) : undefined;
  return typeof name === 'string' ? name : undefined;
}

/**
 * A copy of a value with each reference replaced by what it points to: `$result` is a step number, then a JSON pointer (RFC
 * 6901) into its result, `$param` the name of a parameter; a member whose parameter was not given is left out. What was
 * filled in is never read again. VALIDATION_ERROR for a step that has not run, and for a pointer that leads nowhere.
 */
export function fillReferences(value: Json, sources: ReferenceSources): Json {
  if (Array.isArray(value))
    return value.filter((item: Json) => !isAbsent(item, sources)).map((item: Json) => fillReferences(item, sources));
  if (!isJsonObject(value)) return value;
  const reference = referenceIn(value, RESULT_KEY);
  if (reference !== undefined) return lookUp(reference, sources.results);
  const name = parameterOf(value);
  if (name !== undefined && sources.params) return sources.params[name] ?? null;
  const members = Object.entries(value).filter(([, item]) => !isAbsent(item, sources));
  return Object.fromEntries(members.map(([key, item]): [string, Json] => [key, fillReferences(item, sources)]));
}

function isAbsent(value: Json, { params }: ReferenceSources): boolean {
  const name = params && parameterOf(value);
  return name !== undefined && !Object.hasOwn(params ?? {}, name);
}

/** What stands behind a mark, wherever in the value it is. */
function referencesWith(value: Json, mark: string): readonly Json[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => referencesWith(item, mark));
  if (!isJsonObject(value)) return [];
  const reference = referenceIn(value, mark);
  return reference === undefined ? Object.values(value).flatMap((item) => referencesWith(item, mark)) : [reference];
}

function referenceIn(value: JsonObject, mark: string): Json | undefined {
  return Object.keys(value).length === 1 ? value[mark] : undefined;
}

function lookUp(reference: Json, results: readonly Json[]): Json {
  const [, step, pointer = ''] = (typeof reference === 'string' && RESULT_REFERENCE.exec(reference)) || [];
  if (step === undefined) throw invalidReference(reference, 'is not of the form STEP/POINTER, such as 0/temperature');
  const result = results[Number(step)];
  if (result === undefined) throw invalidReference(reference, `points to step ${step}, which has not run before`);
  const found = valueAt(result, pointer);
  if (found === undefined) throw invalidReference(reference, `leads nowhere in the result of step ${step}`);
  return found;
}

function invalidReference(reference: Json, problem: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `The reference ${JSON.stringify(reference).slice(0, 80)} ${problem}`);
}
