import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { type Base64Field, base64Fields, mapBase64, mentionsBase64 } from '../../codec/base64.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema, objectOf, present } from '../../core/json.ts';
import { type Command, HUB_OPTION, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import { approvalAdvice, errorOf, type Query, withQuery } from '../hub/hub-client.ts';
import { parseJsonObject, readInput } from '../input.ts';
import type { Printable } from '../terminal/blocks.ts';
import { textPairs, textTable } from '../terminal/text-table.ts';
import { progressLine, requestCommand, typedParams } from '../tool-command.ts';
import { rehearsalText } from './rehearsal.ts';
import { membersText } from './scenes.ts';

export const call: Command = {
  name: 'call',
  summary: 'call a tool by name',
  examples: [
    'call living_room_lamp_set_brightness brightness=40',
    `call living_room_lamp_set_brightness --params '{"brightness": 40}' --json`,
    'call bedroom_blind_open --async',
    'call front_door_unlock --wait-for-approval',
    'call front_door_unlock --dry-run',
    'call get_camera_frame camera_id=door --output door.jpg',
    'call analyze_image image=@door.jpg',
  ],
  operands: [
    { name: 'TOOL', help: 'tool name, as atmo tools lists it' },
    {
      name: 'KEY=VALUE',
      help: "parameters, typed by the tool's schema; KEY=@FILE takes a file, KEY=@- stdin, KEY=@@x the text @x",
      isOptional: true,
      isRepeated: true,
    },
  ],
  options: {
    params: { value: 'JSON', help: 'parameters as a JSON object, as @file, or - for stdin' },
    output: { value: 'FILE', help: 'a new file for the bytes of the answer, such as a picture' },
    async: { help: 'answer with a job at once (atmo jobs ID tells its result)' },
    'wait-for-approval': { help: 'if a person has to approve the call, wait as a job that runs when that person approves' },
    'dry-run': { help: 'only tell what the call would do: nothing runs, and nobody is asked for an approval' },
    timeout: { value: 'MS', help: 'deadline in milliseconds' },
    ...HUB_OPTION,
    'max-hops': { value: 'N', help: 'over at most N hubs; 0 for this one alone' },
    'idempotency-key': { value: 'KEY', help: 'a repeat with the same key does not act twice' },
  },
  async run(invocation) {
    const tool = invocation.operand(0);
    const file = invocation.text('output');
    const waits = invocation.isSet('wait-for-approval');
    const isJob = invocation.isSet('async') || waits;
    if (file !== undefined && isJob)
      throw usage(
        'Use --output without --async and --wait-for-approval: a job has its answer later, which atmo jobs ID --output FILE writes',
      );
    if (invocation.isSet('dry-run')) return dryRun(invocation, tool);
    if (file !== undefined) requireNewFile(file);
    const { params, reportsProgress, returns } = await prepare(invocation, tool);
    if (file !== undefined && !mentionsBase64(returns)) throw usage(`${tool} answers no bytes; --json tells all of what it answers`);
    const query = { async: isJob || undefined, wait_for_approval: waits || undefined, hop_limit: invocation.integer('max-hops') };
    const path = invokePath(tool, query);
    const timeoutMs = invocation.integer('timeout')?.toString();
    const headers = present({ 'idempotency-key': invocation.text('idempotency-key'), 'x-timeout-ms': timeoutMs });
    const answer = await invocation.output.during(`Calling ${tool}`, ({ step }) => {
      const onChunk = (chunk: JsonObject) => {
        const line = progressLine(chunk);
        if (line !== '') step(line);
      };
      return invocation.hub.invoke(path, params, { headers, ...(reportsProgress && !isJob && { onChunk }) });
    });
    if (answer.status === 'error') return invocation.output.fail(errorOf(answer, 0), answer);
    const result = answer.result ?? null;
    if (file !== undefined) await writeAnswerBytes(file, base64Fields(returns, result));
    invocation.output.answer(answer, () => (isJob ? jobText(answer) : resultText(withoutBytes(result, returns, file), answer.trace_id)));
  },
};

async function dryRun(invocation: Invocation, tool: string): Promise<undefined> {
  const { params } = await prepare(invocation, tool);
  const answer = await invocation.hub.invoke(invokePath(tool, { rehearse: true }), params, { headers: {} });
  invocation.output.answer(answer, () => rehearsalText(answer));
}

function invokePath(tool: string, query: Query): string {
  return withQuery(`/api/v1/tools/${encodeURIComponent(tool)}/invoke`, query);
}

/** Returns the call's parameters. If the tool's definition was loaded, also returns its result schema and whether it reports progress. */
async function prepare(invocation: Invocation, tool: string) {
  const words = invocation.operands.slice(1);
  const given = invocation.text('params');
  if (given !== undefined && words.length > 0) throw usage('Use either key=value words or --params, not both');
  const params = given === undefined ? {} : parseJsonObject(await readInput(given, invocation.io), '--params');
  const needsDefinition = words.length > 0 || invocation.text('output') !== undefined || invocation.output.isWatched;
  if (!needsDefinition) return { params, reportsProgress: false, returns: {} };
  const definition = await invocation.hub.get(`/api/v1/tools/${encodeURIComponent(tool)}`, { node: invocation.text('hub') });
  return {
    params: words.length === 0 ? params : await typedParams(words, definition, invocation.io),
    reportsProgress: objectOf(definition.execution).stream_supported === true,
    returns: objectOf(definition.returns),
  };
}

/** Returns the result and the trace id of a call, which `atmo undo` takes. */
function resultText(result: Json, trace: Json | undefined): Printable {
  const shownTrace = textPairs({ trace });
  if (!isJsonObject(result)) return [`${JSON.stringify(result, null, 2)}\n`, shownTrace];
  const members = membersText(result);
  if (members === undefined) return 'trace' in result ? [textPairs(result), shownTrace] : textPairs({ ...result, trace });
  return [members, shownTrace].flat();
}

function jobText(job: JsonObject): string {
  const { job_id: id, status, waits_until: until } = job;
  if (status === 'waiting')
    return `job ${id} waits${until === undefined ? '' : ` until ${until}`} and runs when it is approved: ${approvalAdvice(job)}; "atmo jobs ${id}" tells its result\n`;
  return `job ${id} is ${status}; "atmo jobs ${id}" tells its result\n`;
}

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
  },
};

export const jobCancel = requestCommand({
  name: 'job cancel',
  summary: 'cancel a job',
  examples: ['job cancel 4f0c8d'],
  operands: [{ name: 'JOB', help: 'job id' }],
  request: ({ hub, operands: [id = ''] }) => hub.delete(`/api/v1/jobs/${encodeURIComponent(id)}`),
  text: (job) => `job ${job.job_id} is ${job.status}\n`,
});

async function one(call: Invocation, id: string): Promise<void> {
  const file = call.text('output');
  if (file !== undefined) requireNewFile(file);
  const job = await call.hub.get(`/api/v1/jobs/${encodeURIComponent(id)}`);
  const { status, result } = job;
  if (file !== undefined && result === undefined)
    throw new AtmoError('CONFLICT', `The job ${id} is ${status} and has no result to write into ${file}`, { job_id: id });
  const isShown = result !== undefined && (file !== undefined || !call.output.isJson);
  const returns = isShown ? await returnsOf(call.hub, job) : {};
  if (file !== undefined) await writeAnswerBytes(file, base64Fields(returns, result ?? null));
  call.output.answer(job, () => textPairs({ ...job, ...(result !== undefined && { result: withoutBytes(result, returns, file) }) }));
}

/** Returns the schema of a job's result. Returns an empty schema if the tool no longer exists. */
async function returnsOf(hub: Invocation['hub'], { tool, node_id: node }: JsonObject): Promise<JsonObject> {
  try {
    const query = typeof node === 'string' ? { node } : {};
    const { returns } = await hub.get(`/api/v1/tools/${encodeURIComponent(String(tool))}`, query);
    return objectOf(returns);
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'TOOL_NOT_FOUND') return {};
    throw error;
  }
}

function jobRow(job: JsonObject): readonly unknown[] {
  return [job.job_id, job.tool, job.status ?? 'unknown', objectOf(job.progress).note, job.node_id];
}

/** Maximum length in characters of a base64 text that is printed. A longer text is shown as its size in bytes. */
const MAX_SHOWN = 256;

/** Throws CONFLICT if the file exists, because the command would overwrite it. */
function requireNewFile(file: string): void {
  if (existsSync(file)) throw new AtmoError('CONFLICT', `${file} cannot be written: it exists already; name another file`, { path: file });
}

/**
 * Writes the binary data in a result to a new file. Throws NOT_FOUND if the result has no binary data, CONFLICT if it has several, and
 * STORAGE_FAILED if the file cannot be written.
 */
async function writeAnswerBytes(file: string, places: readonly Base64Field[]): Promise<void> {
  const [place, ...more] = places;
  if (!place) throw new AtmoError('NOT_FOUND', `The answer has no bytes for ${file}; --json tells all of it`);
  if (more.length > 0) {
    const names = places.map(({ path }) => path.join('.')).join(', ');
    throw new AtmoError('CONFLICT', `The answer has bytes in ${names}, and ${file} can hold one of them; --json tells them all`);
  }
  await writeFile(file, Buffer.from(place.text, 'base64'), { flag: 'wx' }).catch((cause: NodeJS.ErrnoException) => {
    throw new AtmoError('STORAGE_FAILED', `${file} cannot be written: ${cause.message}`, { path: file }, { cause });
  });
}

/** Returns the result for people. Shows base64 texts as their size in bytes. Without a `file`, shows short base64 texts unchanged. */
function withoutBytes(value: Json, returns: JsonSchema, file: string | undefined): Json {
  const where = file === undefined ? '; --output FILE writes them into a file' : ` in ${file}`;
  return mapBase64(returns, value, ({ text }) => {
    const isHidden = file !== undefined || text.length > MAX_SHOWN;
    return isHidden ? `${Buffer.byteLength(text, 'base64')} bytes${where}` : text;
  });
}
