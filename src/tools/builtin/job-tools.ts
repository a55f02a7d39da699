import type { Json } from '../../core/json.ts';
import type { JobView } from '../calls/jobs/job-store.ts';
import { defineTool } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import type { KnownJobs } from '../elsewhere/known-jobs.ts';
import { p } from '../schema/parameter-builder.ts';
import { copyJson, RESULT_LIMITS } from '../schema/plain-json.ts';

const returns = {
  type: 'object',
  required: ['job_id', 'tool', 'status'],
  properties: {
    job_id: { type: 'string' },
    tool: { type: 'string' },
    status: { enum: ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] },
  },
};
const parameters = { job_id: p.string({ description: 'Id that the asynchronous call answered with', maxLength: 64 }) };

/** `job_status` and `job_cancel` (source 000 §4): a job belongs to who started it, nobody else can tell that it exists. */
export function jobTools(jobs: Pick<KnownJobs, 'status' | 'cancel'>): readonly RegisteredTool[] {
  const status = defineTool(
    {
      name: 'job_status',
      title: 'Job status',
      description: 'Tells how far an asynchronous call of yours is, and its result or error when it is done.',
      category: 'managing',
      hasSideEffects: false,
      parameters,
      returns,
    },
    async ({ job_id: id }, context) => viewJson(await jobs.status(id, context)),
  );
  const cancel = defineTool(
    {
      name: 'job_cancel',
      title: 'Cancel job',
      description: 'Asks an asynchronous call of yours to stop. What it has already done stays done; a finished job stays as it is.',
      category: 'managing',
      hasSideEffects: true,
      isIdempotent: true,
      permissions: ['job:cancel'],
      parameters,
      returns,
    },
    async ({ job_id: id }, context) => viewJson(await jobs.cancel(id, context)),
  );
  return [status, cancel];
}

function viewJson(view: JobView): Json {
  return copyJson({ ...view }, RESULT_LIMITS);
}
