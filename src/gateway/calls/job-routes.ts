import { json } from '../door/answer.ts';
import { field } from '../door/query.ts';
import { defineRoute, type Route } from '../door/route.ts';
import type { JobPort } from '../ports.ts';

/** Calls that run as jobs. */
export function jobRoutes(jobs: JobPort): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/jobs',
      summary:
        "The caller's jobs, newest first: those on this hub, then those that it started on others, with node_id; `unreachable` are those of which nothing can be told now",
      query: {
        status: field.choice('only jobs in this state', ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired']),
        limit: field.integer('at most this many', 1, 1_000),
      },
      answers: { 200: { description: 'jobs', schema: { $ref: '#/components/schemas/Jobs' } } },
      async handle(request, query) {
        const elsewhere = await jobs.listElsewhere(request);
        const all = [...jobs.list(request.principal), ...elsewhere.jobs];
        const shown = all.filter((job) => query.status === undefined || job.status === query.status);
        const { unreachable } = elsewhere;
        return json({ jobs: shown.slice(0, query.limit ?? 100), ...(unreachable.length > 0 && { unreachable }) });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/jobs/:id',
      summary: 'State, progress and result of a job, on whichever hub it runs',
      answers: { 200: { description: 'job', schema: { $ref: '#/components/schemas/Job' } } },
      handle: async (request) => json(await jobs.status(request.path.id ?? '', request)),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/jobs/:id',
      summary: 'Cancel a job; what has been sent to a device may still take effect',
      scope: 'invoke_tool',
      answers: { 200: { description: 'job, as it is now', schema: { $ref: '#/components/schemas/Job' } } },
      handle: async (request) => json(await jobs.cancel(request.path.id ?? '', request)),
    }),
  ];
}
