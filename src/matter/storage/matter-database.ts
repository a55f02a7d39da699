import '../matter-platform.ts';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { DatafileRoot, type DataNamespace, ImplementationError, StorageDriver, type SupportedStorageTypes, toJson } from '@matter/main';
import { SqliteStorageDriver } from '@matter/nodejs';
import { isJsonObject } from '../../core/json.ts';
import type { FileAnchor, FileMark } from '../../core/storage/key-value-store.ts';

type Creator = NonNullable<NonNullable<ConstructorParameters<typeof SqliteStorageDriver>[0]>['databaseCreator']>;

/** The table of the sqlite driver of matter.js 0.17.9. */
const TABLE = `CREATE TABLE IF NOT EXISTS kvstore (
  context TEXT NOT NULL,
  key TEXT NOT NULL,
  value_type TEXT CHECK(value_type IN ('json', 'blob')),
  value_json TEXT,
  value_blob BLOB,
  CONSTRAINT PKPair PRIMARY KEY (context, key)
) STRICT`;
const SUM = (row: 'NEW' | 'OLD') => `row_sum(${row}.context, ${row}.key, ${row}.value_type, ${row}.value_json, ${row}.value_blob)`;
/** Triggers that update the change count and the sum of all row checksums. They are temporary: other connections have no `row_sum`. */
const COUNTING = `CREATE TABLE IF NOT EXISTS hub_mark (generation INTEGER NOT NULL, sum INTEGER NOT NULL);
CREATE TEMP TRIGGER mark_insert AFTER INSERT ON main.kvstore BEGIN
  UPDATE hub_mark SET generation = generation + 1, sum = sum + ${SUM('NEW')};
END;
CREATE TEMP TRIGGER mark_update AFTER UPDATE ON main.kvstore BEGIN
  UPDATE hub_mark SET generation = generation + 1, sum = sum + ${SUM('NEW')} - ${SUM('OLD')};
END;
CREATE TEMP TRIGGER mark_delete AFTER DELETE ON main.kvstore BEGIN
  UPDATE hub_mark SET generation = generation + 1, sum = sum - ${SUM('OLD')};
END`;

/**
 * Opens the database of matter.js's sqlite driver. Unlike the driver's own connection (0.17.9), this one can write again after the disk was
 * full, reports changes to `anchor`, and syncs each commit. So a power cut loses no device that has just joined.
 */
export function openMatterDatabase(path: string, anchor?: FileAnchor): ReturnType<Creator> {
  const database = new DatabaseSync(path);
  // With recursive triggers, the delete trigger also runs for a replaced row.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA recursive_triggers = ON');
  beginCounting(database);
  const mark = () => {
    if (anchor && !database.isTransaction) anchor.synced(changeMarkIn(database) ?? { generation: 0, digest: '' });
  };
  mark();
  const prepare = (sql: string) => {
    const statement = database.prepare(sql);
    const run = statement.run.bind(statement);
    return Object.assign(statement, {
      run: (...values: Parameters<typeof run>) => {
        const result = run(...values);
        mark();
        return result;
      },
    });
  };
  return {
    prepare: prepare as unknown as ReturnType<Creator>['prepare'],
    exec(sql) {
      // If the disk is full, SQLite rolls back by itself. The error of a second ROLLBACK would leave matter.js in its transaction forever.
      if (sql !== 'ROLLBACK' || database.isTransaction) database.exec(sql);
      if (sql === 'COMMIT') mark();
    },
    close: () => database.close(),
  };
}

/** Returns the change count and checksum of a storage file. Returns undefined if the changes of the file were not counted. */
export function changeMarkIn(database: DatabaseSync): FileMark | undefined {
  const isCounted = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'hub_mark'").get() !== undefined;
  const row = isCounted ? database.prepare('SELECT generation, sum FROM hub_mark').get() : undefined;
  return row && { generation: Number(row.generation), digest: String(row.sum) };
}

/** Returns the sum of all row checksums. */
export function sumOfRows(database: DatabaseSync): string {
  let sum = 0;
  for (const { context, key, value_type: type, value_json: json, value_blob: blob } of database
    .prepare('SELECT * FROM kvstore')
    .iterate()) {
    sum += rowSum(context ?? null, key ?? null, type ?? null, json ?? null, blob ?? null);
  }
  return String(sum);
}

function beginCounting(database: DatabaseSync): void {
  database.function('row_sum', { deterministic: true, varargs: true }, rowSum);
  database.exec(TABLE);
  const before = changeMarkIn(database);
  database.exec(COUNTING);
  const sum = sumOfRows(database);
  if (!before) database.prepare('INSERT INTO hub_mark VALUES (1, ?)').run(Number(sum));
  // The rows do not match the stored sum, but the hub has accepted the file. So the difference counts as a change.
  else if (before.digest !== sum) database.prepare('UPDATE hub_mark SET generation = generation + 1, sum = ?').run(Number(sum));
}

function rowSum(...values: readonly SQLInputValue[]): number {
  return crc32(JSON.stringify(values.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value))));
}

/** The identity of the fabric in a storage file. */
export interface FabricIdentity {
  /** The 64-bit fabric id as decimal text. */
  readonly fabricId: string;
  /** SHA-256 of the root certificate and its private key in hex: a new fabric or a flipped bit changes it. */
  readonly rootHash: string;
}

/** Result of a check. `mark` is absent if the file counts no changes. `isAsWritten` is false if the rows do not match their checksum. */
export type Inspection =
  | { readonly state: 'whole'; readonly identity: FabricIdentity | undefined; readonly mark?: FileMark; readonly isAsWritten: boolean }
  | { readonly state: 'broken'; readonly reason: string };

/** Checks a storage file of matter.js's sqlite driver, read-only. */
export function inspectStorage(file: string): Inspection {
  try {
    using database = new DatabaseSync(file, { readOnly: true });
    // The file has no table: the hub was killed before it created the table, or the file was emptied.
    if (database.prepare('SELECT 1 FROM sqlite_master').get() === undefined) {
      return { state: 'whole', identity: undefined, isAsWritten: true };
    }
    const damage = findDamage(database);
    if (damage !== undefined) return { state: 'broken', reason: damage };
    const mark = changeMarkIn(database);
    const isAsWritten = mark === undefined || mark.digest === sumOfRows(database);
    return { state: 'whole', identity: readIdentity(database), ...(mark && { mark }), isAsWritten };
  } catch (error) {
    return { state: 'broken', reason: error instanceof Error ? error.message : String(error) };
  }
}

function findDamage(database: DatabaseSync): string | undefined {
  const check = database.prepare('PRAGMA quick_check(1)').get()?.quick_check;
  if (check !== 'ok') return String(check);
  // quick_check checks the pages of the file, but not whether the values are valid JSON.
  const invalid = database.prepare("SELECT count(*) AS n FROM kvstore WHERE value_type = 'json' AND NOT json_valid(value_json)").get()?.n;
  return invalid === 0 ? undefined : `${invalid} values are not JSON`;
}

function readIdentity(database: DatabaseSync): FabricIdentity | undefined {
  const value = (context: string, key: string): string | undefined => {
    const row = database.prepare('SELECT value_json FROM kvstore WHERE context = ? AND key = ?').get(context, key);
    return typeof row?.value_json === 'string' ? row.value_json : undefined;
  };
  const certificate = value('certificates', 'rootCertBytes');
  const keyPair = value('certificates', 'rootKeyPair');
  const fabricId = firstFabricId(value('fabrics', 'fabrics'));
  if (certificate === undefined || keyPair === undefined || fabricId === undefined) return undefined;
  return { fabricId, rootHash: createHash('sha256').update(certificate).update(keyPair).digest('hex') };
}

/** Returns the id of the first fabric; the driver stores a bigint as JSON text: `{"__object__":"BigInt","__value__":"…"}`. */
function firstFabricId(json: string | undefined): string | undefined {
  const fabrics: unknown = json === undefined ? [] : JSON.parse(json);
  const first: unknown = Array.isArray(fabrics) ? fabrics[0] : undefined;
  if (!isJsonObject(first) || typeof first.fabricId !== 'string') return undefined;
  const boxed: unknown = JSON.parse(first.fabricId);
  return isJsonObject(boxed) && typeof boxed.__value__ === 'string' ? boxed.__value__ : undefined;
}

/** After a restore, the counter advances by this value. A hub sends fewer group messages than this between a backup and its restore. */
const SKIPPED = 2 ** 24;
const LAST = 2 ** 32 - 1;

/**
 * Advances the counter of group messages (Matter core specification §4.6.1.3) in a closed storage that comes from a backup. Otherwise the
 * hub would use counter values a second time, and devices would reject its messages as replays. Does nothing if there is no counter.
 */
export function skipGroupCounter(matterDir: string): void {
  const path = join(matterDir, 'hub/storage.db');
  if (!existsSync(path)) return;
  // `openMatterDatabase` counts the write and updates the stored sum. Without that, the next start would report damage.
  const database = openMatterDatabase(path);
  try {
    const counter = database
      .prepare<{ text: string }>("SELECT value_json AS text FROM kvstore WHERE context = 'sessions' AND key = 'groupDataCounter'")
      .get();
    const value = typeof counter?.text === 'string' ? Number(counter.text) : Number.NaN;
    if (!Number.isSafeInteger(value)) return;
    const ahead = Math.min(value + SKIPPED, LAST);
    database.exec(`UPDATE kvstore SET value_json = '${ahead}' WHERE context = 'sessions' AND key = 'groupDataCounter'`);
  } finally {
    database.close();
  }
}

type Write = () => void;

/**
 * The sqlite driver of matter.js, except that a transaction writes everything at its commit. A transaction of the original driver (0.17.9)
 * stays open across awaits. If a second transaction begins meanwhile, it fails with "Transaction is in progress" and its state is lost.
 * Other writes made meanwhile are committed or rolled back with the first transaction.
 */
export class BatchStorageDriver extends SqliteStorageDriver {
  static override create(namespace: DataNamespace): Promise<BatchStorageDriver> {
    return openDriver(namespace);
  }

  /** Returns a driver class that also reports each change of the database of the node `folder` to an anchor. */
  static anchoredBy(anchor: FileAnchor, folder: string): typeof BatchStorageDriver {
    return class extends BatchStorageDriver {
      static override create(namespace: DataNamespace): Promise<BatchStorageDriver> {
        return openDriver(namespace, namespace.namespace === folder ? anchor : undefined);
      }
    };
  }

  override begin(): BatchTransaction {
    return new BatchTransaction(this);
  }

  /** Sets a value that is already in matter.js's JSON form. */
  setText(contexts: string[], key: string, text: string): void {
    this.setValue(contexts, key, text);
  }

  /** Applies all writes in one transaction. */
  applyTogether(writes: readonly Write[]): void {
    this.withAnyTransaction(() => {
      for (const write of writes) write();
    });
  }
}

/** Collects writes until the commit. Reads return only committed values: matter.js never reads back what its open transaction wrote. */
class BatchTransaction extends StorageDriver.Transaction {
  readonly #driver: BatchStorageDriver;
  #writes: Write[] = [];

  constructor(driver: BatchStorageDriver) {
    super(driver);
    this.#driver = driver;
  }

  override set(contexts: string[], keyOrValues: string | Record<string, SupportedStorageTypes>, value?: SupportedStorageTypes): void {
    this.assertActive();
    const values = typeof keyOrValues === 'string' ? { [keyOrValues]: value ?? null } : keyOrValues;
    // The values are serialised now, since the caller may change its objects before the commit.
    const texts = Object.entries(values).map(([key, member]) => [key, toJson(member ?? null)] as const);
    this.#writes.push(() => {
      for (const [key, text] of texts) this.#driver.setText(contexts, key, text);
    });
  }

  override delete(contexts: string[], key: string): void {
    this.assertActive();
    this.#writes.push(() => this.#driver.delete(contexts, key));
  }

  override clearAll(contexts: string[]): void {
    this.assertActive();
    this.#writes.push(() => this.#driver.clearAll(contexts));
  }

  override commit(): void {
    this.assertActive();
    this.#driver.applyTogether(this.#writes);
    super.commit();
  }

  override rollback(): void {
    this.#writes = [];
  }
}

async function openDriver(namespace: DataNamespace, anchor?: FileAnchor): Promise<BatchStorageDriver> {
  if (!(namespace instanceof DatafileRoot)) throw new ImplementationError('This storage needs a folder');
  mkdirSync(namespace.directory.path, { recursive: true });
  const databaseCreator = (path: string) => openMatterDatabase(path, anchor);
  const driver = new BatchStorageDriver({ databaseCreator, namespaceOrPath: namespace });
  await driver.initialize();
  return driver;
}
