import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';
import { AtmoError } from '../src/core/errors.ts';

/** A change of one file of matter.js. */
interface FilePatch {
  /** Path below `node_modules`. */
  readonly file: string;
  /** SHA-256 of the file that the change was made for. */
  readonly sha256: string;
  /** Runs of lines that the change replaces, with the number of the first one, and what takes their place. */
  readonly hunks: readonly { readonly firstLine: number; readonly from: readonly string[]; readonly to: readonly string[] }[];
}

/**
 * The changes of `matter.patch`, a unified diff whose headers have the SHA-256 of each file in place of its time. They spare memory and time for each message;
 * what matter.js sends, answers and logs is meant to stay the same (docs/decisions/051).
 */
export const MATTER_PATCHES: readonly FilePatch[] = parsePatches(readFileSync(new URL('matter.patch', import.meta.url), 'utf8'));

/** Applies the patches when matter.js is bundled. A file that is not the one that its patch was made for ends the build. */
export const patchedMatter: Plugin = {
  name: 'patched-matter',
  setup(context) {
    context.onLoad({ filter: /\/node_modules\/@matter\/.*\.js$/ }, async ({ path }) => {
      const patch = MATTER_PATCHES.find(({ file }) => path.endsWith(`/node_modules/${file}`));
      return patch && { contents: patched(patch, await readFile(path, 'utf8')), loader: 'js' };
    });
  },
};

/** Returns the patched text of a file. Throws INTERNAL_ERROR if the patch was made for another text. */
export function patched({ file, sha256, hunks }: FilePatch, text: string): string {
  if (createHash('sha256').update(text).digest('hex') !== sha256) {
    const what = 'is not the file that scripts/matter.patch changes: make the patch anew, or leave it out';
    throw new AtmoError('INTERNAL_ERROR', `${file} ${what} (docs/decisions/051-patches-of-matter-js.md)`);
  }
  const lines = text.split('\n');
  for (const { firstLine, from, to } of hunks.toReversed()) {
    const replaced = lines.splice(firstLine - 1, from.length, ...to);
    if (replaced.join('\n') !== from.join('\n'))
      throw new AtmoError('INTERNAL_ERROR', `scripts/matter.patch does not fit ${file} at line ${firstLine}`);
  }
  return lines.join('\n');
}

function parsePatches(diff: string): readonly FilePatch[] {
  return diff.split(/^--- /m).flatMap((part) => {
    const [header = '', , ...lines] = part.trimEnd().split('\n');
    const [file, sha256] = header.split('\t');
    if (file === undefined || sha256 === undefined) return [];
    const hunks = lines.join('\n').split(/^@@ -/m).slice(1);
    return [{ file, sha256, hunks: hunks.map(parseHunk) }];
  });
}

function parseHunk(hunk: string): FilePatch['hunks'][number] {
  const [range = '', ...lines] = hunk.trimEnd().split('\n');
  const side = (sign: string) => lines.filter((line) => line.startsWith(sign) || line.startsWith(' ')).map((line) => line.slice(1));
  return { firstLine: Number.parseInt(range, 10), from: side('-'), to: side('+') };
}
