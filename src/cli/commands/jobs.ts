import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { base64Places } from '../../wire/base64-places.ts';
import { requireFree, withoutBytes, writeBytes } from '../answer-bytes.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/json-list.ts';
import { textPairs, textTable } from '../terminal/text-table.ts';

export const jobs: Command = {
  name: 'jobs',
  summary: 'list the jobs, or tell the state and result of one',
  examples: ['jobs', 'jobs 4f0c8d', 'jobs 4f0c8d --output door.jpg'],
  operands: [{ name: 'JOB', help: 'job id', isOptional: true }],
  options: { output: { value: 'FILE', help: "with JOB: a new file for the bytes of the job's result, such as a picture" } },
  async run(call) {
    const { hub, output } = call;
    const [id] = call.operands;
    if (id !== undefined) return one(call, id);
    if (call.text('output') !== undefined) throw usage('--output is about one JOB; name it');
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

async function one(call: Invocation, id: string): Promise<undefined> {
  const file = call.text('output');
  if (file !== undefined) requireFree(file);
  const job = await call.hub.get(`/api/v1/jobs/${encodeURIComponent(id)}`);
  const { status, result } = job;
  if (file !== undefined && result === undefined)
    throw new AtmoError('CONFLICT', `The job ${id} is ${status} and has no result to write into ${file}`, { job_id: id });
  const isShown = result !== undefined && (file !== undefined || !call.output.isJson);
  const returns = isShown ? await returnsOf(call.hub, job) : {};
  if (file !== undefined) await writeBytes(file, base64Places(returns, result ?? null));
  call.output.answer(job, () => textPairs({ ...job, ...(result !== undefined && { result: withoutBytes(result, returns, file) }) }));
  return undefined;
}

/** Schema of a job's result; empty where its tool is gone since then. */
async function returnsOf(hub: Invocation['hub'], { tool, node_id: node }: JsonObject): Promise<JsonObject> {
  try {
    const query = typeof node === 'string' ? { node } : {};
    const { returns } = await hub.get(`/api/v1/tools/${encodeURIComponent(String(tool))}`, query);
    return isJsonObject(returns) ? returns : {};
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'TOOL_NOT_FOUND') return {};
    throw error;
  }
}

function jobRow(job: JsonObject): readonly unknown[] {
  const progress = isJsonObject(job.progress) ? job.progress : {};
  return [job.job_id, job.tool, job.status ?? 'unknown', progress.note, job.node_id];
}
