import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { base64Places, saysBase64 } from '../../wire/base64-places.ts';
import { requireFree, withoutBytes, writeBytes } from '../answer-bytes.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { errorOf, withQuery } from '../hub/hub-client.ts';
import { HUB_OPTION } from '../hub/hub-option.ts';
import { progressLine } from '../job-wait.ts';
import type { Printable } from '../terminal/page.ts';
import { jsonObject, readInput } from '../terminal/text-input.ts';
import { textPairs } from '../terminal/text-table.ts';
import { typedParams } from '../tool-params.ts';

export const call: Command = {
  name: 'call',
  summary: 'call a tool by name',
  examples: [
    'call living_room_lamp_set_brightness brightness=40',
    `call living_room_lamp_set_brightness --params '{"brightness": 40}' --json`,
    'call bedroom_blind_open --async',
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
    timeout: { value: 'MS', help: 'deadline in milliseconds' },
    ...HUB_OPTION,
    'max-hops': { value: 'N', help: 'over at most N hubs; 0 for this one alone' },
    'idempotency-key': { value: 'KEY', help: 'a repeat with the same key does not act twice' },
  },
  async run(invocation) {
    const tool = invocation.operand(0);
    const file = invocation.text('output');
    const isJob = invocation.isSet('async');
    if (file !== undefined && isJob)
      throw usage('Use either --output or --async: a job has its answer later, which atmo jobs ID --output FILE writes');
    if (file !== undefined) requireFree(file);
    const { params, tellsSteps, returns } = await askedFor(invocation, tool);
    if (file !== undefined && !saysBase64(returns)) throw usage(`${tool} answers no bytes; --json tells all of what it answers`);
    const query = { async: isJob || undefined, hop_limit: invocation.integer('max-hops') };
    const path = withQuery(`/api/v1/tools/${encodeURIComponent(tool)}/invoke`, query);
    const headers = headersOf(invocation);
    const answer = await invocation.output.during(`Calling ${tool}`, ({ step }) =>
      invocation.hub.invoke(path, params, { headers, ...(tellsSteps && !isJob && { onChunk: (chunk) => tellChunk(chunk, step) }) }),
    );
    if (answer.status === 'error') return invocation.output.fail(errorOf(answer, 0), answer);
    const result = answer.result ?? null;
    if (file !== undefined) await writeBytes(file, base64Places(returns, result));
    invocation.output.answer(answer, () => (isJob ? jobText(answer) : resultText(withoutBytes(result, returns, file))));
    return undefined;
  },
};

function headersOf(invocation: Invocation): Readonly<Record<string, string>> {
  const key = invocation.text('idempotency-key');
  const timeoutMs = invocation.integer('timeout');
  return {
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(timeoutMs !== undefined && { 'x-timeout-ms': String(timeoutMs) }),
  };
}

interface Asked {
  readonly params: JsonObject;
  /** Whether the tool says how far it is. */
  readonly tellsSteps: boolean;
  /** Schema of what it answers, where the tool was looked up. */
  readonly returns: JsonObject;
}

/** The definition types `key=value` words, says which answers are bytes, and tells people whether there will be steps to show. */
async function askedFor(invocation: Invocation, tool: string): Promise<Asked> {
  const words = invocation.operands.slice(1);
  const given = invocation.text('params');
  if (given !== undefined && words.length > 0) throw usage('Use either key=value words or --params, not both');
  const params = given === undefined ? {} : jsonObject(await readInput(given, invocation.io), '--params');
  const needsDefinition = words.length > 0 || invocation.text('output') !== undefined || invocation.output.isWatched;
  if (!needsDefinition) return { params, tellsSteps: false, returns: {} };
  const definition = await invocation.hub.get(`/api/v1/tools/${encodeURIComponent(tool)}`, { node: invocation.text('hub') });
  const { execution, returns } = definition;
  return {
    params: words.length === 0 ? params : await typedParams(words, definition, invocation.io),
    tellsSteps: isJsonObject(execution) && execution.stream_supported === true,
    returns: isJsonObject(returns) ? returns : {},
  };
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
