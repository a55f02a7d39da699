import { createPrivateKey, createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { decode } from 'cborg';
import { describe, expect, test } from 'vitest';
import { decodeCbor, encodeCbor } from '../../src/codec/cbor.ts';
import { signSign1, sigStructure, verifySign1 } from '../../src/codec/cose-sign1.ts';

interface Vector {
  readonly name: string;
  readonly title: string;
  readonly key: string;
  readonly verifies: boolean;
  readonly external: string;
  readonly toBeSigned: string;
  readonly message: string;
}
interface Vectors {
  readonly keys: Readonly<Record<string, JsonWebKey>>;
  readonly vectors: readonly Vector[];
}

const { keys, vectors } = JSON.parse(readFileSync(new URL('../fixtures/cose/sign1-vectors.json', import.meta.url), 'utf8')) as Vectors;
const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'));
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const ALGORITHMS: ReadonlyMap<unknown, string | null> = new Map([
  [-8, null],
  [-7, 'sha256'],
]);

interface Parts {
  readonly header: Uint8Array;
  readonly unprotected: ReadonlyMap<unknown, unknown>;
  readonly payload: Uint8Array;
  readonly signature: Uint8Array;
}

/** Reads a message as RFC 9052 allows it, tagged or not; undefined for another tag. */
function read(message: Uint8Array): Parts | undefined {
  if (message[0] !== 0xd2 && message[0] !== 0x84) return undefined;
  const untagged = message[0] === 0xd2 ? message.subarray(1) : message;
  const [header, unprotected, payload, signature] = decode(untagged, { useMaps: true }) as [
    Uint8Array,
    Map<unknown, unknown>,
    Uint8Array,
    Uint8Array,
  ];
  // RFC 9052 §4.4: an empty header counts as a byte string without bytes.
  return { header: hexOf(header) === 'a0' ? new Uint8Array() : header, unprotected, payload, signature };
}

/** A verifier of any Sign1 message of the vectors, upon the bytes to be signed as src/ makes them. */
function verifies({ message, external, key }: Vector): boolean {
  const parts = read(bytesOf(message));
  if (!parts) return false;
  const headers = parts.header.length === 0 ? new Map() : (decode(parts.header, { useMaps: true }) as Map<unknown, unknown>);
  const digest = ALGORITHMS.get(headers.get(1) ?? parts.unprotected.get(1));
  if (digest === undefined) return false;
  const publicKey = createPublicKey({ key: keys[key] ?? {}, format: 'jwk' });
  const toBeSigned = sigStructure(parts.header, bytesOf(external), parts.payload);
  return verify(digest, toBeSigned, { key: publicKey, dsaEncoding: 'ieee-p1363' }, parts.signature);
}

describe('the vectors of the COSE working group', () => {
  test.each(vectors)('$name ($title) verifies: $verifies', (vector) => {
    expect(verifies(vector)).toBe(vector.verifies);
  });

  test.each(vectors.filter(({ verifies: good }) => good))(
    'the bytes to be signed of $name are made alike',
    ({ message, external, toBeSigned }) => {
      const parts = read(bytesOf(message));
      expect(hexOf(sigStructure(parts?.header ?? new Uint8Array(), bytesOf(external), parts?.payload ?? new Uint8Array()))).toBe(
        toBeSigned,
      );
    },
  );

  test.each(vectors)('$name is not of the one form that is accepted here', ({ message, external }) => {
    const keyOf = () => createPublicKey({ key: keys.ed25519 ?? {}, format: 'jwk' });
    expect(() => verifySign1(bytesOf(message), { keyOf, externalAad: bytesOf(external) })).toThrow(
      expect.objectContaining({ code: 'VALIDATION_ERROR' }),
    );
  });

  test('the Ed25519 key of the vectors signs and verifies messages of our form', () => {
    const key = createPrivateKey({ key: keys.ed25519 ?? {}, format: 'jwk' });
    const payload = Buffer.from('This is the content.');
    const message = signSign1({ payload, key, externalAad: new Uint8Array() });
    expect(verifySign1(message, { keyOf: () => createPublicKey(key), externalAad: new Uint8Array() })).toEqual(new Uint8Array(payload));
    expect(encodeCbor(decodeCbor(message))).toEqual(message);
  });
});
