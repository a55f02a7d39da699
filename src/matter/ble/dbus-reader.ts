import { alignmentOf, brokenMessage, type DbusValue, MAX_DEPTH, membersOf, splitSignature } from './dbus-value.ts';

/** Reads what `marshal` wrote; `offset` is counted from an 8-byte boundary. */
export function unmarshal(
  signature: string,
  data: Uint8Array,
  offset = 0,
): { readonly values: readonly DbusValue[]; readonly end: number } {
  const reader = new Reader(data, offset);
  const values = splitSignature(signature).map((type) => reader.read(type, 0));
  return { values, end: reader.at };
}

class Reader {
  readonly #view: DataView;
  at: number;

  constructor(data: Uint8Array, offset: number) {
    this.#view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    this.at = offset;
  }

  read(type: string, depth: number): DbusValue {
    if (depth > MAX_DEPTH) throw brokenMessage('values are nested too deep');
    this.#align(alignmentOf(type));
    const code = type[0] ?? '';
    if (code === 'a') return this.#array(type.slice(1), depth + 1);
    if (code === '(' || code === '{') return membersOf(type).map((member) => this.read(member, depth + 1));
    if (code === 'v') {
      const signature = this.#text('g');
      return { signature, value: this.read(signature, depth + 1) };
    }
    return code === 's' || code === 'o' || code === 'g' ? this.#text(code) : this.#number(code);
  }

  #number(code: string): number | bigint | boolean {
    const { value, size } = getNumber(this.#view, code, this.at);
    this.at += size;
    return value;
  }

  #text(code: string): string {
    const text = Buffer.from(this.#bytes(Number(this.#number(code === 'g' ? 'y' : 'u')))).toString('utf8');
    this.at += 1;
    return text;
  }

  #array(type: string, depth: number): DbusValue {
    const length = Number(this.#number('u'));
    this.#align(alignmentOf(type));
    if (type === 'y') return this.#bytes(length).slice();
    const end = this.at + length;
    if (end > this.#view.byteLength) throw brokenMessage('an array is longer than its message');
    const items: DbusValue[] = [];
    while (this.at < end) items.push(this.read(type, depth));
    return type[0] === '{' ? new Map(items as [DbusValue, DbusValue][]) : items;
  }

  #bytes(length: number): Uint8Array {
    if (this.at + length > this.#view.byteLength) throw brokenMessage('a value is longer than its message');
    const bytes = new Uint8Array(this.#view.buffer, this.#view.byteOffset + this.at, length);
    this.at += length;
    return bytes;
  }

  #align(alignment: number): void {
    this.at = Math.ceil(this.at / alignment) * alignment;
  }
}

function getNumber(view: DataView, code: string, at: number): { readonly value: number | bigint | boolean; readonly size: number } {
  const size = alignmentOf(code);
  if (at + size > view.byteLength) throw brokenMessage('a message is cut off');
  if (code === 'y') return { value: view.getUint8(at), size };
  if (code === 'n') return { value: view.getInt16(at, true), size };
  if (code === 'q') return { value: view.getUint16(at, true), size };
  if (code === 'i') return { value: view.getInt32(at, true), size };
  if (code === 'u' || code === 'h') return { value: view.getUint32(at, true), size };
  if (code === 'b') return { value: view.getUint32(at, true) === 1, size };
  if (code === 'x') return { value: view.getBigInt64(at, true), size };
  if (code === 't') return { value: view.getBigUint64(at, true), size };
  if (code === 'd') return { value: view.getFloat64(at, true), size };
  throw brokenMessage(`type ${code} is unknown`);
}
