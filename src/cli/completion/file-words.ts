import { readdirSync } from 'node:fs';
import type { Candidate } from './completion-request.ts';

/** `key=@` and the beginning of a path; `@@` begins a text. */
const FILE_WORD = /^([^=]+=@)(?!@|-$)(.*)$/;

/** Files that could stand in a word such as `image=@photos/do`; undefined for a word that means no file. */
export function fileWords(typed: string): readonly Candidate[] | undefined {
  const [, key, path] = FILE_WORD.exec(typed) ?? [];
  if (key === undefined || path === undefined) return undefined;
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const name = path.slice(folder.length);
  return entriesOf(folder === '' ? '.' : folder)
    .filter((entry) => entry.name.startsWith(name) && (name !== '' || !entry.name.startsWith('.')))
    .map((entry) => ({ text: `${key}${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`, help: '' }))
    .toSorted((a, b) => (a.text < b.text ? -1 : 1));
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
