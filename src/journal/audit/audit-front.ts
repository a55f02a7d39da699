import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, renameSync } from 'node:fs';
import { type WriteBytes, writeAll } from '../../core/storage/durable-file.ts';
import { guardStorage } from '../storage-error.ts';

/**
 * The file before audit.db: lines that were not committed yet, each given to the kernel by one write, which survives the end
 * of the process and costs a tenth of a commit. It is never synced: what has to survive a power cut is committed first.
 */
export class AuditFront {
  readonly path: string;
  readonly #write: WriteBytes | undefined;
  #descriptor: number | undefined;
  #lengthBytes = 0;
  /** A write was cut off in the middle, as on a full disk. */
  #isTorn = false;

  /** `write`: that of the file system when absent. */
  constructor(path: string, write?: WriteBytes) {
    this.path = path;
    this.#write = write;
  }

  get lengthBytes(): number {
    return this.#lengthBytes;
  }

  /** The whole lines, without their ends. A rest without an end is of a write that nobody was told of. Throws STORAGE_FAILED. */
  read(): readonly string[] {
    const bytes = guardStorage(this.path, () => (existsSync(this.path) ? readFileSync(this.path) : Buffer.alloc(0)));
    this.#lengthBytes = bytes.length;
    return bytes.toString('utf8').split('\n').slice(0, -1);
  }

  /** Adds a line, which brings its own end, or throws STORAGE_FAILED and has added nothing that `read` would find. */
  append(line: string): void {
    if (this.#isTorn) this.cut(this.#lengthBytes);
    guardStorage(this.path, () => {
      const bytes = Buffer.from(line, 'utf8');
      const descriptor = this.#opened();
      this.#isTorn = true;
      writeAll({ path: this.path, descriptor, bytes, ...(this.#write && { write: this.#write }) });
      this.#isTorn = false;
      this.#lengthBytes += bytes.length;
    });
  }

  /** Leaves the first so many bytes. Throws STORAGE_FAILED. */
  cut(lengthBytes: number): void {
    if (lengthBytes === this.#lengthBytes && !this.#isTorn) return;
    guardStorage(this.path, () => ftruncateSync(this.#opened(), lengthBytes));
    this.#lengthBytes = lengthBytes;
    this.#isTorn = false;
  }

  /** Puts the file away under another name, for people to look at; the next line begins a new one. Throws STORAGE_FAILED. */
  setAside(path: string): void {
    this.close();
    guardStorage(this.path, () => renameSync(this.path, path));
    this.#lengthBytes = 0;
    this.#isTorn = false;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Not at start, so that a full disk keeps no hub from starting. */
  #opened(): number {
    this.#descriptor ??= openSync(this.path, 'a', 0o600);
    return this.#descriptor;
  }
}
