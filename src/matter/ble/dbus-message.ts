import { AtmoError } from '../../core/errors.ts';
import { unmarshal } from './dbus-reader.ts';
import type { DbusValue, DbusVariant } from './dbus-value.ts';
import { marshal } from './dbus-writer.ts';

/** The four kinds of message. */
export type DbusMessageType = 'call' | 'return' | 'error' | 'signal';

/** One message on the bus (D-Bus specification, "Message Protocol"). Absent header fields are empty. */
export interface DbusMessage {
  readonly type: DbusMessageType;
  readonly serial: number;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly errorName: string;
  readonly replySerial: number;
  readonly destination: string;
  readonly sender: string;
  readonly signature: string;
  readonly body: readonly DbusValue[];
}

const TYPES: readonly (DbusMessageType | undefined)[] = [undefined, 'call', 'return', 'error', 'signal'];
const HEADER_SIGNATURE = 'yyyyuua(yv)';
const FIXED_BYTES = 16;
const LITTLE_ENDIAN = 0x6c;
/** BlueZ's largest answers are a few kilobytes; the specification allows 128 MiB. */
const MAX_MESSAGE_BYTES = 4 * 1_048_576;

/** The bytes of a message, little-endian; fields that are left out are not sent. */
export function encodeMessage(message: Partial<DbusMessage> & Pick<DbusMessage, 'type' | 'serial'>): Uint8Array {
  const { signature = '', body = [] } = message;
  const data = marshal(signature, body);
  const fields: [number, DbusVariant][] = [];
  const add = (code: number, type: string, value: string | number | undefined): void => {
    if (value !== undefined && value !== '' && value !== 0) fields.push([code, { signature: type, value }]);
  };
  add(1, 'o', message.path);
  add(2, 's', message.interface);
  add(3, 's', message.member);
  add(4, 's', message.errorName);
  add(5, 'u', message.replySerial);
  add(6, 's', message.destination);
  add(8, 'g', signature);
  const header = marshal(HEADER_SIGNATURE, [LITTLE_ENDIAN, TYPES.indexOf(message.type), 0, 1, data.length, message.serial, fields]);
  const padded = Math.ceil(header.length / 8) * 8;
  const bytes = new Uint8Array(padded + data.length);
  bytes.set(header);
  bytes.set(data, padded);
  return bytes;
}

/** Reads the first message of a stream; undefined while it is not whole. RESULT_INVALID when the stream is no D-Bus. */
export function decodeMessage(data: Uint8Array): { readonly message: DbusMessage; readonly end: number } | undefined {
  if (data.length < FIXED_BYTES) return undefined;
  if (data[0] !== LITTLE_ENDIAN) throw new AtmoError('RESULT_INVALID', 'The bus speaks another byte order than little-endian');
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const bodyStart = Math.ceil((FIXED_BYTES + view.getUint32(12, true)) / 8) * 8;
  const end = bodyStart + view.getUint32(4, true);
  if (end > MAX_MESSAGE_BYTES) throw new AtmoError('PAYLOAD_TOO_LARGE', `A D-Bus message of ${end} bytes is larger than allowed`);
  if (data.length < end) return undefined;
  const header = unmarshal(HEADER_SIGNATURE, data.subarray(0, bodyStart)).values;
  const fields = new Map(header[6] as readonly [number, DbusVariant][]);
  const text = (code: number): string => String(fields.get(code)?.value ?? '');
  const signature = text(8);
  const message: DbusMessage = {
    type: TYPES[Number(header[1])] ?? 'signal',
    serial: Number(header[5]),
    path: text(1),
    interface: text(2),
    member: text(3),
    errorName: text(4),
    replySerial: Number(fields.get(5)?.value ?? 0),
    destination: text(6),
    sender: text(7),
    signature,
    // From the body's own start, which is an 8-byte boundary.
    body: unmarshal(signature, data.slice(bodyStart, end)).values,
  };
  return { message, end };
}
