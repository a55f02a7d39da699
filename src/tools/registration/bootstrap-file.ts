import { existsSync, readFileSync } from 'node:fs';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { trustedPath } from '../manifest/trusted-path.ts';

const MAX_BYTES = 1_048_576;

/** A tool that the owner wrote down, and where. */
export interface BootstrapEntry {
  readonly body: JsonObject;
  /** Such as `tools_bootstrap.json: tools/2`. */
  readonly place: string;
}

/**
 * The tools of the first of these files that is there (source 003, bootstrap), a list or `{"tools": [...]}`; none without a
 * file. CONFIG_INVALID, also for a file that others can write: they would decide what tools do.
 */
export function readBootstrap(paths: readonly string[], uid = process.getuid?.() ?? 0): readonly BootstrapEntry[] {
  const path = paths.find((one) => existsSync(one));
  if (path === undefined) return [];
  const value = parse(readFileSync(trustedPath(path, uid)), path);
  const list = isJsonObject(value) && Object.keys(value).length === 1 ? value.tools : value;
  if (!Array.isArray(list)) throw new AtmoError('CONFIG_INVALID', `${path} has to hold a list of tools, or {"tools": [...]}`);
  return list.map((body: unknown, index) => {
    const place = `${path}: tools/${index}`;
    if (isJsonObject(body)) return { body, place };
    throw new AtmoError('CONFIG_INVALID', `${place} has to be an object`);
  });
}

/** The same error as a mistake in the file, with the place in it. */
export function bootstrapMistake({ place }: BootstrapEntry, thrown: unknown): AtmoError {
  const { message, details } = toAtmoError(thrown);
  return new AtmoError('CONFIG_INVALID', `${place}: ${message}`, details);
}

function parse(bytes: Buffer, path: string): unknown {
  if (bytes.byteLength > MAX_BYTES) throw new AtmoError('CONFIG_INVALID', `${path} is longer than ${MAX_BYTES} bytes`);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (thrown) {
    throw new AtmoError('CONFIG_INVALID', `${path} is not JSON: ${thrown instanceof Error ? thrown.message : 'unknown reason'}`);
  }
}
