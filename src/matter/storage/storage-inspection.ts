import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { isJsonObject } from '../../core/json.ts';
import type { FileMark } from '../../core/storage/file-anchor.ts';
import { markIn, sumOfRows } from './matter-database.ts';

/** Which fabric a storage file holds. */
export interface FabricIdentity {
  /** Decimal text of the 64-bit fabric id. */
  readonly fabricId: string;
  /** SHA-256 of the root certificate and its private key, hex: what a new fabric or a flipped bit would change. */
  readonly rootHash: string;
}

/** `mark`: how far the file is; absent for one of a hub that did not count. `isAsWritten`: its rows fit the sum that it keeps. */
export type Inspection =
  | { readonly state: 'whole'; readonly identity: FabricIdentity | undefined; readonly mark?: FileMark; readonly isAsWritten: boolean }
  | { readonly state: 'broken'; readonly reason: string };

/** Reads a storage file of matter.js's sqlite driver without changing it and tells whether it can be trusted. */
export function inspectStorage(file: string): Inspection {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true });
    // As a hub leaves it that was killed before it made the table, and as whoever empties the file.
    if (database.prepare('SELECT 1 FROM sqlite_master').get() === undefined) {
      return { state: 'whole', identity: undefined, isAsWritten: true };
    }
    const damage = findDamage(database);
    if (damage !== undefined) return { state: 'broken', reason: damage };
    const mark = markIn(database);
    const isAsWritten = mark === undefined || mark.digest === sumOfRows(database);
    return { state: 'whole', identity: readIdentity(database), ...(mark && { mark }), isAsWritten };
  } catch (error) {
    return { state: 'broken', reason: error instanceof Error ? error.message : String(error) };
  } finally {
    database?.close();
  }
}

function findDamage(database: DatabaseSync): string | undefined {
  const check = database.prepare('PRAGMA quick_check(1)').get()?.quick_check;
  if (check !== 'ok') return String(check);
  // quick_check looks at pages, not at what is written in them.
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

/** The driver keeps a bigint as a JSON text within the JSON: `{"__object__":"BigInt","__value__":"…"}`. */
function firstFabricId(json: string | undefined): string | undefined {
  const fabrics: unknown = json === undefined ? [] : JSON.parse(json);
  const first: unknown = Array.isArray(fabrics) ? fabrics[0] : undefined;
  if (!isJsonObject(first) || typeof first.fabricId !== 'string') return undefined;
  const boxed: unknown = JSON.parse(first.fabricId);
  return isJsonObject(boxed) && typeof boxed.__value__ === 'string' ? boxed.__value__ : undefined;
}
