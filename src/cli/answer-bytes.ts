import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { AtmoError } from '../core/errors.ts';
import type { Json, JsonSchema } from '../core/json.ts';
import { type Base64Place, mapBase64 } from '../wire/base64-places.ts';

/** Nobody reads more base64 than this, characters. */
const MAX_SHOWN = 256;

/** CONFLICT for a file that is there: what somebody keeps is not written over. */
export function requireFree(file: string): void {
  if (existsSync(file)) throw new AtmoError('CONFLICT', `${file} cannot be written: it exists already; name another file`, { path: file });
}

/** Writes the bytes of an answer into a new file. NOT_FOUND where it has none, CONFLICT where it has several or the file is there. */
export async function writeBytes(file: string, places: readonly Base64Place[]): Promise<void> {
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

/** The answer for people, by its schema: how many bytes there are, and in which file, instead of base64 without end. */
export function withoutBytes(value: Json, returns: JsonSchema, file: string | undefined): Json {
  const where = file === undefined ? '; --output FILE writes them into a file' : ` in ${file}`;
  return mapBase64(returns, value, ({ text }) => {
    const isHidden = file !== undefined || text.length > MAX_SHOWN;
    return isHidden ? `${Buffer.byteLength(text, 'base64')} bytes${where}` : text;
  });
}
