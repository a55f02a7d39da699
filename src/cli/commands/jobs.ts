import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { Command } from '../command.ts';
import { objectsIn } from '../hub/json-list.ts';
import { textPairs, textTable } from '../terminal/text-table.ts';

export const jobs: Command = {
  name: 'jobs',
  summary: 'list the jobs, or tell the state and result of one',
  examples: ['jobs', 'jobs 4f0c8d'],
  operands: [{ name: 'JOB', help: 'job id', isOptional: true }],
  async run({ hub, output, operands: [id] }) {
    if (id !== undefined) {
      const job = await hub.get(`/api/v1/jobs/${encodeURIComponent(id)}`);
      output.answer(job, () => textPairs(job));
      return undefined;
    }
    const answer = await hub.get('/api/v1/jobs');
    const known = [...objectsIn(answer, 'jobs'), ...objectsIn(answer, 'unreachable')];
    output.answer(answer, () => textTable(['JOB', 'TOOL', 'STATUS', 'PROGRESS', 'HUB'], known.map(jobRow)));
    return undefined;
  },
};

export const jobCancel: Command = {
  name: 'job cancel',
  summary: 'cancel a job',
  examples: ['job cancel 4f0c8d'],
  operands: [{ name: 'JOB', help: 'job id' }],
  async run({ hub, output, operands: [id = ''] }) {
    const job = await hub.delete(`/api/v1/jobs/${encodeURIComponent(id)}`);
    output.answer(job, () => `job ${job.job_id} is ${job.status}\n`);
    return undefined;
  },
};

function jobRow(job: JsonObject): readonly unknown[] {
  const progress = isJsonObject(job.progress) ? job.progress : {};
  return [job.job_id, job.tool, job.status ?? 'unknown', progress.note, job.node_id];
}
