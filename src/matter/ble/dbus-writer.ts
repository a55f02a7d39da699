import { alignmentOf, brokenMessage, type DbusValue, type DbusVariant, membersOf, splitSignature } from './dbus-value.ts';

/** Writes values as the signature says, in little-endian order, from an 8-byte boundary. */
export function marshal(signature: string, values: readonly DbusValue[]): Uint8Array {
  const writer = new Writer();
  splitSignature(signature).forEach((type, index) => {
    const value = values[index];
    if (value === undefined) throw brokenMessage(`a value for ${type} is missing`);
    writer.write(type, value);
  });
  return writer.bytes();
}

class Writer {
  readonly #chunks: number[] = [];

  bytes(): Uint8Array {
    return Uint8Array.from(this.#chunks);
  }

  write(type: string, value: DbusValue): void {
    this.#align(alignmentOf(type));
    const code = type[0] ?? '';
    if (code === 'a') this.#array(type.slice(1), value);
    else if (code === '(' || code === '{') this.#members(membersOf(type), value);
    else if (code === 'v') this.#variant(value);
    else if (code === 's' || code === 'o' || code === 'g') this.#text(code, value);
    else this.#number(code, value);
  }

  #number(code: string, value: DbusValue): void {
    const view = new DataView(new ArrayBuffer(8));
    const size = setNumber(view, code, value);
    for (let index = 0; index < size; index++) this.#chunks.push(view.getUint8(index));
  }

  #text(code: string, value: DbusValue): void {
    const bytes = Buffer.from(String(value));
    this.#number(code === 'g' ? 'y' : 'u', bytes.length);
    this.#chunks.push(...bytes, 0);
  }

  #variant(value: DbusValue): void {
    if (!isVariant(value)) throw brokenMessage('a variant was expected');
    this.#text('g', value.signature);
    this.write(value.signature, value.value);
  }

  #members(types: readonly string[], value: DbusValue): void {
    if (!Array.isArray(value)) throw brokenMessage('a struct was expected');
    types.forEach((type, index) => {
      this.write(type, value[index]);
    });
  }

  #array(type: string, value: DbusValue): void {
    const lengthAt = this.#chunks.length;
    this.#chunks.push(0, 0, 0, 0);
    this.#align(alignmentOf(type));
    const start = this.#chunks.length;
    for (const item of itemsOf(value)) this.write(type, item);
    const length = new DataView(new ArrayBuffer(4));
    length.setUint32(0, this.#chunks.length - start, true);
    for (let index = 0; index < 4; index++) this.#chunks[lengthAt + index] = length.getUint8(index);
  }

  #align(alignment: number): void {
    while (this.#chunks.length % alignment !== 0) this.#chunks.push(0);
  }
}

function isVariant(value: DbusValue): value is DbusVariant {
  return typeof value === 'object' && 'signature' in value;
}

function itemsOf(value: DbusValue): Iterable<DbusValue> {
  if (value instanceof Uint8Array || Array.isArray(value)) return value;
  if (value instanceof Map) return [...value];
  throw brokenMessage('an array was expected');
}

/** Answers how many bytes were set. */
function setNumber(view: DataView, code: string, value: DbusValue): number {
  if (code === 'y') view.setUint8(0, Number(value));
  else if (code === 'n') view.setInt16(0, Number(value), true);
  else if (code === 'q') view.setUint16(0, Number(value), true);
  else if (code === 'i') view.setInt32(0, Number(value), true);
  else if (code === 'u' || code === 'b' || code === 'h') view.setUint32(0, Number(value), true);
  else if (code === 'x') view.setBigInt64(0, BigInt(value as bigint), true);
  else if (code === 't') view.setBigUint64(0, BigInt(value as bigint), true);
  else if (code === 'd') view.setFloat64(0, Number(value), true);
  else throw brokenMessage(`type ${code} is unknown`);
  return alignmentOf(code);
}
