import { createReadStream } from 'node:fs';
import { isBase64Schema } from '../codec/base64.ts';
import { AtmoError, systemCode } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, objectsOf, tryParseJson } from '../core/json.ts';
import type { CliIo } from './cli-io.ts';
import { type Command, type Invocation, usage } from './command.ts';
import { codeIn } from './hub/hub-client.ts';
import type { Printable } from './terminal/blocks.ts';
import { cellText, textPairs, textTable } from './terminal/text-table.ts';

interface RequestCommand<Answer> extends Omit<Command, 'run'> {
  request(call: Invocation): Promise<Answer>;
  text(answer: Answer, call: Invocation): Printable;
}

/** Returns a command that sends one request. Programs get the response as JSON, people as text. */
export function requestCommand<Answer>({ request, text, ...command }: RequestCommand<Answer>): Command {
  return {
    ...command,
    async run(call) {
      const answer = await request(call);
      call.output.answer(answer, () => text(answer, call));
    },
  };
}

/** A command that makes one call of an administration tool. */
export interface ToolCommand extends Omit<Command, 'run'> {
  readonly tool: string;
  /** Returns additional parameters. Operands and options with a `param` set their parameters without this function. */
  params?(call: Invocation): JsonObject | Promise<JsonObject>;
  /** Fields that become the columns of a table if the result is a list of objects. */
  readonly columns?: readonly string[];
  /** Returns the fields to show in place of the result's own fields. */
  shown?(result: JsonObject): JsonObject;
  /** Returns a text to show in place of the fields of the result. */
  sentence?(result: JsonObject, call: Invocation): string;
}

/** Returns the command for a tool. The tool itself checks the parameters and reports errors. */
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

/** Returns the parameters of operands and options that have a `param`. A missing switch is false; other missing values are omitted. */
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

/** Returns a list of endpoints in the form that people type: `lamp/1, blind/2`. Returns any other value unchanged. */
function endpointsInShort(value: Json | undefined): Json | undefined {
  const texts = endpointTexts(value);
  return Array.isArray(value) && texts.length === value.length ? texts : value;
}

/** Returns the endpoints in a list, in the form that people type: `lamp/1`. */
export function endpointTexts(value: Json | undefined): readonly string[] {
  return objectsOf(value).flatMap(({ device, endpoint }) =>
    typeof device === 'string' && endpoint !== undefined ? `${device}/${endpoint}` : [],
  );
}

/** Returns the operand as an integer. Throws an error that names the operand if it is no integer. */
export function integerOperand(call: Invocation, index: number, name: string): number {
  const text = call.operand(index);
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usage(`${name} has to be a whole number, not ${JSON.stringify(text)}`);
}

/** Parses `DEVICE/ENDPOINT`, or `DEVICE` for endpoint 1. Throws VALIDATION_ERROR for any other text. */
export function parseEndpoint(text: string): { device_id: string; endpoint: number } {
  const match = /^([^/]+)(?:\/(\d{1,5}))?$/.exec(text);
  if (match?.[1] === undefined) throw usage(`${JSON.stringify(text)} has to be DEVICE or DEVICE/PART`);
  return { device_id: match[1], endpoint: Number(match[2] ?? '1') };
}

const POLL_MS = 250;

/** Waits for a job and prints its steps on stderr. Returns its result or throws its error. */
export function followJob({ hub, output, io }: Invocation, jobId: string, what: string): Promise<JsonObject> {
  return output.during(what, async ({ step }) => {
    let shown = '';
    for (;;) {
      const job = await hub.get(`/api/v1/jobs/${encodeURIComponent(jobId)}`);
      const line = progressLine(job.progress);
      if (line !== shown && line !== '') step(line);
      shown = line;
      if (!['waiting', 'queued', 'running'].includes(String(job.status))) return resultOf(job);
      await io.sleep(POLL_MS);
    }
  });
}

/** Returns the progress of a job as ` 40 % note`, or an empty text if it has none. */
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

/** Maximum size of the parameters in bytes for a tool that sets no limit. */
const USUAL_PARAMS_BYTES = 65_536;

/**
 * Parses `key=value` words and converts each value to the type in the tool's schema. `key=@FILE` reads the value from a file,
 * `key=@-` reads the value from stdin, and `key=@@x` means the text `@x`. A value of a wrong type remains text; the hub then reports it.
 */
export async function typedParams(words: readonly string[], tool: JsonObject, io: Pick<CliIo, 'stdin'>): Promise<JsonObject> {
  const properties = objectOf(objectOf(tool.parameters).properties);
  const bound = objectOf(tool.execution).max_params_bytes;
  const maxBytes = typeof bound === 'number' ? bound : USUAL_PARAMS_BYTES;
  const params: Record<string, Json> = {};
  for (const [name, text] of splitWords(words)) {
    const schema = objectOf(Object.hasOwn(properties, name) ? properties[name] : undefined);
    const isFile = text.startsWith('@') && !text.startsWith('@@');
    params[name] = isFile
      ? contentValue(await readFileParameter({ name, file: text.slice(1), schema, maxBytes }, io), schema)
      : typedValue(text.startsWith('@@') ? text.slice(1) : text, schema);
  }
  return params;
}

function splitWords(words: readonly string[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) throw usage(`${JSON.stringify(word)} is not of the form key=value; quote values with spaces, or use --params JSON`);
    const name = word.slice(0, at);
    if (texts.has(name)) throw usage(`${name} is given twice`);
    texts.set(name, word.slice(at + 1));
  }
  if ([...texts.values()].filter((text) => text === '@-').length > 1) throw usage('Only one parameter can come on stdin (@-)');
  return texts;
}

/** Converts a file's content to a value. A text keeps white space at its ends, such as the final line feed. A number or JSON loses it. */
function contentValue(content: string, schema: JsonObject): Json {
  const line = content.trim();
  const value = typedValue(line, schema);
  return value === line && !enumOf(schema).includes(line) ? content : value;
}

const SWITCHES: Readonly<Record<string, boolean>> = { true: true, false: false, on: true, off: false, yes: true, no: false };

/** Converts text by a schema to a number, boolean (also on/off, yes/no), JSON, or list (items between commas). Other text stays text. */
export function typedValue(text: string, schema: JsonObject): Json {
  const types = typesOf(schema);
  const isAnything = types.size === 0;
  if (enumOf(schema).includes(text)) return text;
  if ((isAnything || types.has('number') || types.has('integer')) && isNumber(text)) return Number(text);
  if (types.has('boolean') && Object.hasOwn(SWITCHES, text)) return SWITCHES[text] ?? text;
  if (types.has('array') && !types.has('string') && !text.startsWith('[')) return listValue(text, schema);
  if (isAnything || types.has('array') || types.has('object') || types.has('null')) return jsonOr(text);
  return text;
}

function typesOf(schema: JsonObject): ReadonlySet<string> {
  const own = Array.isArray(schema.type) ? schema.type : [schema.type];
  const branches = [schema.anyOf, schema.oneOf].flatMap(objectsOf);
  const values = enumOf(schema).map((value) => typeof value);
  return new Set([...own, ...branches.flatMap((branch) => [...typesOf(branch)]), ...values].filter((type) => typeof type === 'string'));
}

function enumOf(schema: JsonObject): readonly Json[] {
  return Array.isArray(schema.enum) ? schema.enum : [];
}

function isNumber(text: string): boolean {
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text);
}

function listValue(text: string, schema: JsonObject): Json {
  return text === '' ? [] : text.split(',').map((item) => typedValue(item, objectOf(schema.items)));
}

function jsonOr(text: string): Json {
  const value = tryParseJson(text);
  return value === undefined ? text : value;
}

/** A parameter whose value comes from a file, `key=@FILE`, or from stdin, `key=@-`. */
interface FileParameter {
  readonly name: string;
  /** Path of the file; `-` means stdin. */
  readonly file: string;
  readonly schema: JsonObject;
  /** Maximum size of the tool's parameters in bytes. */
  readonly maxBytes: number;
}

/** Returns a file's content: base64 if the schema requires it, else text. Throws errors that name the file. */
async function readFileParameter({ name, file, schema, maxBytes }: FileParameter, { stdin }: Pick<CliIo, 'stdin'>): Promise<string> {
  const what = file === '-' ? 'stdin' : `The file ${file}`;
  const isBinary = isBase64Schema(schema);
  const most = isBinary ? Math.floor(maxBytes / 4) * 3 : maxBytes;
  const bytes = await readUpTo(file === '-' ? stdin : createReadStream(file), most).catch((error: unknown) => {
    throw unreadable(error, { what, name, file });
  });
  if (!bytes)
    throw new AtmoError('PAYLOAD_TOO_LARGE', `${what} has more than the ${most} bytes that ${name} may have`, { max_bytes: most });
  if (isBinary) return bytes.toString('base64');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usage(`${what} is not UTF-8 text, and ${name} takes no bytes`);
  }
}

/** Returns the content of a stream. Returns undefined if it is longer than the maximum. */
async function readUpTo(source: AsyncIterable<string | Uint8Array>, most: number): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of source) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    length += bytes.length;
    if (length > most) return undefined;
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

function unreadable(error: unknown, { what, name, file }: Pick<FileParameter, 'name' | 'file'> & { readonly what: string }): AtmoError {
  return usage(`${what} cannot be read (${systemCode(error)}); for the text "@${file}" itself write ${name}=@@${file}`);
}
