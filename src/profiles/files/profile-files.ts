import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { systemCode } from '../../core/process/system-code.ts';
import type { ProfileFiles } from './profile-set.ts';

export const PROFILE_KINDS = ['capabilities', 'devices'] as const;

/** One profile file as it lies on the disk, unchecked. */
export interface RawProfileFile {
  readonly kind: (typeof PROFILE_KINDS)[number];
  /** File name without `.json`. */
  readonly id: string;
  readonly path: string;
  readonly content: unknown;
}

/** All files of a profile directory; none when it does not exist. CONFIG_INVALID names a file that is no JSON. */
export function readProfileDirectory(directory: string): readonly RawProfileFile[] {
  return PROFILE_KINDS.flatMap((kind) => namesIn(join(directory, kind)).map((name) => readProfileFile(kind, join(directory, kind, name))));
}

/** Paths of all files of a profile directory, below it. */
export function profileNames(directory: string): readonly string[] {
  return PROFILE_KINDS.flatMap((kind) => namesIn(join(directory, kind)).map((name) => join(kind, name)));
}

/** One file; the kind is its folder's name. */
export function readProfileFile(kind: RawProfileFile['kind'], path: string): RawProfileFile {
  try {
    return parseProfile(kind, path, readFileSync(path, 'utf8'));
  } catch (error) {
    throw error instanceof AtmoError ? error : noJson(path, error);
  }
}

/** The text of a file. CONFIG_INVALID names a file that is no JSON. */
export function parseProfile(kind: RawProfileFile['kind'], path: string, text: string): RawProfileFile {
  const id = path.replace(/^.*[/\\]/, '').replace(/\.json$/, '');
  try {
    return { kind, id, path, content: JSON.parse(text) };
  } catch (error) {
    throw noJson(path, error);
  }
}

function noJson(path: string, error: unknown): AtmoError {
  const reason = error instanceof Error ? error.message : 'unknown reason';
  return new AtmoError('CONFIG_INVALID', `${path} cannot be read as JSON: ${reason}`);
}

/** Files that were checked before, as the form that ProfileSet takes; later files replace earlier ones of the same id. */
export function profileFilesOf(files: readonly RawProfileFile[]): ProfileFiles {
  const of = (kind: RawProfileFile['kind']) =>
    Object.fromEntries(files.filter((file) => file.kind === kind).map((file) => [file.id, file.content]));
  return { capabilities: of('capabilities'), devices: of('devices') } as ProfileFiles;
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith('.json'))
      .sort();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}
