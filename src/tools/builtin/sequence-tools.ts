import { AtmoError, type ErrorBody, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { CallRequest } from '../calls/call-answer.ts';
import type { CallPipeline } from '../calls/call-pipeline.ts';
import { defineTool } from '../define-tool.ts';
import { p } from '../schema/parameter-builder.ts';
import { copyJson, RESULT_LIMITS } from '../schema/plain-json.ts';
import { fillReferences, hasReferences } from '../step-reference.ts';
import type { RegisteredTool, ToolContext } from '../tool-definition.ts';

const NAME = 'sequence';
const MAX_STEPS = 16;

interface Step {
  readonly tool: string;
  readonly params: JsonObject;
}

/** The pipeline that the steps go through; a function since the tool is registered in the registry that the pipeline uses. */
type Pipeline = () => Pick<CallPipeline, 'call' | 'preflight' | 'preflightTool'>;

/**
 * Calls of several tools, one after the other, with results of earlier steps as parameters of later ones (source 002 §8,
 * tool chaining). Each step is a call like any other: permission, rules, approval and journal are its own.
 */
export function sequenceTool(pipeline: Pipeline): RegisteredTool {
  return defineTool(
    {
      name: NAME,
      title: 'Sequence of calls',
      description:
        'Calls up to 16 tools one after the other and stops at the first that fails; what ran before stays done. Every step that can be judged beforehand is judged before the first one runs. A parameter {"$result": "0/temperature"} takes a value from the result of step 0 by JSON pointer.',
      category: 'managing',
      permissions: ['sequence:run'],
      hasSideEffects: true,
      isAsyncAllowed: true,
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
    async ({ steps }, context) => runSteps(pipeline(), steps.map(stepOf), context),
  );
}

function stepOf({ tool, params }: { readonly tool: string; readonly params?: JsonObject }): Step {
  if (tool.split('@')[0]?.split(':').at(-1) === NAME) {
    throw new AtmoError('VALIDATION_ERROR', 'A sequence cannot hold another one; put its steps into the list');
  }
  return { tool, params: params ?? {} };
}

async function runSteps(pipeline: ReturnType<Pipeline>, steps: readonly Step[], context: ToolContext): Promise<Json> {
  await judgeAll(pipeline, steps, context);
  const results: Json[] = [];
  for (const [index, step] of steps.entries()) {
    const outcome = await runStep(pipeline, step, { results, context });
    if ('error' in outcome) {
      const error = copyJson({ ...outcome.error }, RESULT_LIMITS);
      return { completed: index, results, failed: { step: index, tool: step.tool, error } };
    }
    results.push(outcome.result);
  }
  return { completed: steps.length, results };
}

type Outcome = { readonly result: Json } | { readonly error: ErrorBody };

/** What came before has happened and has to be told: a failure is an answer here. */
async function runStep(
  pipeline: ReturnType<Pipeline>,
  step: Step,
  { results, context }: { readonly results: readonly Json[]; readonly context: ToolContext },
): Promise<Outcome> {
  try {
    const params = fillReferences(step.params, results);
    const answer = await pipeline.call(requestOf({ ...step, params: isJsonObject(params) ? params : {} }, context));
    return answer.status === 'error' ? { error: answer.error } : { result: answer.result };
  } catch (thrown) {
    return { error: toAtmoError(thrown).toBody() };
  }
}

/** Nothing runs when a step is already known to be refused, or has to wait for people. */
async function judgeAll(pipeline: ReturnType<Pipeline>, steps: readonly Step[], context: ToolContext): Promise<void> {
  for (const [index, step] of steps.entries()) {
    const request = requestOf(step, context);
    const verdict = await (hasReferences(step.params) ? pipeline.preflightTool(request) : pipeline.preflight(request));
    if (verdict.allowed) continue;
    const { code, message, details } = verdict.error;
    throw new AtmoError(code, `Step ${index} (${step.tool}) would be refused, so no step ran: ${message}`, { ...details, step: index });
  }
}

function requestOf({ tool, params }: Step, context: ToolContext): CallRequest {
  const { principal, traceId, sessionId, signal } = context;
  return { principal, tool, params, traceId, sessionId, signal, within: context };
}
