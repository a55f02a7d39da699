/** Tags of ITU-T X.690 §8 that a certificate needs. */
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;
/** From this year on times have four digits for the year (RFC 5280 §4.1.2.5). */
const GENERALIZED_FROM = 2050;

/** Writes values in the Distinguished Encoding Rules (ITU-T X.690); what is given to it is not checked. */
export const der = {
  sequence: (...parts: readonly Uint8Array[]): Buffer => element(TAG.sequence, Buffer.concat(parts)),
  set: (...parts: readonly Uint8Array[]): Buffer => element(TAG.set, Buffer.concat(parts)),
  boolean: (value: 'true' | 'false'): Buffer => element(TAG.boolean, Buffer.from([value === 'true' ? 0xff : 0])),
  /** An unsigned number, most significant byte first. */
  integer: (bytes: Uint8Array): Buffer => element(TAG.integer, positive(bytes)),
  oid: (text: string): Buffer => element(TAG.oid, oidBytes(text)),
  utf8: (text: string): Buffer => element(TAG.utf8String, Buffer.from(text, 'utf8')),
  octets: (bytes: Uint8Array): Buffer => element(TAG.octetString, bytes),
  /** `unusedBits` of the last byte say nothing (§8.6). */
  bits: (bytes: Uint8Array, unusedBits = 0): Buffer => element(TAG.bitString, Buffer.concat([Buffer.from([unusedBits]), bytes])),
  /** Milliseconds since 1970, in whole seconds. */
  time(atMs: number): Buffer {
    const text = `${new Date(atMs).toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;
    return new Date(atMs).getUTCFullYear() < GENERALIZED_FROM
      ? element(TAG.utcTime, Buffer.from(text.slice(2)))
      : element(TAG.generalizedTime, Buffer.from(text));
  },
  /** `[number]` that replaces the value's own tag (§8.14.3). */
  implicit: (number: number, bytes: Uint8Array): Buffer => element(0x80 | number, bytes),
  /** `[number]` around a whole value (§8.14.2). */
  explicit: (number: number, value: Uint8Array): Buffer => element(0xa0 | number, value),
};

function element(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

/** Shortest form, with a zero before it where the first bit would make it negative (§8.3). */
function positive(bytes: Uint8Array): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const shortest = Buffer.from(start === -1 ? [0] : bytes.subarray(start));
  return (shortest[0] ?? 0) < 0x80 ? shortest : Buffer.concat([Buffer.from([0]), shortest]);
}

function oidBytes(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return Buffer.from([first * 40 + second, ...rest.flatMap(base128)]);
}

function base128(arc: number): number[] {
  const bytes = [arc & 0x7f];
  for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) bytes.unshift(0x80 | (left & 0x7f));
  return bytes;
}
