import { AtmoError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { JobView } from '../../../tools/calls/jobs/job-store.ts';
import type { KnownTools } from '../../../tools/elsewhere/known-tools.ts';
import type { JobPort } from '../../ports.ts';
import type { McpCaller, McpFeature } from '../mcp-feature.ts';
import { outcomeOf, TASKS, takesTasks, taskOf } from './task-view.ts';
import { errorResult, toolResult } from './tool-result.ts';

interface TaskParts {
  readonly jobs: Pick<JobPort, 'status' | 'cancel'>;
  readonly tools: Pick<KnownTools, 'get'>;
  readonly clock: Clock;
}

/** `tasks/get`, `tasks/update` and `tasks/cancel` (extension io.modelcontextprotocol/tasks, SEP-2663): a task is a job of the caller. */
export function taskFeature({ jobs, tools, clock }: TaskParts): McpFeature {
  const jobOf = (params: JsonObject, caller: McpCaller) => jobs.status(idIn(params, caller), caller);
  /** What the call would have been answered with at once. */
  const resultOf = (job: JobView): JsonObject => {
    const outcome = outcomeOf(job);
    if (outcome.status === 'success') return toolResult(tools.get(job.tool), outcome.result);
    return errorResult(outcome.error, { era: 'modern', listing: 'open' });
  };
  return {
    capabilities: { extensions: { [TASKS]: {} } },
    methods: {
      'tasks/get': async (params, caller) => ({ ...taskOf(await jobOf(params, caller), clock.now(), resultOf), resultType: 'complete' }),
      // No task of ours waits for input: an answer to nothing is acknowledged and forgotten.
      'tasks/update': async (params, caller) => {
        await jobOf(params, caller);
        return { resultType: 'complete' };
      },
      'tasks/cancel': async (params, caller) => {
        await jobs.cancel(idIn(params, caller), caller);
        return { resultType: 'complete' };
      },
    },
  };
}

/** JOB_NOT_FOUND for what cannot be an id; NOT_SUPPORTED for a client that did not say that it takes tasks. */
function idIn({ taskId }: JsonObject, { clientCapabilities }: McpCaller): string {
  if (!takesTasks(clientCapabilities)) {
    throw new AtmoError('NOT_SUPPORTED', `Say with each request that the client has the extension ${TASKS}`, {
      extension: TASKS,
      client_capabilities: { extensions: { [TASKS]: {} } },
    });
  }
  if (typeof taskId === 'string' && taskId.length <= 64) return taskId;
  throw new AtmoError('JOB_NOT_FOUND', 'The parameter taskId is missing, or is no id of a task');
}
