import { setTimeout as delay } from 'node:timers/promises';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { type Command, type Invocation, type OperandSpec, type OptionSpec, usage } from './command.ts';
import { codeIn } from './hub/hub-client.ts';
import type { Printable } from './terminal/blocks.ts';
import { cellText, textPairs, textTable } from './terminal/text-table.ts';

/** A verb that is one call of an administration tool of the hub. */
export interface ToolCommand {
  readonly name: string;
  readonly summary: string;
  /** The tool that does it. */
  readonly tool: string;
  readonly operands?: readonly OperandSpec[];
  readonly options?: Readonly<Record<string, OptionSpec>>;
  readonly examples?: readonly string[];
  /** The tool's parameters from the command line. */
  params(call: Invocation): JsonObject | Promise<JsonObject>;
  /** Members to show in a table when the result is a list. */
  readonly columns?: readonly string[];
  /** The members as people read them, instead of those of the result. */
  shown?(result: JsonObject): JsonObject;
  /** What people are told instead of the members of the result. */
  sentence?(result: JsonObject, call: Invocation): string;
}

/** The command of a verb: thin, since checks, permissions and answers are the tool's. */
export function toolCommand(verb: ToolCommand): Command {
  const { name, summary, operands, options, examples } = verb;
  return {
    name,
    summary,
    ...(operands && { operands }),
    ...(options && { options }),
    ...(examples && { examples }),
    async run(call) {
      const params = await verb.params(call);
      const result = await call.output.during(`atmo ${name}`, () => call.hub.call(verb.tool, params));
      call.output.answer(result, () =>
        verb.sentence && isJsonObject(result)
          ? `${verb.sentence(result, call)}\n`
          : resultText(verb.shown && isJsonObject(result) ? verb.shown(result) : result, verb),
      );
      return undefined;
    },
  };
}

function resultText(result: Json, { columns }: ToolCommand): Printable {
  if (isJsonObject(result))
    return textPairs(Object.fromEntries(Object.entries(result).map(([name, value]) => [name, endpointsInShort(value)])));
  const items = Array.isArray(result) ? result.filter(isJsonObject) : [];
  const shown = columns ?? [...new Set(items.flatMap((item) => Object.keys(item)))];
  const rows = items.map((item) => shown.map((column) => endpointsInShort(item[column])));
  return textTable(
    shown.map((column) => column.toUpperCase()),
    rows,
  );
}

/** A list of endpoints the way people type them, `lamp/1, blind/2`; anything else as it is. */
function endpointsInShort(value: Json | undefined): Json | undefined {
  const texts = endpointTexts(value);
  return Array.isArray(value) && texts.length === value.length ? texts : value;
}

/** The endpoints of a list the way people type them. */
export function endpointTexts(value: Json | undefined): readonly string[] {
  const items = Array.isArray(value) ? value.filter(isJsonObject) : [];
  return items.flatMap(({ device, endpoint }) => (typeof device === 'string' && endpoint !== undefined ? `${device}/${endpoint}` : []));
}

/** The whole number at an operand, whose name the mistake tells. */
export function integerOperand(call: Invocation, index: number, name: string): number {
  const text = call.operand(index);
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usage(`${name} has to be a whole number, not ${JSON.stringify(text)}`);
}

/** `DEVICE` or `DEVICE/ENDPOINT`; endpoint 1 unless it is said. */
export function parseEndpoint(text: string): { device_id: string; endpoint: number } {
  const match = /^([^/]+)(?:\/(\d{1,5}))?$/.exec(text);
  if (match?.[1] === undefined) throw usage(`${JSON.stringify(text)} has to be DEVICE or DEVICE/PART`);
  return { device_id: match[1], endpoint: Number(match[2] ?? '1') };
}

const POLL_MS = 250;

/** Follows a job to its end, telling each step on stderr; answers its result or throws its error. */
export function followJob({ hub, output, io }: Invocation, jobId: string, what: string): Promise<JsonObject> {
  const sleep = io.sleep ?? delay;
  return output.during(what, async ({ step }) => {
    let told = '';
    for (;;) {
      const job = await hub.get(`/api/v1/jobs/${encodeURIComponent(jobId)}`);
      const line = progressLine(job.progress);
      if (line !== told && line !== '') step(line);
      told = line;
      if (job.status !== 'queued' && job.status !== 'running') return resultOf(job);
      await sleep(POLL_MS);
    }
  });
}

/** How far something is, as ` 40 % what it does`; empty when nothing is told. */
export function progressLine(progress: unknown): string {
  if (!isJsonObject(progress)) return '';
  const percent = typeof progress.fraction === 'number' ? `${Math.round(progress.fraction * 100)} %`.padStart(5) : '';
  return `${percent} ${typeof progress.note === 'string' ? cellText(progress.note) : ''}`.trimEnd();
}

function resultOf(job: JsonObject): JsonObject {
  if (job.status === 'succeeded') return isJsonObject(job.result) ? job.result : { result: job.result ?? null };
  const error = isJsonObject(job.error) ? job.error : {};
  const otherwise = job.status === 'expired' ? 'JOB_NOT_FOUND' : 'CANCELLED';
  const message = typeof error.message === 'string' ? error.message : `The job ${job.job_id} ended as ${job.status}`;
  throw new AtmoError(codeIn(error) ?? otherwise, message, isJsonObject(error.details) ? error.details : {});
}
