import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { sha256Hex } from '../../src/codec/hashes.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { replaceFile } from '../../src/core/files/file-system.ts';
import { isJsonObject, type Json, objectOf } from '../../src/core/json.ts';

/** From what files of a release are made, and where they are. */
export interface ReleaseSource {
  readonly commit: string;
  /** True if the checkout may differ from its commit. */
  readonly isTry: boolean;
  /** Folder of the release. */
  readonly outdir: string;
}

/**
 * The files that the steps of a release made, with their hashes, so that nothing else is signed: no file of another commit or of a try, and
 * none that somebody put into the folder. The list therefore lies outside that folder.
 */
export class MadeFiles {
  readonly #list: string;
  readonly #source: ReleaseSource;
  readonly #hashes: Map<string, string>;

  /** `list` is the file of the list. What it says of another source does not count. */
  constructor(list: string, source: ReleaseSource) {
    this.#list = list;
    this.#source = source;
    this.#hashes = new Map(hashesIn(list, source));
  }

  /** Notes files that a step has just made. */
  add(files: readonly string[]): void {
    for (const file of files) this.#hashes.set(basename(file), sha256Hex(readFileSync(file)));
    const { commit, isTry, outdir } = this.#source;
    mkdirSync(dirname(this.#list), { recursive: true });
    replaceFile(this.#list, `${JSON.stringify({ commit, isTry, outdir, files: Object.fromEntries(this.#hashes) }, null, 1)}\n`);
  }

  /** Returns the SHA-256 of a file. Throws NOT_FOUND if it is not there, CONFLICT if it is not as a step of this release made it. */
  hashOf(file: string): string {
    if (!existsSync(file)) throw new AtmoError('NOT_FOUND', `${file} is not there; run the step that makes it first`);
    const hash = sha256Hex(readFileSync(file));
    if (this.#hashes.get(basename(file)) === hash) return hash;
    const origin = `no step made it from the commit ${this.#source.commit.slice(0, 12)}${this.#source.isTry ? ' with --try' : ''}`;
    throw new AtmoError('CONFLICT', `${file} is not signed, since ${origin}; run the step that makes it again, or move the file away`);
  }
}

function hashesIn(list: string, { commit, isTry, outdir }: ReleaseSource): readonly (readonly [string, string])[] {
  if (!existsSync(list)) return [];
  const stored: Json = JSON.parse(readFileSync(list, 'utf8'));
  if (!isJsonObject(stored) || stored.commit !== commit || stored.isTry !== isTry || stored.outdir !== outdir) return [];
  return Object.entries(objectOf(stored.files)).map(([name, hash]) => [name, String(hash)]);
}
