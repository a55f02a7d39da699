import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, objectsOf } from '../core/json.ts';
import { type Command, type Invocation, usage } from './command.ts';
import { codeIn } from './hub/hub-client.ts';
import type { Printable } from './terminal/blocks.ts';
import { cellText, textPairs, textTable } from './terminal/text-table.ts';

/** A command that sends one request and prints the answer. */
interface RequestCommand<Answer> extends Omit<Command, 'run'> {
  request(call: Invocation): Promise<Answer>;
  /** The answer for people. */
  text(answer: Answer, call: Invocation): Printable;
}

/** Makes a command that sends one request: the answer as JSON for programs, as text for people. */
export function requestCommand<Answer>({ request, text, ...command }: RequestCommand<Answer>): Command {
  return {
    ...command,
    async run(call) {
      const answer = await request(call);
      call.output.answer(answer, () => text(answer, call));
    },
  };
}

/** A command that is one call of an administration tool of the hub. */
export interface ToolCommand extends Omit<Command, 'run'> {
  readonly tool: string;
  /** Parameters besides those of operands and options with `param`. */
  params?(call: Invocation): JsonObject | Promise<JsonObject>;
  /** Members to show in a table when the result is a list. */
  readonly columns?: readonly string[];
  /** The members to show, instead of those of the result. */
  shown?(result: JsonObject): JsonObject;
  /** A text to show instead of the members of the result. */
  sentence?(result: JsonObject, call: Invocation): string;
}

/** Makes the command of a tool; the tool does the checks and the errors. */
export function toolCommand({ tool, params, columns, shown, sentence, ...command }: ToolCommand): Command {
  return requestCommand({
    ...command,
    async request(call) {
      const given = { ...namedParams(command, call), ...(await params?.(call)) };
      return call.output.during(`atmo ${command.name}`, () => call.hub.call(tool, given));
    },
    text(result, call) {
      if (sentence && isJsonObject(result)) return `${sentence(result, call)}\n`;
      return resultText(shown && isJsonObject(result) ? shown(result) : result, columns);
    },
  });
}

/** The parameters of operands and options with `param`; absent for those that were not given. */
function namedParams({ operands = [], options = {} }: Pick<Command, 'operands' | 'options'>, call: Invocation): JsonObject {
  const texts = operands.map(({ param }, index) => [param, call.operands[index]] as const);
  const values = Object.entries(options).map(
    ([name, { param, value }]) => [param, value === undefined ? call.isSet(name) : call.text(name)] as const,
  );
  const given = [...texts, ...values].flatMap(([param, value]) =>
    param === undefined || value === undefined ? [] : [[param, value] as const],
  );
  return Object.fromEntries(given);
}

function resultText(result: Json, columns: readonly string[] | undefined): Printable {
  if (isJsonObject(result))
    return textPairs(Object.fromEntries(Object.entries(result).map(([name, value]) => [name, endpointsInShort(value)])));
  const items = objectsOf(result);
  const shown = columns ?? [...new Set(items.flatMap((item) => Object.keys(item)))];
  const headings = shown.map((column) => column.toUpperCase());
  const rows = items.map((item) => shown.map((column) => endpointsInShort(item[column])));
  return textTable(headings, rows);
}

/** A list of endpoints the way people type them, `lamp/1, blind/2`; anything else as it is. */
function endpointsInShort(value: Json | undefined): Json | undefined {
  const texts = endpointTexts(value);
  return Array.isArray(value) && texts.length === value.length ? texts : value;
}

/** The endpoints of a list the way people type them. */
export function endpointTexts(value: Json | undefined): readonly string[] {
  return objectsOf(value).flatMap(({ device, endpoint }) =>
    typeof device === 'string' && endpoint !== undefined ? `${device}/${endpoint}` : [],
  );
}

/** The whole number at an operand; the error has the operand's name. */
export function integerOperand(call: Invocation, index: number, name: string): number {
  const text = call.operand(index);
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usage(`${name} has to be a whole number, not ${JSON.stringify(text)}`);
}

/** `DEVICE` or `DEVICE/ENDPOINT`; endpoint 1 by default. */
export function parseEndpoint(text: string): { device_id: string; endpoint: number } {
  const match = /^([^/]+)(?:\/(\d{1,5}))?$/.exec(text);
  if (match?.[1] === undefined) throw usage(`${JSON.stringify(text)} has to be DEVICE or DEVICE/PART`);
  return { device_id: match[1], endpoint: Number(match[2] ?? '1') };
}

const POLL_MS = 250;

/** Follows a job to its end with its steps on stderr; returns its result or throws its error. */
export function followJob({ hub, output, io }: Invocation, jobId: string, what: string): Promise<JsonObject> {
  return output.during(what, async ({ step }) => {
    let shown = '';
    for (;;) {
      const job = await hub.get(`/api/v1/jobs/${encodeURIComponent(jobId)}`);
      const line = progressLine(job.progress);
      if (line !== shown && line !== '') step(line);
      shown = line;
      if (job.status !== 'queued' && job.status !== 'running') return resultOf(job);
      await io.sleep(POLL_MS);
    }
  });
}

/** The progress of a job, as ` 40 % note`; empty without any. */
export function progressLine(progress: unknown): string {
  if (!isJsonObject(progress)) return '';
  const percent = typeof progress.fraction === 'number' ? `${Math.round(progress.fraction * 100)} %`.padStart(5) : '';
  return `${percent} ${typeof progress.note === 'string' ? cellText(progress.note) : ''}`.trimEnd();
}

function resultOf(job: JsonObject): JsonObject {
  if (job.status === 'succeeded') return isJsonObject(job.result) ? job.result : { result: job.result ?? null };
  const error = objectOf(job.error);
  const otherwise = job.status === 'expired' ? 'JOB_NOT_FOUND' : 'CANCELLED';
  const message = typeof error.message === 'string' ? error.message : `The job ${job.job_id} ended as ${job.status}`;
  throw new AtmoError(codeIn(error) ?? otherwise, message, objectOf(error.details));
}
