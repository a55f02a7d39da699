import { invalidInput, permissionDenied } from '../../core/errors.ts';
import { isWithin } from '../../core/files/file-system.ts';
import type { FileRoot } from './files-config.ts';

/** Canonical path of the list of configured folders. The permission to read that list is `fs:read:roots`. */
export const ALL_ROOTS = 'roots';

/** A canonical path, split into the name of the owner's folder and the names below it. */
export interface FilePath {
  readonly root: string;
  readonly names: readonly string[];
}

const PLAIN_CHARACTER = /^[A-Za-z0-9_@.-]$/;
const ESCAPES = /(?:\+[0-9A-Fa-f]{2})+/g;
/** Maximum length of a canonical path in characters. A permission contains a path, and the length of a permission is limited. */
const MAX_LENGTH = 240;

/**
 * Returns a path in the canonical form that permissions compare: `ROOT/folder/file`. Accepts that form, or an absolute path below a root.
 * Keeps ASCII letters, digits and `_ @ . -`. Writes each UTF-8 byte of any other character as `+` and two hex digits. Throws
 * VALIDATION_ERROR for a malformed or too long path, and PERMISSION_DENIED for a path outside of the roots or with a hidden name, because
 * hidden files may contain keys.
 */
export function canonicalPath(text: string, roots: Readonly<Record<string, FileRoot>>): string {
  const names = relativeTo(text, roots)
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .map((name) => checkedName(decoded(name)));
  const path = names.map(encodedName).join('/');
  if (path.length > MAX_LENGTH) throw invalidInput(`A path has at most ${MAX_LENGTH} characters, each odd one counted as three or more`);
  return path === '' ? ALL_ROOTS : path;
}

/** Splits a canonical path into its root and the names below it. Decodes these names to the names on the disk. */
export function parsePath(path: string): FilePath {
  const [root = '', ...names] = path.split('/').map(decoded);
  return { root, names };
}

/** Returns the canonical form of a name on the disk. */
export function encodedName(name: string): string {
  const byte = (value: number) => `+${value.toString(16).toUpperCase().padStart(2, '0')}`;
  return [...name].map((letter) => (PLAIN_CHARACTER.test(letter) ? letter : [...Buffer.from(letter)].map(byte).join(''))).join('');
}

function relativeTo(text: string, roots: Readonly<Record<string, FileRoot>>): string {
  if (!text.startsWith('/')) return text;
  const around = Object.entries(roots)
    .map(([name, { path }]) => ({ name, path: path.replace(/\/+$/, '') }))
    .filter(({ path }) => isWithin(text, path))
    .sort((a, b) => b.path.length - a.path.length)[0];
  if (!around) throw permissionDenied('This path is outside of the folders that the owner opened to agents; list_files with . tells those');
  return around.name + text.slice(around.path.length);
}

function decoded(name: string): string {
  return name.replaceAll(ESCAPES, (escapes) => {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(escapes.replaceAll('+', ''), 'hex'));
    } catch {
      throw invalidInput(`${escapes} stands for no characters of UTF-8`);
    }
  });
}

function checkedName(name: string): string {
  if (/[/\0]/.test(name) || !name.isWellFormed()) throw invalidInput('A name in a path holds neither / nor zero bytes nor half characters');
  if (name === '..') throw permissionDenied('A path does not lead up; begin at the name of a folder that list_files with . tells');
  if (name.startsWith('.')) throw permissionDenied('Names that begin with a dot are hidden from agents: keys and settings lie there');
  return name;
}
