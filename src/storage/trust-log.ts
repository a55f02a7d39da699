import { closeSync, constants, fdatasyncSync, fstatSync, openSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { readTextIfExists, replaceFile, setAsideUnlessFile, type WriteBytes, writeAll } from '../core/files/file-system.ts';
import { isJsonObject, type Json, tryParseJson } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import { guardStorage, toStorageError } from './storage-error.ts';

/** A change of one entry, with the generation of the write that made it. */
export interface TrustChange {
  readonly generation: number;
  readonly space: string;
  readonly key: string;
  /** The new value; absent if the entry was deleted. */
  readonly value?: Json;
  readonly expiresMs?: number;
}

/** The content of `trust.log` at the start. */
export interface KnownTrust {
  /** The newest change of each entry, in the order of the lines. */
  readonly changes: readonly TrustChange[];
  /** False if lines are damaged or cut off. */
  readonly isWhole: boolean;
}

interface TrustLogParts {
  readonly logger: Logger;
  /** Replaces the write function of the file system, for tests. */
  readonly write?: WriteBytes;
}

/** Size in bytes at which the file is rewritten with only the newest change of each entry. */
const FULL_BYTES = 262_144;

/**
 * Keeps a second copy of the entries that decide whom the hub trusts. `trust.log` has one line, synced to the disk, for each change of such
 * an entry in `state.db`. A store that was restored from an older copy applies the missing changes, so that a revoked token stays revoked
 * and a used approval stays used.
 */
export class TrustLog implements Disposable {
  readonly #path: string;
  readonly #spaces: ReadonlySet<string>;
  readonly #parts: TrustLogParts;
  #descriptor: number | undefined;
  #lengthBytes = 0;
  /** Size in bytes after the last `rewrite`. The next rewrite is due only when the file is more than twice as long. */
  #keptBytes = 0;

  constructor(path: string, spaces: readonly string[], parts: TrustLogParts) {
    this.#path = path;
    this.#spaces = new Set(spaces);
    this.#parts = parts;
  }

  holds(space: string): boolean {
    return this.#spaces.has(space);
  }

  /** Returns whether `rewrite` is due. */
  isFull(): boolean {
    return this.#lengthBytes > Math.max(FULL_BYTES, 2 * this.#keptBytes);
  }

  /** Reads the file. Throws STORAGE_FAILED if it cannot be read. */
  read(): KnownTrust {
    return guardStorage(this.#path, () => {
      const aside = setAsideUnlessFile(this.#path);
      if (aside !== undefined) this.#parts.logger.warn('storage.trust_log_set_aside', { path: this.#path, aside });
      const lines = (readTextIfExists(this.#path) ?? '').split('\n');
      const newest = new Map<string, TrustChange>();
      let damaged = 0;
      for (const line of lines.filter((text) => text !== '')) {
        const change = parse(line);
        if (!change) damaged++;
        else {
          const name = `${change.space}\0${change.key}`;
          newest.delete(name);
          newest.set(name, change);
        }
      }
      if (damaged > 0) this.#parts.logger.warn('storage.trust_log_damaged', { path: this.#path, lines: damaged });
      return { changes: [...newest.values()], isWhole: damaged === 0 };
    });
  }

  /** Appends a line and syncs it to the disk. Throws STORAGE_FAILED if the disk refuses. */
  append(change: TrustChange): void {
    guardStorage(this.#path, () => {
      this.#descriptor ??= openSync(this.#path, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, 0o600);
      // Unless the last line is known to be complete, the new line begins with a line feed.
      const { size } = fstatSync(this.#descriptor);
      const bytes = Buffer.from(`${size === this.#lengthBytes ? '' : '\n'}${textOf(change)}`);
      writeAll({ path: this.#path, descriptor: this.#descriptor, bytes, write: this.#parts.write });
      fdatasyncSync(this.#descriptor);
      this.#lengthBytes = size + bytes.length;
    });
  }

  /** Replaces the content by the newest changes. A failure is only logged, because the old file stays valid. */
  rewrite(changes: readonly TrustChange[]): void {
    this[Symbol.dispose]();
    const text = changes.map(textOf).join('');
    try {
      replaceFile(this.#path, text);
      this.#lengthBytes = this.#keptBytes = Buffer.byteLength(text);
    } catch (error) {
      this.#lengthBytes = -1;
      this.#parts.logger.warn('storage.trust_log_not_rewritten', { path: this.#path, reason: String(toStorageError(error, this.#path)) });
    }
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

function textOf({ generation, space, key, value, expiresMs }: TrustChange): string {
  const body = JSON.stringify({ generation, space, key, value, expires_ms: expiresMs });
  return `${crc32(body).toString(16).padStart(8, '0')} ${body}\n`;
}

function parse(line: string): TrustChange | undefined {
  const body = line.slice(9);
  const change = crc32(body) === Number.parseInt(line.slice(0, 8), 16) ? tryParseJson(body) : undefined;
  if (!isJsonObject(change)) return undefined;
  const { generation, space, key, value, expires_ms: expiresMs } = change;
  if (typeof generation !== 'number' || typeof space !== 'string' || typeof key !== 'string') return undefined;
  return { generation, space, key, ...(value !== undefined && { value }), ...(typeof expiresMs === 'number' && { expiresMs }) };
}
