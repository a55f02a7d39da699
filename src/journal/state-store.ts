import { join } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { Service } from '../core/service.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { Clock } from '../core/time/clock.ts';
import type { Snapshot } from './snapshot-folder.ts';
import { type JournalCollaborators, SqliteFile } from './sqlite-file.ts';

/** Where state lies and what bounds it. */
export interface StateStoreOptions {
  /** Folder that holds `state.db`. */
  readonly directory: string;
  readonly snapshotDirectory: string;
  readonly snapshotEveryMs?: number;
  /** Copies what changed since the last scheduled snapshot when the store stops. Default true. */
  readonly isCopiedAtStop?: boolean;
  readonly maxValueBytes?: number;
  readonly maxFileBytes?: number;
  readonly sweepEveryMs?: number;
}

const HOUR_MS = 3_600_000;
const MAX_NAME_LENGTH = 256;
const MIGRATIONS = [
  `CREATE TABLE entry (
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    expires_ms INTEGER,
    PRIMARY KEY (space, key)
  ) WITHOUT ROWID;
  CREATE INDEX entry_expiry ON entry (expires_ms) WHERE expires_ms IS NOT NULL`,
];
const LIVE = '(expires_ms IS NULL OR expires_ms > :now)';

/** Small durable state in `state.db`: each write is synced to the disk before the call returns. */
export class StateStore implements KeyValueStore, Service {
  readonly #clock: Clock;
  readonly #file: SqliteFile;
  readonly #maxValueBytes: number;
  readonly #sweepEveryMs: number;
  readonly #isCopiedAtStop: boolean;
  #cancelSweep: () => void = () => {};

  constructor(collaborators: JournalCollaborators, options: StateStoreOptions) {
    this.#clock = collaborators.clock;
    this.#maxValueBytes = options.maxValueBytes ?? 1_048_576;
    this.#isCopiedAtStop = options.isCopiedAtStop ?? true;
    this.#sweepEveryMs = options.sweepEveryMs ?? HOUR_MS / 6;
    this.#file = new SqliteFile(collaborators, {
      path: join(options.directory, 'state.db'),
      synchronous: 'FULL',
      pageSizeBytes: 4096,
      checkpointPages: 1000,
      maxBytes: options.maxFileBytes ?? 256 * 1_048_576,
      migrations: MIGRATIONS,
      snapshots: { directory: options.snapshotDirectory, everyMs: options.snapshotEveryMs ?? HOUR_MS, kept: 5 },
      whenLost: 'refuse',
    });
  }

  async start(): Promise<void> {
    await this.#file.start();
    this.#sweep();
  }

  get(space: string, key: string): Json | undefined {
    const row = this.#file.use((database) =>
      database
        .prepare(`SELECT value FROM entry WHERE space = :space AND key = :key AND ${LIVE}`)
        .get({ space, key, now: this.#clock.now() }),
    );
    return row && (JSON.parse(String(row.value)) as Json);
  }

  set(space: string, key: string, value: Json, options: { readonly ttlMs?: number } = {}): void {
    checkName('space', space);
    checkName('key', key);
    const text = this.#stored(space, key, value);
    const expiresMs = options.ttlMs === undefined ? null : this.#clock.now() + checkTtl(options.ttlMs);
    this.#file.use((database) => database.prepare('INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?)').run(space, key, text, expiresMs));
  }

  delete(space: string, key: string): boolean {
    const wasLive = this.get(space, key) !== undefined;
    this.#file.use((database) => database.prepare('DELETE FROM entry WHERE space = ? AND key = ?').run(space, key));
    return wasLive;
  }

  entries(space: string): readonly { readonly key: string; readonly value: Json }[] {
    const rows = this.#file.use((database) =>
      database.prepare(`SELECT key, value FROM entry WHERE space = :space AND ${LIVE} ORDER BY key`).all({ space, now: this.#clock.now() }),
    );
    return rows.map((row) => ({ key: String(row.key), value: JSON.parse(String(row.value)) as Json }));
  }

  /** Copies the database now, beside the scheduled copies. */
  snapshot(): Promise<Snapshot> {
    return this.#file.snapshot();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelSweep();
    // What was written since the last scheduled copy, such as a new device's name, is not to hang on one file.
    if (this.#isCopiedAtStop) await this.#file.snapshotIfChanged();
    await this.#file[Symbol.asyncDispose]();
  }

  /** Expired entries are invisible already; this gives their room back. */
  #sweep(): void {
    this.#cancelSweep = this.#clock.after(this.#sweepEveryMs, () => this.#sweep());
    try {
      this.#file.use((database) => database.prepare('DELETE FROM entry WHERE expires_ms <= ?').run(this.#clock.now()));
    } catch (error) {
      // A full disk shows itself at the next write to the one who writes; the sweep just comes again.
      if (!(error instanceof AtmoError)) throw error;
    }
  }

  #stored(space: string, key: string, value: Json): string {
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined) throw new AtmoError('VALIDATION_ERROR', `The value for ${space}/${key} is not JSON`);
    const bytes = Buffer.byteLength(text);
    if (bytes <= this.#maxValueBytes) return text;
    throw new AtmoError('PAYLOAD_TOO_LARGE', `The value for ${space}/${key} has ${bytes} bytes; store at most ${this.#maxValueBytes}`, {
      bytes,
      maxBytes: this.#maxValueBytes,
    });
  }
}

function checkName(what: 'space' | 'key', name: string): void {
  if (name.length > 0 && name.length <= MAX_NAME_LENGTH && name.isWellFormed()) return;
  throw new AtmoError('VALIDATION_ERROR', `A ${what} has 1 to ${MAX_NAME_LENGTH} characters; this one has ${name.length}`);
}

function checkTtl(ttlMs: number): number {
  if (Number.isFinite(ttlMs) && ttlMs > 0) return Math.ceil(ttlMs);
  throw new AtmoError(
    'VALIDATION_ERROR',
    `A time to live is a positive number of milliseconds, not ${ttlMs}; leave it out to store for ever`,
  );
}
