import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/** What a step of the file system does from the one on at which it fails. */
export type DiskFault = 'full once' | 'read-only from there on' | 'killed';

const SYNC = ['writeSync', 'fsyncSync', 'renameSync', 'rmSync', 'rmdirSync', 'mkdirSync', 'copyFileSync'] as const;
const ASYNC = ['rename', 'rm', 'mkdir'] as const;
const OF_HANDLES = ['writeFile', 'sync'] as const;
const CODES = { 'full once': 'ENOSPC', 'read-only from there on': 'EROFS' } as const;

type Call = (...given: unknown[]) => unknown;

/**
 * A disk whose changes fail from the nth on, for a process of its own: it takes the place of the functions of `node:fs` that change
 * something, all but those of SQLite.
 */
export class FailingDisk {
  /** Paths whose folder or file was brought to the disk while it was armed last, as far as that was done synchronously. */
  readonly synced = new Set<string>();
  #steps = 0;
  #failing: { readonly at: number; readonly fault: DiskFault } | undefined;

  /** Changes that were made while it was armed last. */
  get steps(): number {
    return this.#steps;
  }

  async install(anyFile: string): Promise<void> {
    await using handle = await fsPromises.open(anyFile);
    const handles = Object.getPrototypeOf(handle);
    for (const name of SYNC) this.#replace(fs, name);
    for (const name of ASYNC) this.#replace(fsPromises, name);
    for (const name of OF_HANDLES) this.#replace(handles, name);
    this.#replace(fs, 'openSync', (flags) => flags !== 'r');
    this.#replace(fsPromises, 'open', (flags) => flags !== 'r');
    syncBuiltinESMExports();
  }

  /** Step 0 never fails. */
  arm(at: number, fault: DiskFault): void {
    this.#steps = 0;
    this.synced.clear();
    this.#failing = { at, fault };
  }

  disarm(): void {
    this.#failing = undefined;
  }

  #replace(target: object, name: string, isChange: (second: unknown) => boolean = () => true): void {
    const real = Reflect.get(target, name) as Call;
    const disk = this;
    Reflect.set(target, name, function replaced(this: unknown, ...given: unknown[]) {
      if (isChange(given[1])) disk.#step(name, String(given[0]));
      return Reflect.apply(real, this, given);
    });
  }

  #step(name: string, path: string): void {
    if (!this.#failing) return;
    this.#steps += 1;
    if (name === 'fsyncSync') this.synced.add(fs.readlinkSync(`/proc/self/fd/${path}`));
    const { at, fault } = this.#failing;
    if (at === 0 || this.#steps < at || (fault === 'full once' && this.#steps > at)) return;
    if (fault === 'killed') process.kill(process.pid, 'SIGKILL');
    else throw Object.assign(new Error(`${CODES[fault]}: ${name} '${path}'`), { code: CODES[fault] });
  }
}
