import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { FileAnchor } from '../../core/storage/key-value-store.ts';

/** The embedding model of a collection. */
export interface CollectionInfo {
  readonly model: string;
  /** Number of dimensions of each vector. */
  readonly width: number;
}

/** A document with its parts and their vectors. */
export interface EmbeddedDocument {
  readonly id: string;
  readonly metadata: JsonObject;
  readonly parts: readonly { readonly text: string; readonly vector: Float32Array<ArrayBuffer> }[];
}

/** The vector of a part. `part` and `document` are primary keys in the file. */
export interface StoredVector {
  readonly part: number;
  readonly document: number;
  readonly vector: Float32Array<ArrayBuffer>;
}

/** A part with its text. */
export interface StoredPart {
  readonly document: string;
  /** Number of the part within its document, from 1. */
  readonly part: number;
  readonly text: string;
  readonly metadata: JsonObject;
}

interface CollectionStoreOptions {
  readonly maxParts: number;
  /** Stores the number of changes outside of the database file. A file with a smaller number than the stored one has lost data. */
  readonly anchor: FileAnchor;
  /** Is called if the file has lost data or cannot be opened. */
  readonly onLoss: (fault: string) => void;
}

const COLLECTION_NUMBER = '(SELECT number FROM collections WHERE name = ?1)';
const SELECT_VECTORS = `SELECT part, document, vector FROM vectors WHERE part > ?2 AND collection = ${COLLECTION_NUMBER} ORDER BY part LIMIT ?3`;
const SELECT_PART = `SELECT id, part, text, metadata FROM parts JOIN documents ON documents.number = parts.document WHERE parts.number = ?`;

/** Documents with their vectors in one file, which is opened at the first use. Each method throws STORAGE_FAILED if the disk fails. */
export class CollectionStore implements Disposable {
  readonly #path: string;
  readonly #options: CollectionStoreOptions;
  #database: DatabaseSync | undefined;

  constructor(path: string, options: CollectionStoreOptions) {
    this.#path = path;
    this.#options = options;
  }

  /** Opens the file at the start of the hub, so that a loss is reported early. Does nothing if no change was ever stored. */
  check(): void {
    try {
      if (this.#options.anchor.least()) this.#opened();
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#options.onLoss(error.message);
    }
  }

  /** Returns the sorted names of the collections. */
  names(): readonly string[] {
    return this.#use((database) =>
      database
        .prepare('SELECT name FROM collections ORDER BY name')
        .all()
        .map(({ name }) => String(name)),
    );
  }

  info(collection: string): CollectionInfo | undefined {
    const row = this.#use((database) => database.prepare('SELECT model, width FROM collections WHERE name = ?').get(collection));
    return row && { model: String(row.model), width: Number(row.width) };
  }

  /**
   * Adds all of the documents or none; replaces documents with the same id. Throws CONFLICT if the collection has vectors of another model,
   * and PAYLOAD_TOO_LARGE if there would be more parts than the owner allows.
   */
  put(collection: string, facts: CollectionInfo, documents: readonly EmbeddedDocument[]): void {
    const { maxParts } = this.#options;
    this.#transaction((database) => {
      database.prepare('INSERT OR IGNORE INTO collections (name, model, width) VALUES (?, ?, ?)').run(collection, facts.model, facts.width);
      requireSameModel(collection, this.info(collection), facts);
      for (const document of documents) putDocument(database, collection, document);
      const { count } = database.prepare('SELECT count(*) AS count FROM parts').get() ?? {};
      if (Number(count) <= maxParts) return;
      const message = `There would be more than ${maxParts} parts of documents; remove some, or raise connectors.collections.max_parts`;
      throw new AtmoError('PAYLOAD_TOO_LARGE', message, { max_parts: maxParts });
    });
  }

  /** Removes the documents with these ids, or all if `ids` is absent. Returns how many it removed. Deletes an empty collection. */
  remove(collection: string, ids?: readonly string[]): number {
    return this.#transaction((database) => {
      const removed = ids
        ? ids.map((id) => database.prepare(`DELETE FROM documents WHERE collection = ${COLLECTION_NUMBER} AND id = ?2`).run(collection, id))
        : [database.prepare(`DELETE FROM documents WHERE collection = ${COLLECTION_NUMBER}`).run(collection)];
      database.prepare('DELETE FROM collections WHERE name = ? AND number NOT IN (SELECT collection FROM documents)').run(collection);
      return removed.reduce((sum, { changes }) => sum + Number(changes), 0);
    });
  }

  /** Returns the number and the metadata of each document in a collection. */
  documents(collection: string): readonly { readonly number: number; readonly metadata: JsonObject }[] {
    const rows = this.#use((database) =>
      database.prepare(`SELECT number, metadata FROM documents WHERE collection = ${COLLECTION_NUMBER}`).all(collection),
    );
    return rows.map(({ number, metadata }) => ({ number: Number(number), metadata: metadataOf(metadata) }));
  }

  /** Returns up to `limit` vectors of a collection that follow the part with the number `after`, in the order of their parts. */
  vectors(collection: string, after: number, limit: number): readonly StoredVector[] {
    return this.#use((database) => database.prepare(SELECT_VECTORS).all(collection, after, limit)).map(({ part, document, vector }) => ({
      part: Number(part),
      document: Number(document),
      vector: vectorOfBytes(vector instanceof Uint8Array ? vector : new Uint8Array()),
    }));
  }

  /** Returns the part with this number; undefined if the part was removed in the meantime. */
  part(number: number): StoredPart | undefined {
    const row = this.#use((database) => database.prepare(SELECT_PART).get(number));
    return row && { document: String(row.id), part: Number(row.part), text: String(row.text), metadata: metadataOf(row.metadata) };
  }

  [Symbol.dispose](): void {
    this.#database?.close();
    this.#database = undefined;
  }

  #use<T>(work: (database: DatabaseSync) => T): T {
    const database = this.#opened();
    return withStorageErrors(this.#path, () => work(database));
  }

  #opened(): DatabaseSync {
    if (this.#database) return this.#database;
    const { maxParts, anchor, onLoss } = this.#options;
    const database = openCollectionFile(this.#path, maxParts);
    this.#database = database;
    const [found, expected] = [generationOf(database), anchor.least()?.generation ?? 0];
    if (found < expected) {
      const lost = found === 0 ? 'all that it held' : `its last ${expected - found} changes`;
      onLoss(`${this.#path} has lost ${lost}. Put a backup back, or add the documents again`);
    }
    if (found !== expected) this.#saveGeneration(found);
    return database;
  }

  /** Runs the work in a transaction that also increments the number of changes in the file's header. */
  #transaction<T>(work: (database: DatabaseSync) => T): T {
    return this.#use((database) => {
      database.exec('BEGIN IMMEDIATE');
      try {
        const result = work(database);
        const generation = generationOf(database) + 1;
        database.exec(`PRAGMA application_id = ${generation}; COMMIT`);
        this.#saveGeneration(generation);
        return result;
      } catch (error) {
        // After some errors, such as a full disk, SQLite has already rolled the transaction back.
        if (database.isTransaction) database.exec('ROLLBACK');
        throw error;
      }
    });
  }

  /** Saves the file's number of changes in the anchor. Ignores errors: the anchor's old number is smaller and reports no false loss. */
  #saveGeneration(generation: number): void {
    try {
      this.#options.anchor.synced({ generation, digest: '' });
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
    }
  }
}

function putDocument(database: DatabaseSync, collection: string, { id, metadata, parts }: EmbeddedDocument): void {
  database.prepare(`DELETE FROM documents WHERE collection = ${COLLECTION_NUMBER} AND id = ?2`).run(collection, id);
  const { lastInsertRowid: document } = database
    .prepare(`INSERT INTO documents (collection, id, metadata) VALUES (${COLLECTION_NUMBER}, ?2, ?3)`)
    .run(collection, id, JSON.stringify(metadata));
  const insertPart = database.prepare('INSERT INTO parts (document, part, text) VALUES (?, ?, ?)');
  const insertVector = database.prepare(
    `INSERT INTO vectors (collection, part, document, vector) VALUES (${COLLECTION_NUMBER}, ?2, ?3, ?4)`,
  );
  for (const [index, { text, vector }] of parts.entries()) {
    const { lastInsertRowid: part } = insertPart.run(document, index + 1, text);
    insertVector.run(collection, part, document, vectorBytes(vector));
  }
}

function requireSameModel(collection: string, known: CollectionInfo | undefined, { model, width }: CollectionInfo): void {
  if (known?.model === model && known.width === width) return;
  throw new AtmoError(
    'CONFLICT',
    `The collection ${collection} was made with the model ${known?.model} (${known?.width} numbers a vector), not with ${model} (${width}); remove it, or name its model`,
    { model: known?.model ?? '' },
  );
}

function metadataOf(text: SQLOutputValue | undefined): JsonObject {
  return JSON.parse(String(text)) as JsonObject;
}

/** Assumed size of a part in the file, in bytes: a thousand characters, the longest vector of a supported model, unused page space. */
const BYTES_PER_PART = 24_576;
/** Assumed size of a file without documents, in bytes. Even empty tables and indexes occupy pages. */
const EMPTY_BYTES = 1_048_576;
const PAGE_BYTES = 4_096;

/** Opens and checks the file, and creates the tables of a new file. Throws STORAGE_FAILED if it is damaged or of a newer version. */
function openCollectionFile(path: string, maxParts: number): DatabaseSync {
  return withStorageErrors(path, () => {
    const database = new DatabaseSync(path);
    try {
      database.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -2000`);
      database.exec(
        `PRAGMA max_page_count = ${Math.ceil((EMPTY_BYTES + maxParts * BYTES_PER_PART) / PAGE_BYTES)}; PRAGMA foreign_keys = ON`,
      );
      const finding = String(database.prepare('PRAGMA quick_check(1)').get()?.quick_check);
      if (finding !== 'ok')
        throw storageFailed(path, `it is damaged (${finding}); put a backup back, or move it away and add the documents again`);
      migrate(database, path);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** Returns the number of changes, which the header of the file stores as `application_id`. */
function generationOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA application_id').get()?.application_id);
}

/** Runs work on the file, and converts errors of SQLite to STORAGE_FAILED. */
function withStorageErrors<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error) || !('errcode' in error)) throw error;
    throw storageFailed(
      path,
      `it cannot be read or written (${error.message}); is there space, and does the folder belong to the hub's user?`,
    );
  }
}

function migrate(database: DatabaseSync, path: string): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (version === COLLECTION_FORMAT) return;
  if (version > COLLECTION_FORMAT) throw storageFailed(path, 'a newer atmosphere-edge has written it; install that version again');
  database.exec(`BEGIN IMMEDIATE; ${COLLECTION_SCHEMA} PRAGMA user_version = ${COLLECTION_FORMAT}; COMMIT`);
}

function storageFailed(path: string, reason: string): AtmoError {
  return new AtmoError('STORAGE_FAILED', `${path}: ${reason}`, { path });
}

/** Schema of the file, format 1. Vectors have their own table, so that a search can read vectors without their texts. */
const COLLECTION_SCHEMA = `
CREATE TABLE collections (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, model TEXT NOT NULL, width INTEGER NOT NULL) STRICT;
CREATE TABLE documents (
  number INTEGER PRIMARY KEY,
  collection INTEGER NOT NULL REFERENCES collections (number),
  id TEXT NOT NULL,
  metadata TEXT NOT NULL,
  UNIQUE (collection, id)
) STRICT;
CREATE TABLE parts (
  number INTEGER PRIMARY KEY,
  document INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
  part INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE TABLE vectors (
  part INTEGER PRIMARY KEY REFERENCES parts (number) ON DELETE CASCADE,
  collection INTEGER NOT NULL,
  document INTEGER NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE INDEX parts_of_document ON parts (document);
`;
/** Value of `PRAGMA user_version` in a file of this format. */
const COLLECTION_FORMAT = 1;

/** Scales a vector to length 1. The dot product of two unit vectors is the cosine of their angle. A zero vector stays zero. */
export function unitVector(values: readonly number[]): Float32Array<ArrayBuffer> {
  const length = Math.hypot(...values);
  return Float32Array.from(values, (value) => (length === 0 ? 0 : value / length));
}

/** Returns the cosine of the angle between two unit vectors of equal dimension, -1 to 1. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}

/** Returns the stored form of a vector: 32-bit floats (IEEE 754), little-endian. All supported machines use this byte order. */
function vectorBytes(vector: Float32Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

function vectorOfBytes(bytes: Uint8Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const isAligned = bytes.byteOffset % Float32Array.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset, byteLength } = isAligned ? bytes : bytes.slice();
  return new Float32Array(buffer, byteOffset, Math.floor(byteLength / Float32Array.BYTES_PER_ELEMENT));
}
