import { join } from 'node:path';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { FileMark } from '../core/storage/file-anchor.ts';
import { type KeyValueStore, TRUST_SPACES } from '../core/storage/key-value-store.ts';
import type { Snapshot } from './snapshot-folder.ts';
import { SqliteFile, type StorageServices } from './sqlite-file.ts';
import { damagedError } from './storage-error.ts';
import { type KnownTrust, type TrustChange, TrustLog } from './trust-log.ts';

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
/** Of what was taken from the trusted; snapshots reach back some hours. */
const MOST_DELETIONS = 500;
const LIVE = '(expires_ms IS NULL OR expires_ms > :now)';

/**
 * Small durable state in `state.db`: each write is synced to the disk before the call returns, raises the generation, and is
 * anchored. What decides whom the hub believes is in `trust.log` as well.
 */
export class StateStore implements KeyValueStore, Service {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #file: SqliteFile;
  readonly #trust: TrustLog;
  /** Deletions in the spaces of trust, by space and key, the oldest first. */
  readonly #deleted = new Map<string, TrustChange>();
  readonly #maxValueBytes: number;
  readonly #sweepEveryMs: number;
  readonly #isCopiedAtStop: boolean;
  #generation = 0;
  /** Sum of the sums of all rows: what a content is told apart by. */
  #digest = 0;
  #cancelSweep: () => void = () => {};

  constructor(collaborators: StorageServices, options: StateStoreOptions) {
    this.#clock = collaborators.clock;
    this.#logger = collaborators.logger;
    this.#maxValueBytes = options.maxValueBytes ?? 1_048_576;
    this.#isCopiedAtStop = options.isCopiedAtStop ?? true;
    this.#sweepEveryMs = options.sweepEveryMs ?? HOUR_MS / 6;
    this.#trust = new TrustLog(join(options.directory, 'trust.log'), TRUST_SPACES, { logger: collaborators.logger });
    this.#file = new SqliteFile(collaborators, {
      path: join(options.directory, 'state.db'),
      anchor: 'state.db',
      measure: measureEntries,
      synchronous: 'FULL',
      pageSizeBytes: 4096,
      checkpointPages: 1000,
      maxBytes: options.maxFileBytes ?? 256 * 1_048_576,
      migrations: ENTRY_MIGRATIONS,
      snapshots: { directory: options.snapshotDirectory, everyMs: options.snapshotEveryMs ?? HOUR_MS, kept: 5 },
      whenLost: 'refuse',
    });
  }

  async start(): Promise<void> {
    if (this.#file.isOpen) return;
    const before = this.#file.anchor.least()?.generation ?? 0;
    await this.#file.start();
    const found = this.#file.use(measureEntries);
    const known = this.#trust.read();
    const { changes } = known;
    this.#noteDeletions(changes);
    this.#digest = Number(found.digest);
    // Numbers that a lost file has used are never used again: the second place could not tell old changes from new ones.
    this.#generation = Math.max(found.generation, before, ...changes.map(({ generation }) => generation));
    this.#signUnsigned();
    this.#replay(changes.filter(({ generation }) => generation > found.generation));
    this.#renewTrustLog(known);
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
    this.#put({ space, key, value: text, expiresMs });
    if (this.#trust.holds(space))
      this.#keepTwice({ space, key, value: JSON.parse(text) as Json, ...(expiresMs !== null && { expiresMs }) });
  }

  delete(space: string, key: string): boolean {
    const wasLive = this.get(space, key) !== undefined;
    const isGone = this.#drop('space = ? AND key = ?', space, key) > 0;
    if (isGone && this.#trust.holds(space)) this.#keepTwice({ space, key });
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
    this.#trust[Symbol.dispose]();
  }

  #put(entry: Pick<EntryRow, 'space' | 'key' | 'value' | 'expiresMs'>): void {
    const row = { ...entry, generation: this.#generation + 1 };
    const sum = sumOf(row);
    const before = this.#file.write((database) => {
      const old = database.prepare('SELECT sum FROM entry WHERE space = ? AND key = ?').get(row.space, row.key);
      const insert = database.prepare(
        'INSERT OR REPLACE INTO entry (space, key, value, expires_ms, generation, sum) VALUES (?, ?, ?, ?, ?, ?)',
      );
      insert.run(row.space, row.key, row.value, row.expiresMs, row.generation, sum);
      return Number(old?.sum ?? 0);
    });
    this.#follow(row.generation, sum - before);
  }

  /** Answers how many rows went. */
  #drop(where: string, ...values: readonly (string | number)[]): number {
    const generation = this.#generation + 1;
    const sums = this.#file.transaction((database) => {
      const gone = database.prepare(`DELETE FROM entry WHERE ${where} RETURNING sum`).all(...values);
      if (gone.length > 0) database.prepare('UPDATE deleted SET generation = ?').run(generation);
      return gone.map(({ sum }) => Number(sum));
    });
    if (sums.length > 0) this.#follow(generation, -sums.reduce((total, sum) => total + sum, 0));
    return sums.length;
  }

  #follow(generation: number, change: number): void {
    this.#generation = generation;
    this.#digest += change;
    this.#file.anchor.synced({ generation, digest: String(this.#digest) } satisfies FileMark);
  }

  /** After the entry itself: what fails here was not promised, and counts all the same. */
  #keepTwice(given: Omit<TrustChange, 'generation'>): void {
    const change = { generation: this.#generation, ...given };
    this.#trust.append(change);
    this.#noteDeletions([change]);
    if (this.#trust.isFull()) this.#trust.rewrite(this.#trustChanges());
  }

  /** What was taken from the trusted stays taken, also where the store comes back from a copy of before: the newest of it is kept on. */
  #noteDeletions(changes: readonly TrustChange[]): void {
    for (const change of changes) {
      const name = `${change.space}\0${change.key}`;
      this.#deleted.delete(name);
      if (change.value === undefined) this.#deleted.set(name, change);
    }
    for (const name of [...this.#deleted.keys()].slice(0, -MOST_DELETIONS)) this.#deleted.delete(name);
  }

  /** Rows of a hub before sums were kept. */
  #signUnsigned(): void {
    const unsigned = this.#file.use((database) => database.prepare(`${SELECT_ROWS} WHERE sum IS NULL`).all().map(rowOf));
    if (unsigned.length === 0) return;
    const generation = this.#generation + 1;
    const signed = unsigned.map((row) => ({ ...row, generation }));
    this.#file.transaction((database) => {
      const update = database.prepare('UPDATE entry SET generation = ?, sum = ? WHERE space = ? AND key = ?');
      for (const row of signed) update.run(generation, sumOf(row), row.space, row.key);
    });
    this.#follow(
      generation,
      signed.reduce((total, row) => total + sumOf(row), 0),
    );
  }

  #replay(changes: readonly TrustChange[]): void {
    for (const { space, key, value, expiresMs } of changes) {
      if (value === undefined) this.#drop('space = ? AND key = ?', space, key);
      else this.#put({ space, key, value: JSON.stringify(value), expiresMs: expiresMs ?? null });
    }
    if (changes.length > 0) this.#logger.warn('trust_replayed', { changes: changes.length });
  }

  /** So that each of the two places has what the other has. */
  #renewTrustLog({ changes: known, isWhole }: KnownTrust): void {
    const textOf = ({ space, key, value, expiresMs }: TrustChange) => JSON.stringify([space, key, value, expiresMs]);
    const wanted = this.#trustChanges();
    const [before, now] = [known, wanted].map((changes) => changes.map(textOf).sort().join('\n'));
    if (!isWhole || before !== now) this.#trust.rewrite(wanted);
  }

  #trustChanges(): readonly TrustChange[] {
    const marks = TRUST_SPACES.map(() => '?').join();
    const rows = this.#file.use((database) =>
      database.prepare(`${SELECT_ROWS} WHERE space IN (${marks}) ORDER BY generation`).all(...TRUST_SPACES),
    );
    const living = rows.map(rowOf).map(({ space, key, value, expiresMs, generation }) => ({
      generation,
      space,
      key,
      value: JSON.parse(value) as Json,
      ...(expiresMs !== null && { expiresMs }),
    }));
    return [...this.#deleted.values(), ...living].sort((a, b) => a.generation - b.generation);
  }

  /** Expired entries are invisible already; this gives their room back. */
  #sweep(): void {
    this.#cancelSweep = this.#clock.after(this.#sweepEveryMs, () => this.#sweep());
    try {
      this.#drop('expires_ms <= ?', this.#clock.now());
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

/**
 * state.db. `generation` is the number of the write that made the row, `sum` a CRC-32 over the whole row: quick_check looks at
 * pages, and not at what is written in them. `deleted` has the number of the last write that took rows away.
 */
export const ENTRY_MIGRATIONS = [
  `CREATE TABLE entry (
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    expires_ms INTEGER,
    PRIMARY KEY (space, key)
  ) WITHOUT ROWID;
  CREATE INDEX entry_expiry ON entry (expires_ms) WHERE expires_ms IS NOT NULL`,
  `ALTER TABLE entry ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE entry ADD COLUMN sum INTEGER;
  CREATE TABLE deleted (generation INTEGER NOT NULL);
  INSERT INTO deleted VALUES (0)`,
];

/** An entry as it is stored. */
interface EntryRow {
  readonly space: string;
  readonly key: string;
  /** JSON. */
  readonly value: string;
  readonly expiresMs: number | null;
  readonly generation: number;
}

const SELECT_ROWS = 'SELECT space, key, value, expires_ms, generation, sum FROM entry';

function rowOf({ space, key, value, expires_ms: expiresMs, generation }: Record<string, SQLOutputValue>): EntryRow {
  return {
    space: String(space),
    key: String(key),
    value: String(value),
    expiresMs: expiresMs === null ? null : Number(expiresMs),
    generation: Number(generation),
  };
}

function sumOf({ space, key, value, expiresMs, generation }: EntryRow): number {
  return crc32(JSON.stringify([space, key, value, expiresMs, generation]));
}

/**
 * The generation of a store and the sum of the sums of its rows. Throws STORAGE_FAILED with cause `damaged` for a row that is not as
 * it was written. Rows of a hub before sums were kept have none.
 */
function measureEntries(database: DatabaseSync): FileMark {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (version < ENTRY_MIGRATIONS.length) return { generation: 0, digest: '' };
  let generation = Number(database.prepare('SELECT generation FROM deleted').get()?.generation);
  let digest = 0;
  for (const found of database.prepare(SELECT_ROWS).iterate()) {
    const row = rowOf(found);
    const isUnsigned = found.sum === null && row.generation === 0;
    if (!isUnsigned && found.sum !== sumOf(row))
      throw damagedError('state.db', `the entry ${row.space}/${row.key} is not as it was written`);
    generation = Math.max(generation, row.generation);
    digest += Number(found.sum);
  }
  return { generation, digest: String(digest) };
}
