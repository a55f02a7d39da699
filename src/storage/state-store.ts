import { join } from 'node:path';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { AtmoError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import { type FileMark, type KeyValueStore, TRUST_SPACES } from '../core/storage/key-value-store.ts';
import type { Snapshot } from './snapshot-folder.ts';
import { SqliteFile, type StorageServices } from './sqlite-file.ts';
import { damagedError } from './storage-error.ts';
import { type KnownTrust, type TrustChange, TrustLog } from './trust-log.ts';

/** Folders and limits of the state. */
export interface StateStoreOptions {
  /** Folder with `state.db`. */
  readonly directory: string;
  readonly snapshotDirectory: string;
  /** Size of the database's page cache in KiB. */
  readonly cacheKib?: number;
  readonly snapshotEveryMs?: number;
  /** If true, makes no snapshot when the store stops. Otherwise makes one then, if anything has changed since the last snapshot. */
  readonly skipsCopyAtStop?: boolean;
  readonly maxValueBytes?: number;
  readonly maxFileBytes?: number;
  readonly sweepEveryMs?: number;
}

const HOUR_MS = 3_600_000;
const MAX_NAME_LENGTH = 256;
/** Maximum number of remembered deletions of trust entries. They are repeated after a restore from a snapshot, which is some hours old. */
const MOST_DELETIONS = 500;
const LIVE = '(expires_ms IS NULL OR expires_ms > :now)';
/** Largest length of the values of a space that is kept in memory, in characters. */
const MAX_KEPT_LENGTH = 16_384;

interface SpaceEntry {
  readonly entry: { readonly key: string; readonly value: Json };
  /** Milliseconds since 1970; null if it never expires. */
  readonly expiresMs: number | null;
}

/**
 * Stores small durable state in `state.db`. Each write increments the generation, and is synced and anchored before the call returns.
 * `trust.log` has a second copy of the trust entries, which decide whom the hub trusts.
 */
export class StateStore implements KeyValueStore, Service {
  readonly #collaborators: StorageServices;
  readonly #options: StateStoreOptions;
  readonly #file: SqliteFile;
  readonly #trust: TrustLog;
  /** Deletions of trust entries by space and key, the oldest first. */
  readonly #deleted = new Map<string, TrustChange>();
  /** Small spaces as they were read, with the entries that have expired since. */
  readonly #spaces = new Map<string, readonly SpaceEntry[]>();
  #generation = 0;
  /** Sum of the checksums of all rows. */
  #digest = 0;
  #hasLostChanges = false;
  #cancelSweep: () => void = () => {};

  constructor(services: StorageServices, options: StateStoreOptions) {
    this.#collaborators = services;
    this.#options = options;
    this.#trust = new TrustLog(join(options.directory, 'trust.log'), TRUST_SPACES, { logger: services.logger });
    this.#file = new SqliteFile(services, {
      path: join(options.directory, 'state.db'),
      anchor: 'state.db',
      measure: measureEntries,
      synchronous: 'FULL',
      pageSizeBytes: 4096,
      cacheKib: options.cacheKib,
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
    // Generations of a lost file are never used again; otherwise old changes in `trust.log` would look new.
    this.#generation = Math.max(found.generation, before, ...changes.map(({ generation }) => generation));
    this.#hasLostChanges = found.generation < this.#generation;
    this.#signUnsigned();
    this.#replay(changes.filter(({ generation }) => generation > found.generation));
    this.#renewTrustLog(known);
    this.#sweep();
  }

  /** Whether the file was found older than it was, or had to be restored: all but the trust entries of its last changes are gone. */
  get hasLostChanges(): boolean {
    return this.#hasLostChanges;
  }

  get(space: string, key: string): Json | undefined {
    const sql = `SELECT value FROM entry WHERE space = :space AND key = :key AND ${LIVE}`;
    const row = this.#file.use(() => this.#file.statement(sql).get({ space, key, now: this.#collaborators.clock.now() }));
    return row && (JSON.parse(String(row.value)) as Json);
  }

  set(space: string, key: string, value: Json, options: { readonly ttlMs?: number } = {}): void {
    checkName('space', space);
    checkName('key', key);
    const text = this.#stored(space, key, value);
    const expiresMs = options.ttlMs === undefined ? null : this.#collaborators.clock.now() + checkTtl(options.ttlMs);
    this.#put({ space, key, value: text, expiresMs });
    if (this.#trust.holds(space))
      this.#appendTrust({ space, key, value: JSON.parse(text) as Json, ...(expiresMs !== null && { expiresMs }) });
  }

  delete(space: string, key: string): boolean {
    const wasLive = this.get(space, key) !== undefined;
    const isGone = this.#drop('space = ? AND key = ?', space, key) > 0;
    if (isGone && this.#trust.holds(space)) this.#appendTrust({ space, key });
    return wasLive;
  }

  entries(space: string): readonly { readonly key: string; readonly value: Json }[] {
    const nowMs = this.#collaborators.clock.now();
    const rows = this.#file.use(() => this.#spaces.get(space) ?? this.#readSpace(space));
    return rows.filter(({ expiresMs }) => expiresMs === null || expiresMs > nowMs).map(({ entry }) => entry);
  }

  /** Reads a space. A small one is kept until it changes: each request asks for the persons of the house and their keys. */
  #readSpace(space: string): readonly SpaceEntry[] {
    const sql = 'SELECT key, value, expires_ms FROM entry WHERE space = ? ORDER BY key';
    const rows = this.#file.statement(sql).all(space);
    const entries = rows.map(({ key, value, expires_ms: expiresMs }) => ({
      entry: { key: String(key), value: JSON.parse(String(value)) as Json },
      expiresMs: expiresMs === null ? null : Number(expiresMs),
    }));
    const length = rows.reduce((sum, { value }) => sum + String(value).length, 0);
    if (length <= MAX_KEPT_LENGTH) this.#spaces.set(space, entries);
    return entries;
  }

  /** Copies the database now, in addition to the scheduled copies. */
  snapshot(): Promise<Snapshot> {
    return this.#file.snapshot();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelSweep();
    // Changes since the last scheduled snapshot, such as the name of a new device, must not exist in only one file.
    if (!this.#options.skipsCopyAtStop) await this.#file.snapshotIfChanged();
    await this.#file[Symbol.asyncDispose]();
    this.#trust[Symbol.dispose]();
  }

  #put(entry: Pick<EntryRow, 'space' | 'key' | 'value' | 'expiresMs'>): void {
    const row = { ...entry, generation: this.#generation + 1 };
    this.#spaces.delete(row.space);
    const sum = sumOf(row);
    const before = this.#file.write(() => {
      const old = this.#file.statement('SELECT sum FROM entry WHERE space = ? AND key = ?').get(row.space, row.key);
      const insert = this.#file.statement(
        'INSERT OR REPLACE INTO entry (space, key, value, expires_ms, generation, sum) VALUES (?, ?, ?, ?, ?, ?)',
      );
      insert.run(row.space, row.key, row.value, row.expiresMs, row.generation, sum);
      return Number(old?.sum ?? 0);
    });
    this.#follow(row.generation, sum - before);
  }

  #drop(where: string, ...values: readonly (string | number)[]): number {
    const generation = this.#generation + 1;
    this.#spaces.clear();
    const sums = this.#file.transaction(() => {
      const gone = this.#file.statement(`DELETE FROM entry WHERE ${where} RETURNING sum`).all(...values);
      if (gone.length > 0) this.#file.statement('UPDATE deleted SET generation = ?').run(generation);
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

  /** Appends a change to `trust.log` after the entry was written. If this fails, the caller gets an error, but the entry stays written. */
  #appendTrust(given: Omit<TrustChange, 'generation'>): void {
    const change = { generation: this.#generation, ...given };
    this.#trust.append(change);
    this.#noteDeletions([change]);
    if (this.#trust.isFull()) this.#trust.rewrite(this.#trustChanges());
  }

  /** Remembers the newest deletions of trust entries, so that they still hold after a restore from an older copy. */
  #noteDeletions(changes: readonly TrustChange[]): void {
    for (const change of changes) {
      const name = `${change.space}\0${change.key}`;
      this.#deleted.delete(name);
      if (change.value === undefined) this.#deleted.set(name, change);
    }
    for (const name of [...this.#deleted.keys()].slice(0, -MOST_DELETIONS)) this.#deleted.delete(name);
  }

  /** Adds checksums to rows that an older hub version stored without them. */
  #signUnsigned(): void {
    const unsigned = this.#file.use((database) => database.prepare(`${SELECT_ROWS} WHERE sum IS NULL`).all().map(rowOf));
    if (unsigned.length === 0) return;
    const generation = this.#generation + 1;
    let change = 0;
    this.#file.transaction((database) => {
      const update = database.prepare('UPDATE entry SET generation = ?, sum = ? WHERE space = ? AND key = ?');
      for (const row of unsigned) {
        const sum = sumOf({ ...row, generation });
        update.run(generation, sum, row.space, row.key);
        change += sum;
      }
    });
    this.#follow(generation, change);
  }

  #replay(changes: readonly TrustChange[]): void {
    for (const { space, key, value, expiresMs } of changes) {
      if (value === undefined) this.#drop('space = ? AND key = ?', space, key);
      else this.#put({ space, key, value: JSON.stringify(value), expiresMs: expiresMs ?? null });
    }
    if (changes.length > 0) this.#collaborators.logger.warn('storage.trust_changes_replayed', { changes: changes.length });
  }

  /** Rewrites `trust.log` if it is damaged or differs from the trust entries in the database. */
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

  /** Deletes expired entries. Reads ignore them anyway. */
  #sweep(): void {
    this.#cancelSweep = this.#collaborators.clock.after(this.#options.sweepEveryMs ?? HOUR_MS / 6, () => this.#sweep());
    try {
      this.#drop('expires_ms <= ?', this.#collaborators.clock.now());
    } catch (error) {
      // A failure is ignored: the sweep is repeated, and the next write reports a full disk to its caller.
      if (!(error instanceof AtmoError)) throw error;
    }
  }

  #stored(space: string, key: string, value: Json): string {
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined) throw new AtmoError('VALIDATION_ERROR', `The value for ${space}/${key} is not JSON`);
    const bytes = Buffer.byteLength(text);
    const { maxValueBytes: maxBytes = 1_048_576 } = this.#options;
    if (bytes <= maxBytes) return text;
    throw new AtmoError('PAYLOAD_TOO_LARGE', `The value for ${space}/${key} has ${bytes} bytes; store at most ${maxBytes}`, {
      bytes,
      maxBytes,
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
 * Schema of state.db. `generation` is the number of the write that made the row. `sum` is a CRC-32 over the whole row, since quick_check
 * does not check the content of pages. `deleted` has the number of the last write that deleted rows.
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

interface EntryRow {
  readonly space: string;
  readonly key: string;
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
 * Returns the generation of a store and the sum of the checksums of its rows. Throws STORAGE_FAILED with cause `damaged` if a row was
 * altered. Rows of a hub version without checksums are not checked.
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
