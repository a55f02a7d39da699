import { createReadStream } from 'node:fs';
import { isBase64Schema } from '../codec/base64.ts';
import { AtmoError, systemCode } from '../core/errors.ts';
import { type Json, type JsonObject, objectOf, objectsOf, tryParseJson } from '../core/json.ts';
import type { CliIo } from './cli-io.ts';
import { usage } from './command.ts';

/** Largest parameters of a tool that sets no limit, bytes. */
const USUAL_PARAMS_BYTES = 65_536;

/**
 * Parameters from `key=value` words, typed by the schema of the tool. `key=@FILE` takes the content of a file, `key=@-` stdin, and
 * `key=@@x` the text `@x`. A value of another type stays text, so that the hub reports the mistake.
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

/** The value of a file: text keeps the line feed at its end, numbers and JSON have none. */
function contentValue(content: string, schema: JsonObject): Json {
  const line = content.trim();
  const value = typedValue(line, schema);
  return value === line && !enumOf(schema).includes(line) ? content : value;
}

const SWITCHES: Readonly<Record<string, boolean>> = { true: true, false: false, on: true, off: false, yes: true, no: false };

/** One value by its schema: numbers, booleans (also on/off, yes/no), JSON for arrays and objects, comma lists of texts. */
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

/** A parameter from a file, `key=@FILE`, or from stdin, `key=@-`. */
interface FileParameter {
  readonly name: string;
  /** `-` is stdin. */
  readonly file: string;
  readonly schema: JsonObject;
  /** Most bytes of parameters that the tool takes. */
  readonly maxBytes: number;
}

/** The content of a file: base64 where the schema takes it, else text. PAYLOAD_TOO_LARGE and wrong usage name the file. */
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

/** The content of a stream; undefined where it is longer. */
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
