import { AtmoError, type ErrorBody, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, valueAt } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { InnerCall, RegisteredTool, ToolContext } from '../../tools/definition/tool-definition.ts';
import { copyJson, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import type { CallRequest, ToolCaller } from '../request-and-answer.ts';

/** One call that a composed tool or a sequence makes. Its parameters may refer to results of earlier steps. */
export interface Step {
  readonly tool: string;
  readonly params: JsonObject;
}

/** The results of the successful steps in order, and the failed step if there is one. */
export interface StepsOutcome {
  readonly results: readonly Json[];
  readonly failed?: { readonly step: number; readonly tool: string; readonly error: ErrorBody };
}

interface StepContext {
  /** The context of the running call to which the steps belong. */
  readonly context: ToolContext;
  /** The values for `$param`; if absent, `$param` has no special meaning. */
  readonly params?: JsonObject;
}

/** The part of the pipeline that runs and checks the steps. */
export type StepPipeline = Pick<ToolCaller, 'call' | 'preflight' | 'preflightTool'>;

/**
 * First checks all steps. If a step would be refused or needs an approval, throws that step's error, with `step` in the details, and
 * nothing runs. Then runs the steps in order for the caller of the composed tool, until a step fails. Each step is a normal call with its
 * own permission check, rules, approval and audit.
 */
export async function runSteps(pipeline: StepPipeline, steps: readonly Step[], within: StepContext): Promise<StepsOutcome> {
  for (const [index, step] of steps.entries()) {
    const error = await refusalOf(pipeline, step, within);
    if (error) throw refusedStep(error, `Step ${index + 1} of ${steps.length} (${step.tool})`, index);
  }
  const results: Json[] = [];
  for (const [index, step] of steps.entries()) {
    within.context.progress(index / steps.length, `Step ${index + 1} of ${steps.length}: ${step.tool}`);
    const outcome = await runStep(pipeline, step, { ...within, results });
    if ('error' in outcome) return { results, failed: { step: index, tool: step.tool, error: outcome.error } };
    results.push(outcome.result);
  }
  return { results };
}

async function refusalOf(pipeline: StepPipeline, step: Step, { context, params }: StepContext): Promise<ErrorBody | undefined> {
  const known = knownParams(step, params);
  const request = requestOf({ ...step, params: known ?? {} }, context);
  const verdict = await (known ? pipeline.preflight(request) : pipeline.preflightTool(request));
  return verdict.allowed ? undefined : verdict.error;
}

function refusedStep({ code, message, details }: ErrorBody, which: string, step: number): AtmoError {
  const why = code === 'APPROVAL_REQUIRED' ? 'waits for approval' : 'would be refused';
  return new AtmoError(code, `${which} ${why}, so no step ran: ${message}`, { ...details, step });
}

/** Runs one step. Returns a failure instead of throwing it, because the caller also needs the results of the earlier steps. */
async function runStep(
  pipeline: StepPipeline,
  step: Step,
  { context, ...sources }: StepContext & { readonly results: readonly Json[] },
): Promise<{ readonly result: Json } | { readonly error: ErrorBody }> {
  try {
    const answer = await pipeline.call(requestOf({ ...step, params: filled(step, sources) }, context));
    return answer.status === 'error' ? { error: answer.error } : { result: answer.result };
  } catch (thrown) {
    return { error: toAtmoError(thrown).toBody() };
  }
}

/** Returns the calls that the steps will make, for checks in advance. Without `given`, the parameters count as unknown. */
export function innerCallsOf(steps: readonly Step[], given: Pick<StepContext, 'params'> | undefined): readonly InnerCall[] {
  return steps.map((step) => {
    const known = given && knownParams(step, given.params);
    return { tool: step.tool, ...(known ? { params: known } : { written: step.params }) };
  });
}

/** Returns the parameters of the step; undefined if they depend on results of earlier steps. */
function knownParams(step: Step, params: JsonObject | undefined): JsonObject | undefined {
  return hasReferences(step.params) ? undefined : filled(step, { results: [], ...(params && { params }) });
}

function filled(step: Step, sources: Parameters<typeof fillReferences>[1]): JsonObject {
  return objectOf(fillReferences(step.params, sources));
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

/** Key of a reference to the result of an earlier step: `{"$result": "0/state/is_on"}`. */
const RESULT_KEY = '$result';
/** Key of a reference to a parameter of the composed tool: `{"$param": "level"}`. */
const PARAM_KEY = '$param';
const RESULT_REFERENCE = /^(\d{1,2})((?:\/[^/]*)*)$/;

/** The values to which references can point. Without `params`, `$param` has no special meaning. */
export interface ReferenceSources {
  readonly results: readonly Json[];
  readonly params?: JsonObject;
}

/** Returns whether a value contains a reference to a result. */
export function hasReferences(value: Json): boolean {
  return referencesWith(value, RESULT_KEY).length > 0;
}

/** Counts the references to results in a value. Each reference inserts a copy of a result. */
export function countReferences(value: Json): number {
  return referencesWith(value, RESULT_KEY).length;
}

/** Returns the indexes of the steps whose results a value uses. */
export function referencedSteps(value: Json): readonly number[] {
  return referencesWith(value, RESULT_KEY).map((reference) => Number.parseInt(String(reference), 10));
}

/** Returns the names of the parameters to which a value refers. A malformed reference is returned as JSON text. */
export function referencedParameters(value: Json): readonly string[] {
  return referencesWith(value, PARAM_KEY).map((name) => (typeof name === 'string' ? name : JSON.stringify(name)));
}

/** Returns the parameter's name if the whole value is a reference to one parameter; otherwise undefined. */
export function parameterOf(value: Json | undefined): string | undefined {
  const name = isJsonObject(value) ? referenceIn(value, PARAM_KEY) : undefined;
  return typeof name === 'string' ? name : undefined;
}

/**
 * Returns a copy of a value in which each reference is replaced by its target. The value of `$result` is a step number and a JSON pointer
 * (RFC 6901) into that step's result; the value of `$param` is a parameter's name. A field or item is omitted if its parameter was not
 * given. References in inserted values are not replaced. Throws VALIDATION_ERROR if a step has not run or a pointer has no target.
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

/** Returns the values of all references with this mark. */
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

/** Name of the sequence tool. A composed tool cannot call it as a step, because the inner calls would be hidden in the parameters. */
export const SEQUENCE = 'sequence';
const MAX_STEPS = 16;

/**
 * Returns the tool `sequence`, which calls several tools in order and can use results of earlier steps as parameters. `pipeline` is a
 * function because the pipeline is created after the registry that contains this tool.
 */
export function sequenceTool(pipeline: () => StepPipeline): RegisteredTool {
  const tool = defineTool(
    {
      name: SEQUENCE,
      isDestructive: true,
      title: 'Sequence of calls',
      description:
        'Calls up to 16 tools one after the other and stops at the first that fails; what ran before stays done. Every step that can be judged beforehand is judged before the first one runs. A parameter {"$result": "0/temperature"} takes a value from the result of step 0 by JSON pointer.',
      category: 'managing',
      permissions: ['sequence:run'],
      hasSideEffects: true,
      isAsyncAllowed: true,
      isStreamSupported: true,
      timeoutMs: 120_000,
      parameters: {
        steps: p.array(
          p.object(
            {
              tool: p.string({ description: 'Name of the tool', minLength: 1, maxLength: 160 }),
              params: p.record({ description: 'Its parameters', secretMembers: true }).optional(),
            },
            { description: 'One call' },
          ),
          { description: 'The calls in order', minItems: 1, maxItems: MAX_STEPS },
        ),
      },
      returns: {
        type: 'object',
        required: ['completed', 'results'],
        properties: {
          completed: { type: 'integer', description: 'Steps that succeeded' },
          results: { type: 'array', 'x-secret-members': true, description: 'Their results, in order' },
          failed: { type: 'object', description: 'The step that failed, with its error; absent when all succeeded' },
        },
      },
      examples: [
        {
          description: 'Read the time, then answer it',
          params: { steps: [{ tool: 'current_time' }, { tool: 'echo', params: { value: { $result: '0/utc' } } }] },
        },
      ],
    },
    async ({ steps }, context) => runSequence(pipeline(), steps.map(stepOf), context),
  );
  return { ...tool, innerCalls: (params) => innerCallsOf(stepsOfParams(params), {}) };
}

/** Returns the steps in valid parameters of the sequence tool; an empty list if the parameters are unknown. */
function stepsOfParams({ steps = [] }: JsonObject = {}): readonly Step[] {
  return Array.isArray(steps)
    ? steps.filter(isJsonObject).map(({ tool, params }) => ({ tool: String(tool), params: objectOf(params) }))
    : [];
}

function stepOf({ tool, params }: { readonly tool: string; readonly params?: JsonObject }): Step {
  if (tool.split('@')[0]?.split(':').at(-1) === SEQUENCE) {
    throw new AtmoError('VALIDATION_ERROR', 'A sequence cannot hold another one; put its steps into the list');
  }
  return { tool, params: params ?? {} };
}

async function runSequence(pipeline: StepPipeline, steps: readonly Step[], context: ToolContext): Promise<Json> {
  const { results, failed } = await runSteps(pipeline, steps, { context });
  if (!failed) return { completed: results.length, results };
  return { completed: results.length, results, failed: { ...failed, error: copyJson({ ...failed.error }, RESULT_LIMITS) } };
}
