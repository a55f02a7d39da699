import { readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** The kernel's sysfs, or a recording of one. What is missing is not there, never an error. */
export class KernelFolder {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Names in a folder, sorted; none where there is no such folder. */
  async list(path: string): Promise<readonly string[]> {
    const names = await readdir(join(this.#root, path)).catch(() => []);
    return names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  }

  /** The text of an attribute without its line end. Rejects as `readFile` does; a driver may take its time. */
  async text(path: string): Promise<string> {
    return (await readFile(join(this.#root, path), 'utf8')).trimEnd();
  }

  /** The same of an attribute that need not be there. */
  async maybe(path: string): Promise<string | undefined> {
    return this.text(path).catch(() => undefined);
  }

  /** The text of the first of two attributes that is there. */
  async either(first: string, second: string): Promise<string> {
    return this.text(first).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return this.text(second);
    });
  }

  async write(path: string, text: string): Promise<void> {
    await writeFile(join(this.#root, path), text);
  }

  /** The name of what a link leads to, such as `1-0076`; undefined where there is no such link. */
  async nameBehind(path: string): Promise<string | undefined> {
    return realpath(join(this.#root, path)).then(basename, () => undefined);
  }

  /** Names of the folders in which something really is, from the outside in. */
  async placeOf(path: string): Promise<readonly string[]> {
    return realpath(join(this.#root, path)).then(
      (real) => real.split('/'),
      () => [],
    );
  }
}
