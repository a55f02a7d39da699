import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { FileAnchor } from '../../core/storage/file-anchor.ts';
import { generationOf, guarded, nextGeneration, openCollectionFile } from './open-collection-file.ts';
import { vectorBytes, vectorOfBytes } from './unit-vector.ts';

/** What a collection is made with. */
export interface CollectionFacts {
  /** Name of the model that made its vectors. */
  readonly model: string;
  /** Length of each vector. */
  readonly width: number;
}

/** A document in its parts. */
export interface PartedDocument {
  readonly id: string;
  readonly metadata: JsonObject;
  readonly parts: readonly { readonly text: string; readonly vector: Float32Array<ArrayBuffer> }[];
}

/** The vector of a part, with the numbers of the part and its document. */
export interface StoredVector {
  readonly part: number;
  readonly document: number;
  readonly vector: Float32Array<ArrayBuffer>;
}

/** A part as people read it. */
export interface StoredPart {
  readonly document: string;
  /** Which one of its document, from 1. */
  readonly part: number;
  readonly text: string;
  readonly metadata: JsonObject;
}

interface CollectionStoreOptions {
  readonly maxParts: number;
  /** Tells how many changes the file has seen. */
  readonly anchor: FileAnchor;
  /** Is called with what is wrong with a file that does not hold what it held. */
  readonly onLoss: (fault: string) => void;
}

const NUMBER = '(SELECT number FROM collections WHERE name = ?1)';
const VECTORS = `SELECT part, document, vector FROM vectors WHERE part > ?2 AND collection = ${NUMBER} ORDER BY part LIMIT ?3`;
const PART = `SELECT id, part, text, metadata FROM parts JOIN documents ON documents.number = parts.document WHERE parts.number = ?`;

/** Documents with their vectors, in one file that is opened when it is first needed. Each method throws STORAGE_FAILED where the disk fails. */
export class CollectionStore implements Disposable {
  readonly #path: string;
  readonly #maxParts: number;
  readonly #anchor: FileAnchor;
  readonly #onLoss: (fault: string) => void;
  #database: DatabaseSync | undefined;

  constructor(path: string, { maxParts, anchor, onLoss }: CollectionStoreOptions) {
    this.#path = path;
    this.#maxParts = maxParts;
    this.#anchor = anchor;
    this.#onLoss = onLoss;
  }

  /** Opens a file that has held something, so that its loss is told before somebody misses a document. */
  check(): void {
    try {
      if (this.#anchor.least()) this.#opened();
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#onLoss(error.message);
    }
  }

  /** Names of the collections, sorted. */
  names(): readonly string[] {
    return this.#use((database) =>
      database
        .prepare('SELECT name FROM collections ORDER BY name')
        .all()
        .map(({ name }) => String(name)),
    );
  }

  facts(collection: string): CollectionFacts | undefined {
    const row = this.#use((database) => database.prepare('SELECT model, width FROM collections WHERE name = ?').get(collection));
    return row && { model: String(row.model), width: Number(row.width) };
  }

  /**
   * Adds documents; one of the same id is replaced. All of them or none. CONFLICT when the collection has vectors of another model,
   * PAYLOAD_TOO_LARGE when there would be more parts than the owner allows.
   */
  put(collection: string, facts: CollectionFacts, documents: readonly PartedDocument[]): void {
    this.#transaction((database) => {
      database.prepare('INSERT OR IGNORE INTO collections (name, model, width) VALUES (?, ?, ?)').run(collection, facts.model, facts.width);
      requireSame(collection, this.facts(collection), facts);
      for (const document of documents) putDocument(database, collection, document);
      const { count } = database.prepare('SELECT count(*) AS count FROM parts').get() ?? {};
      if (Number(count) > this.#maxParts) throw tooMany(this.#maxParts);
    });
  }

  /** Removes documents by their ids, or all of a collection; answers how many there were. A collection without documents is gone. */
  remove(collection: string, ids?: readonly string[]): number {
    return this.#transaction((database) => {
      const removed = ids
        ? ids.map((id) => database.prepare(`DELETE FROM documents WHERE collection = ${NUMBER} AND id = ?2`).run(collection, id))
        : [database.prepare(`DELETE FROM documents WHERE collection = ${NUMBER}`).run(collection)];
      database.prepare('DELETE FROM collections WHERE name = ? AND number NOT IN (SELECT collection FROM documents)').run(collection);
      return removed.reduce((sum, { changes }) => sum + Number(changes), 0);
    });
  }

  /** Numbers and metadata of the documents of a collection. */
  documents(collection: string): readonly { readonly number: number; readonly metadata: JsonObject }[] {
    const rows = this.#use((database) =>
      database.prepare(`SELECT number, metadata FROM documents WHERE collection = ${NUMBER}`).all(collection),
    );
    return rows.map(({ number, metadata }) => ({ number: Number(number), metadata: metadataOf(metadata) }));
  }

  /** The next vectors of a collection behind the part of a number, in the order of their parts. */
  vectors(collection: string, after: number, limit: number): readonly StoredVector[] {
    return this.#use((database) => database.prepare(VECTORS).all(collection, after, limit)).map(({ part, document, vector }) => ({
      part: Number(part),
      document: Number(document),
      vector: vectorOfBytes(vector instanceof Uint8Array ? vector : new Uint8Array()),
    }));
  }

  /** The part of a number; undefined when it was removed meanwhile. */
  part(number: number): StoredPart | undefined {
    const row = this.#use((database) => database.prepare(PART).get(number));
    return row && { document: String(row.id), part: Number(row.part), text: String(row.text), metadata: metadataOf(row.metadata) };
  }

  [Symbol.dispose](): void {
    this.#database?.close();
    this.#database = undefined;
  }

  #use<T>(work: (database: DatabaseSync) => T): T {
    const database = this.#opened();
    return guarded(this.#path, () => work(database));
  }

  #opened(): DatabaseSync {
    if (this.#database) return this.#database;
    const database = openCollectionFile(this.#path, this.#maxParts);
    this.#database = database;
    const [found, expected] = [generationOf(database), this.#anchor.least()?.generation ?? 0];
    if (found < expected) {
      const lost = found === 0 ? 'all that it held' : `its last ${expected - found} changes`;
      this.#onLoss(`${this.#path} has lost ${lost}. Put a backup back, or add the documents again`);
    }
    if (found !== expected) this.#keepGeneration(found);
    return database;
  }

  #transaction<T>(work: (database: DatabaseSync) => T): T {
    return this.#use((database) => {
      const { result, generation } = committed(database, work);
      this.#keepGeneration(generation);
      return result;
    });
  }

  /** What is in the file is in it, whether or not the disk takes this: an anchor that stays behind is no sign of a loss. */
  #keepGeneration(generation: number): void {
    try {
      this.#anchor.synced({ generation, digest: '' });
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
    }
  }
}

/** Carries out all of it or nothing; answers with the generation that the file has then. */
function committed<T>(database: DatabaseSync, work: (database: DatabaseSync) => T): { readonly result: T; readonly generation: number } {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work(database);
    const generation = nextGeneration(database);
    database.exec('COMMIT');
    return { result, generation };
  } catch (error) {
    // SQLite has rolled back by itself after a full disk.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function putDocument(database: DatabaseSync, collection: string, { id, metadata, parts }: PartedDocument): void {
  database.prepare(`DELETE FROM documents WHERE collection = ${NUMBER} AND id = ?2`).run(collection, id);
  const { lastInsertRowid: document } = database
    .prepare(`INSERT INTO documents (collection, id, metadata) VALUES (${NUMBER}, ?2, ?3)`)
    .run(collection, id, JSON.stringify(metadata));
  const insertPart = database.prepare('INSERT INTO parts (document, part, text) VALUES (?, ?, ?)');
  const insertVector = database.prepare(`INSERT INTO vectors (collection, part, document, vector) VALUES (${NUMBER}, ?2, ?3, ?4)`);
  for (const [index, { text, vector }] of parts.entries()) {
    const { lastInsertRowid: part } = insertPart.run(document, index + 1, text);
    insertVector.run(collection, part, document, vectorBytes(vector));
  }
}

function requireSame(collection: string, known: CollectionFacts | undefined, { model, width }: CollectionFacts): void {
  if (known?.model === model && known.width === width) return;
  throw new AtmoError(
    'CONFLICT',
    `The collection ${collection} was made with the model ${known?.model} (${known?.width} numbers a vector), not with ${model} (${width}); remove it, or name its model`,
    { model: known?.model ?? '' },
  );
}

function tooMany(maxParts: number): AtmoError {
  return new AtmoError(
    'PAYLOAD_TOO_LARGE',
    `There would be more than ${maxParts} parts of documents; remove some, or raise connectors.collections.max_parts`,
    { max_parts: maxParts },
  );
}

function metadataOf(text: SQLOutputValue | undefined): JsonObject {
  return JSON.parse(String(text)) as JsonObject;
}
