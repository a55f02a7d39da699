import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { errorOf, withQuery } from '../hub-client.ts';
import { HUB_OPTION } from '../hub-option.ts';
import { progressLine } from '../job-wait.ts';
import type { Printable } from '../terminal/page.ts';
import { jsonObject, readInput } from '../text-input.ts';
import { textPairs } from '../text-table.ts';
import { typedParams } from '../tool-params.ts';

export const call: Command = {
  name: 'call',
  summary: 'call a tool by name',
  examples: [
    'call living_room_lamp_set_brightness brightness=40',
    `call living_room_lamp_set_brightness --params '{"brightness": 40}' --json`,
    'call living_room_blind_open --async',
  ],
  operands: [
    { name: 'TOOL', help: 'tool name, as atmo tools lists it' },
    { name: 'KEY=VALUE', help: "parameters, typed by the tool's schema", isOptional: true, isRepeated: true },
  ],
  options: {
    params: { value: 'JSON', help: 'parameters as a JSON object, as @file, or - for stdin' },
    async: { help: 'answer with a job at once (atmo jobs ID tells its result)' },
    timeout: { value: 'MS', help: 'deadline in milliseconds' },
    ...HUB_OPTION,
    'max-hops': { value: 'N', help: 'over at most N hubs; 0 for this one alone' },
    'idempotency-key': { value: 'KEY', help: 'a repeat with the same key does not act twice' },
  },
  async run(invocation) {
    const tool = invocation.operand(0);
    const { params, tellsSteps } = await askedFor(invocation, tool);
    const key = invocation.text('idempotency-key');
    const timeoutMs = invocation.integer('timeout');
    const headers = {
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(timeoutMs !== undefined && { 'x-timeout-ms': String(timeoutMs) }),
    };
    const isJob = invocation.isSet('async');
    const query = { async: isJob || undefined, hop_limit: invocation.integer('max-hops') };
    const path = withQuery(`/api/v1/tools/${encodeURIComponent(tool)}/invoke`, query);
    const answer = await invocation.output.during(`Calling ${tool}`, ({ step }) =>
      invocation.hub.invoke(path, params, { headers, ...(tellsSteps && !isJob && { onChunk: (chunk) => tellChunk(chunk, step) }) }),
    );
    if (answer.status === 'error') return invocation.output.fail(errorOf(answer, 0), answer);
    invocation.output.answer(answer, () => (!isJob ? resultText(answer.result ?? null) : jobText(answer)));
    return undefined;
  },
};

interface Asked {
  readonly params: JsonObject;
  /** Whether the tool says how far it is. */
  readonly tellsSteps: boolean;
}

/** The definition types `key=value` words, and tells people at a terminal whether there will be steps to show. */
async function askedFor(invocation: Invocation, tool: string): Promise<Asked> {
  const words = invocation.operands.slice(1);
  const given = invocation.text('params');
  if (given !== undefined && words.length > 0) throw usage('Use either key=value words or --params, not both');
  const params = given === undefined ? {} : jsonObject(await readInput(given, invocation.io), '--params');
  if (words.length === 0 && !invocation.output.isWatched) return { params, tellsSteps: false };
  const definition = await invocation.hub.get(`/api/v1/tools/${encodeURIComponent(tool)}`, { node: invocation.text('hub') });
  const tellsSteps = isJsonObject(definition.execution) && definition.execution.stream_supported === true;
  if (words.length === 0) return { params, tellsSteps };
  return { params: typedParams(words, isJsonObject(definition.parameters) ? definition.parameters : {}), tellsSteps };
}

function tellChunk(chunk: JsonObject, step: (text: string) => void): void {
  const line = progressLine(chunk);
  if (line !== '') step(line);
}

function resultText(result: Json): Printable {
  return isJsonObject(result) ? textPairs(result) : `${JSON.stringify(result, null, 2)}\n`;
}

function jobText({ job_id: id, status }: JsonObject): string {
  return `job ${id} is ${status}; "atmo jobs ${id}" tells its result\n`;
}
