import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { guarded, openCollectionFile } from './open-collection-file.ts';
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

/** A part as a search looks at it. */
export interface StoredPart {
  readonly number: number;
  readonly document: string;
  readonly part: number;
  readonly text: string;
  readonly metadata: JsonObject;
  readonly vector: Float32Array<ArrayBuffer>;
}

const PAGE = `SELECT parts.number, id, part, text, metadata, vector FROM parts JOIN documents ON documents.number = parts.document
  WHERE collection = ? AND parts.number > ? ORDER BY parts.number LIMIT ?`;

/** Documents with their vectors, in one file that is opened when it is first needed. Each method throws STORAGE_FAILED where the disk fails. */
export class CollectionStore implements Disposable {
  readonly #path: string;
  readonly #maxParts: number;
  #database: DatabaseSync | undefined;

  constructor(path: string, { maxParts }: { readonly maxParts: number }) {
    this.#path = path;
    this.#maxParts = maxParts;
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
      database.prepare('INSERT OR IGNORE INTO collections VALUES (?, ?, ?)').run(collection, facts.model, facts.width);
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
        ? ids.map((id) => database.prepare('DELETE FROM documents WHERE collection = ? AND id = ?').run(collection, id))
        : [database.prepare('DELETE FROM documents WHERE collection = ?').run(collection)];
      database.prepare('DELETE FROM collections WHERE name = ?1 AND name NOT IN (SELECT collection FROM documents)').run(collection);
      return removed.reduce((sum, { changes }) => sum + Number(changes), 0);
    });
  }

  /** The next parts of a collection behind one number, in the order of their numbers. */
  page(collection: string, after: number, limit: number): readonly StoredPart[] {
    return this.#use((database) => database.prepare(PAGE).all(collection, after, limit).map(storedPart));
  }

  [Symbol.dispose](): void {
    this.#database?.close();
    this.#database = undefined;
  }

  #use<T>(work: (database: DatabaseSync) => T): T {
    this.#database ??= openCollectionFile(this.#path, this.#maxParts);
    const database = this.#database;
    return guarded(this.#path, () => work(database));
  }

  #transaction<T>(work: (database: DatabaseSync) => T): T {
    return this.#use((database) => {
      database.exec('BEGIN IMMEDIATE');
      try {
        const result = work(database);
        database.exec('COMMIT');
        return result;
      } catch (error) {
        // SQLite has rolled back by itself after a full disk.
        if (database.isTransaction) database.exec('ROLLBACK');
        throw error;
      }
    });
  }
}

function putDocument(database: DatabaseSync, collection: string, { id, metadata, parts }: PartedDocument): void {
  database.prepare('DELETE FROM documents WHERE collection = ? AND id = ?').run(collection, id);
  const { lastInsertRowid } = database
    .prepare('INSERT INTO documents (collection, id, metadata) VALUES (?, ?, ?)')
    .run(collection, id, JSON.stringify(metadata));
  const insert = database.prepare('INSERT INTO parts (document, part, text, vector) VALUES (?, ?, ?, ?)');
  for (const [index, { text, vector }] of parts.entries()) insert.run(lastInsertRowid, index + 1, text, vectorBytes(vector));
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

function storedPart(row: Record<string, SQLOutputValue>): StoredPart {
  const { number, id, part, text, metadata, vector } = row;
  return {
    number: Number(number),
    document: String(id),
    part: Number(part),
    text: String(text),
    metadata: JSON.parse(String(metadata)) as JsonObject,
    vector: vectorOfBytes(vector instanceof Uint8Array ? vector : new Uint8Array()),
  };
}
