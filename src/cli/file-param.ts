import { createReadStream } from 'node:fs';
import { AtmoError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { systemCode } from '../core/process/system-code.ts';
import { isBase64Schema } from '../wire/base64-places.ts';
import type { CliIo } from './cli-io.ts';
import { usage } from './command.ts';

/** A parameter that a file holds: `key=@FILE`, or `key=@-` for what comes on stdin. */
export interface FileParam {
  readonly name: string;
  /** `-` is stdin. */
  readonly file: string;
  readonly schema: JsonObject;
  /** Most bytes of parameters that the tool takes. */
  readonly maxBytes: number;
}

/** What the file holds: base64 where the schema takes it, else its text. Errors name the file; PAYLOAD_TOO_LARGE, and wrong usage. */
export async function fileParam({ name, file, schema, maxBytes }: FileParam, { stdin }: Pick<CliIo, 'stdin'>): Promise<string> {
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

/** Undefined where there is more. */
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

function unreadable(error: unknown, { what, name, file }: Pick<FileParam, 'name' | 'file'> & { readonly what: string }): AtmoError {
  return usage(`${what} cannot be read (${systemCode(error)}); for the text "@${file}" itself write ${name}=@@${file}`);
}
