import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool, ToolContext } from '../../tools/definition/tool-definition.ts';
import { copyJson, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import { innerCallsOf, type Step, type StepPipeline, StepRunner } from '../composition/steps.ts';

const NAME = 'sequence';
const MAX_STEPS = 16;

/** The pipeline that the steps go through; a function since the tool is registered in the registry that the pipeline uses. */
type Pipeline = () => StepPipeline;

/**
 * Calls of several tools, one after the other, with results of earlier steps as parameters of later ones. Each step is a call like any
 * other: permission, rules, approval and audit are its own.
 */
export function sequenceTool(pipeline: Pipeline): RegisteredTool {
  const tool = defineTool(
    {
      name: NAME,
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
    async ({ steps }, context) => runSteps(pipeline(), steps.map(stepOf), context),
  );
  return { ...tool, innerCalls: (params) => innerCallsOf(stepsOfParams(params), {}) };
}

/** Of parameters that fit the schema; none where they are not known. */
function stepsOfParams({ steps = [] }: JsonObject = {}): readonly Step[] {
  return Array.isArray(steps)
    ? steps.filter(isJsonObject).map(({ tool, params }) => ({ tool: String(tool), params: isJsonObject(params) ? params : {} }))
    : [];
}

function stepOf({ tool, params }: { readonly tool: string; readonly params?: JsonObject }): Step {
  if (tool.split('@')[0]?.split(':').at(-1) === NAME) {
    throw new AtmoError('VALIDATION_ERROR', 'A sequence cannot hold another one; put its steps into the list');
  }
  return { tool, params: params ?? {} };
}

async function runSteps(pipeline: StepPipeline, steps: readonly Step[], context: ToolContext): Promise<Json> {
  const { results, failed } = await new StepRunner(pipeline).run(steps, { context });
  if (!failed) return { completed: results.length, results };
  return { completed: results.length, results, failed: { ...failed, error: copyJson({ ...failed.error }, RESULT_LIMITS) } };
}
