import { closeSync, constants, fdatasyncSync, fstatSync, openSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { readTextIfExists, replaceFile, setAsideUnlessFile, type WriteBytes, writeAll } from '../core/files/file-system.ts';
import { isJsonObject, type Json, tryParseJson } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import { guardStorage, toStorageError } from './storage-error.ts';

/** A change of one entry, with the generation of the store that it made. */
export interface TrustChange {
  readonly generation: number;
  readonly space: string;
  readonly key: string;
  /** Absent when the entry was deleted. */
  readonly value?: Json;
  readonly expiresMs?: number;
}

/** What a start found in the file. */
export interface KnownTrust {
  /** The newest change of each entry, in order. */
  readonly changes: readonly TrustChange[];
  /** False when lines are damaged or torn. */
  readonly isWhole: boolean;
}

interface TrustLogParts {
  readonly logger: Logger;
  /** That of the file system when absent. */
  readonly write?: WriteBytes;
}

/** Then it is written anew with what still counts, unless that alone is half of the file. */
const FULL_BYTES = 262_144;

/**
 * The second place of what decides whom the hub believes: `trust.log` has a line, synced, for each change of those spaces of
 * `state.db`. A store that came back from an older copy takes the changes that it lacks from here, so that a revoked token stays
 * revoked and a used approval stays used.
 */
export class TrustLog implements Disposable {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #write: WriteBytes | undefined;
  readonly #spaces: ReadonlySet<string>;
  #descriptor: number | undefined;
  #lengthBytes = 0;
  /** Of what still counted at the last `rewrite`: where that is much, it is not written again for each change. */
  #keptBytes = 0;

  constructor(path: string, spaces: readonly string[], { logger, write }: TrustLogParts) {
    this.#path = path;
    this.#spaces = new Set(spaces);
    this.#logger = logger;
    this.#write = write;
  }

  /** True for an entry of which a second copy is kept. */
  holds(space: string): boolean {
    return this.#spaces.has(space);
  }

  /** It is time for `rewrite`. */
  isFull(): boolean {
    return this.#lengthBytes > Math.max(FULL_BYTES, 2 * this.#keptBytes);
  }

  /** STORAGE_FAILED. */
  read(): KnownTrust {
    return guardStorage(this.#path, () => {
      const aside = setAsideUnlessFile(this.#path);
      if (aside !== undefined) this.#logger.warn('trust_log_set_aside', { path: this.#path, aside });
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
      if (damaged > 0) this.#logger.warn('trust_log_damaged', { path: this.#path, lines: damaged });
      return { changes: [...newest.values()], isWhole: damaged === 0 };
    });
  }

  /** On the disk when it returns. STORAGE_FAILED. */
  append(change: TrustChange): void {
    guardStorage(this.#path, () => {
      this.#descriptor ??= openSync(this.#path, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, 0o600);
      // A line that a full disk cut off is ended, so that the next one stands alone.
      const { size } = fstatSync(this.#descriptor);
      const bytes = Buffer.from(`${size === this.#lengthBytes ? '' : '\n'}${textOf(change)}`);
      writeAll({ path: this.#path, descriptor: this.#descriptor, bytes, ...(this.#write && { write: this.#write }) });
      fdatasyncSync(this.#descriptor);
      this.#lengthBytes = size + bytes.length;
    });
  }

  /** Leaves what still counts. A failure is told: what there is stays good. */
  rewrite(changes: readonly TrustChange[]): void {
    this[Symbol.dispose]();
    const text = changes.map(textOf).join('');
    try {
      replaceFile(this.#path, text);
      this.#lengthBytes = this.#keptBytes = Buffer.byteLength(text);
    } catch (error) {
      this.#lengthBytes = -1;
      this.#logger.warn('trust_log_not_rewritten', { path: this.#path, reason: String(toStorageError(error, this.#path)) });
    }
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

function textOf({ generation, space, key, value, expiresMs }: TrustChange): string {
  const body = JSON.stringify({
    generation,
    space,
    key,
    ...(value !== undefined && { value }),
    ...(expiresMs !== undefined && { expires_ms: expiresMs }),
  });
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
