import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { hashes, sign as nobleSign } from '@noble/ed25519';
import { sha512 } from '@noble/hashes/sha2.js';
import { describe, expect, test } from 'vitest';
import { type CborValue, encodeCbor } from '../../src/codec/cbor.ts';
import { signSign1, sigStructure, verifySign1 } from '../../src/codec/cose-sign1.ts';
import { AtmoError } from '../../src/core/errors.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const other = generateKeyPairSync('ed25519');
const AAD = Buffer.from('atmosphere-edge test v1');
const PAYLOAD = Buffer.from('{"decision":"approve"}');
const PROTECTED = Uint8Array.of(0xa1, 0x01, 0x27);
const MESSAGE = signSign1({ payload: PAYLOAD, key: privateKey, externalAad: AAD });

function refusalOf(
  message: Uint8Array,
  { key = publicKey, externalAad = AAD }: { key?: KeyObject; externalAad?: Uint8Array } = {},
): string {
  try {
    verifySign1(message, { keyOf: () => key, externalAad });
    return 'accepted';
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'VALIDATION_ERROR') return error.message;
    throw error;
  }
}

/** A message with a valid signature for any header. */
function signed(header: Uint8Array, parts: { unprotected?: CborValue; payload?: CborValue; signature?: CborValue } = {}): Uint8Array {
  const right = new Uint8Array(sign(null, sigStructure(header, AAD, PAYLOAD), privateKey));
  const { unprotected = new Map(), payload = PAYLOAD, signature = right } = parts;
  return encodeCbor([header, unprotected, payload, signature]);
}

describe('a signed message', () => {
  test('opens with the key and the context', () => {
    expect(Buffer.from(verifySign1(MESSAGE, { keyOf: () => publicKey, externalAad: AAD }))).toEqual(PAYLOAD);
  });

  test('has the form of RFC 9052 section 4.2 and 73 bytes more than its payload', () => {
    expect(Buffer.from(MESSAGE).toString('hex')).toMatch(/^8443a10127a056/);
    expect(MESSAGE.length).toBe(PAYLOAD.length + 73);
  });

  test('has the signature of another implementation over the same bytes', () => {
    hashes.sha512 = sha512;
    const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
    expect(Buffer.from(MESSAGE.slice(-64))).toEqual(Buffer.from(nobleSign(sigStructure(PROTECTED, AAD, PAYLOAD), seed)));
  });

  test('passes the exact payload to the lookup of the key', () => {
    const asked: string[] = [];
    const keyOf = (payload: Uint8Array) => {
      asked.push(Buffer.from(payload).toString());
      return publicKey;
    };
    verifySign1(MESSAGE, { keyOf, externalAad: AAD });
    expect(asked).toEqual([PAYLOAD.toString()]);
  });

  test('has a payload that shares no memory with it', () => {
    const message = Uint8Array.from(MESSAGE);
    const payload = verifySign1(message, { keyOf: () => publicKey, externalAad: AAD });
    message.fill(0);
    expect(Buffer.from(payload)).toEqual(PAYLOAD);
  });

  test('may have an empty payload and an empty context', () => {
    const empty = new Uint8Array();
    const message = signSign1({ payload: empty, key: privateKey, externalAad: empty });
    expect(verifySign1(message, { keyOf: () => publicKey, externalAad: empty })).toEqual(empty);
  });
});

describe('a message is refused', () => {
  test('with any single byte changed in any way', () => {
    const accepted: string[] = [];
    MESSAGE.forEach((byte, at) => {
      for (const flip of [0x01, 0x80, 0xff, 0x20]) {
        const changed = Uint8Array.from(MESSAGE);
        changed[at] = byte ^ flip;
        if (refusalOf(changed) === 'accepted') accepted.push(`${at}:${flip}`);
      }
    });
    expect(accepted).toEqual([]);
  });

  test('cut at any place, or with anything before or behind it', () => {
    const cuts = Array.from(MESSAGE, (_, length) => MESSAGE.slice(0, length));
    const longer = [Uint8Array.of(...MESSAGE, 0), Uint8Array.of(0xd2, ...MESSAGE), Uint8Array.of(0x81, ...MESSAGE)];
    expect([...cuts, ...longer].filter((bytes) => refusalOf(bytes) === 'accepted')).toEqual([]);
  });

  test.each([
    ['tagged as COSE_Sign1', Uint8Array.of(0xd2, ...MESSAGE), 'tag'],
    ['not an array', encodeCbor(new Map()), 'array of four'],
    ['of three parts', encodeCbor([PROTECTED, new Map(), PAYLOAD]), 'array of four'],
    ['of five parts', encodeCbor([PROTECTED, new Map(), PAYLOAD, new Uint8Array(64), 0]), 'array of four'],
    ['with the header ES256', signed(Uint8Array.of(0xa1, 0x01, 0x26)), 'protected header'],
    ['with the header Ed25519 of RFC 9864', signed(Uint8Array.of(0xa1, 0x01, 0x32)), 'protected header'],
    ['with an empty protected header', signed(new Uint8Array()), 'protected header'],
    ['with one more protected field', signed(Uint8Array.of(0xa2, 0x01, 0x27, 0x03, 0x00)), 'protected header'],
    ['with the protected header written longer', signed(Uint8Array.of(0xa1, 0x01, 0x38, 0x07)), 'protected header'],
    ['with the protected header as a map', encodeCbor([new Map([[1, -8]]), new Map(), PAYLOAD, new Uint8Array(64)]), 'protected header'],
    ['with an unprotected key id', signed(PROTECTED, { unprotected: new Map([[4, Uint8Array.of(1)]]) }), 'unprotected header'],
    ['with an array as its unprotected header', signed(PROTECTED, { unprotected: [] }), 'unprotected header'],
    ['with its payload detached', signed(PROTECTED, { payload: null }), 'payload'],
    ['with a text as its payload', signed(PROTECTED, { payload: PAYLOAD.toString() }), 'payload'],
    ['with a signature of 63 bytes', signed(PROTECTED, { signature: new Uint8Array(63) }), '64 bytes'],
    ['with a signature of 65 bytes', signed(PROTECTED, { signature: new Uint8Array(65) }), '64 bytes'],
    ['with a text as its signature', signed(PROTECTED, { signature: 'a'.repeat(64) }), '64 bytes'],
    ['with a signature of zeros', signed(PROTECTED, { signature: new Uint8Array(64) }), 'does not fit'],
  ])('%s', (_name, message, reason) => {
    expect(refusalOf(message)).toContain(reason);
  });

  test('when it was signed for another use, or by another key', () => {
    expect(refusalOf(MESSAGE, { externalAad: Buffer.from('atmosphere-edge test v2') })).toContain('does not fit');
    expect(refusalOf(MESSAGE, { externalAad: new Uint8Array() })).toContain('does not fit');
    expect(refusalOf(MESSAGE, { key: other.publicKey })).toContain('does not fit');
  });

  test('when the order of the group was added to its signature', () => {
    const order = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;
    const little = Buffer.from(MESSAGE.slice(-32)).reverse().toString('hex');
    const raised = (BigInt(`0x${little}`) + order).toString(16).padStart(64, '0');
    const message = Uint8Array.of(...MESSAGE.slice(0, -32), ...Buffer.from(raised, 'hex').reverse());
    expect(refusalOf(message)).toContain('does not fit');
  });

  test('without a key, and with a key of another kind', () => {
    expect(() => verifySign1(MESSAGE, { keyOf: () => undefined, externalAad: AAD })).toThrow(/no key is known/);
    expect(refusalOf(MESSAGE, { key: generateKeyPairSync('x25519').publicKey })).toContain('not a public Ed25519 key');
    expect(refusalOf(MESSAGE, { key: privateKey })).toContain('not a public Ed25519 key');
  });
});

test('only a private Ed25519 key signs', () => {
  const attempt = (key: KeyObject) => () => signSign1({ payload: PAYLOAD, key, externalAad: AAD });
  expect(attempt(createPublicKey(privateKey))).toThrow(/not a private Ed25519 key/);
  expect(attempt(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)).toThrow(/not a private Ed25519 key/);
});
