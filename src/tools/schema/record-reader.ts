import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, pointerSegment } from '../../core/json.ts';
import { describeType } from './plain-json.ts';

/** Reads the members of an untrusted object. `end()` throws if a member was not read. Errors contain the JSON pointer of the member. */
export class RecordReader {
  readonly pointer: string;
  readonly #record: JsonObject;
  readonly #read = new Set<string>();

  constructor(value: unknown, pointer = '') {
    this.pointer = pointer;
    if (!isJsonObject(value)) throw refusal(pointer, `has to be an object, not ${describeType(value)}`);
    this.#record = value;
  }

  has(key: string): boolean {
    return this.#record[key] !== undefined;
  }

  /** Returns the member as it is; undefined if it is absent. */
  any(key: string): Json | undefined {
    this.#read.add(key);
    return Object.hasOwn(this.#record, key) ? this.#record[key] : undefined;
  }

  text(key: string): string | undefined {
    const value = this.any(key);
    if (value === undefined || typeof value === 'string') return value;
    throw this.refuse(key, `has to be a text, not ${describeType(value)}`);
  }

  requiredText(key: string): string {
    const value = this.text(key)?.trim();
    if (value === undefined || value === '') throw this.refuse(key, 'is missing');
    return value;
  }

  flag(key: string): boolean | undefined {
    const value = this.any(key);
    if (value === undefined || typeof value === 'boolean') return value;
    throw this.refuse(key, `has to be true or false, not ${describeType(value)}`);
  }

  /** Returns the member; undefined if it is absent. Throws VALIDATION_ERROR if it is not an integer of at least `minimum`. */
  integer(key: string, minimum: number): number | undefined {
    const value = this.any(key);
    if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum)) return value;
    throw this.refuse(key, `has to be a whole number of at least ${minimum}`);
  }

  oneOf<T extends string>(key: string, allowed: readonly T[]): T | undefined {
    const value = this.text(key);
    if (value === undefined) return undefined;
    const found = allowed.find((item) => item === value);
    if (found === undefined) throw this.refuse(key, `has to be one of ${allowed.join(', ')}`);
    return found;
  }

  texts(key: string): readonly string[] | undefined {
    const value = this.any(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw this.refuse(key, `has to be a list of texts, not ${describeType(value)}`);
    return value.map((item: Json, index) => {
      if (typeof item === 'string') return item;
      throw this.refuse(`${key}/${index}`, `has to be a text, not ${describeType(item)}`);
    });
  }

  object(key: string): JsonObject | undefined {
    const value = this.any(key);
    if (value === undefined || isJsonObject(value)) return value;
    throw this.refuse(key, `has to be an object, not ${describeType(value)}`);
  }

  /** Returns a reader for a member that is an object. If the member is absent, the reader reads an empty object. */
  child(key: string): RecordReader {
    return new RecordReader(this.any(key) ?? {}, this.#pointerTo(key));
  }

  /** Returns one reader for each object in a member that is a list. */
  children(key: string): readonly RecordReader[] {
    const value = this.any(key) ?? [];
    if (!Array.isArray(value)) throw this.refuse(key, `has to be a list, not ${describeType(value)}`);
    return value.map((item: Json, index) => new RecordReader(item, `${this.#pointerTo(key)}/${index}`));
  }

  /** Throws VALIDATION_ERROR if a member of the object was not read. */
  end(): void {
    const unknown = Object.keys(this.#record).find((key) => !this.#read.has(key));
    if (unknown === undefined) return;
    const [near] = nearestTexts(unknown, this.#read, 1);
    throw this.refuse(unknown, near === undefined ? 'is not a known key' : `is not a known key; did you mean ${near}?`);
  }

  refuse(key: string, problem: string): AtmoError {
    return refusal(this.#pointerTo(key), problem);
  }

  #pointerTo(key: string): string {
    return `${this.pointer}/${key.split('/').map(pointerSegment).join('/')}`;
  }
}

function refusal(pointer: string, problem: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `${pointer === '' ? 'The record' : pointer} ${problem}`, { pointer });
}
