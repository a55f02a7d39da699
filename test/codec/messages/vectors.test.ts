import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { diagnosticOf } from './diagnostic-notation.ts';
import { MESSAGE_KINDS, type MessageKind } from './message-table.ts';

interface Vector {
  readonly message: string;
  readonly value: unknown;
  readonly hex: string;
  readonly diagnostic: string;
}
interface Refusal {
  readonly message: string;
  readonly why: string;
  readonly hex: string;
  readonly refusal: string;
}
const { vectors, refused } = JSON.parse(
  readFileSync(new URL('../../fixtures/mesh-vectors.json', import.meta.url), 'utf8'),
  reviveBytes,
) as { readonly vectors: readonly Vector[]; readonly refused: readonly Refusal[] };
const CDDL = readFileSync(new URL('../../../docs/mesh.cddl', import.meta.url), 'utf8');

function reviveBytes(_: string, value: unknown): unknown {
  const isBytes = typeof value === 'object' && value !== null && '$hex' in value && typeof value.$hex === 'string';
  return isBytes ? bytesOf(String(value.$hex)) : value;
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, 'hex'));
}

function kindOf(name: string): MessageKind {
  const kind = MESSAGE_KINDS.find((one) => one.name === name);
  if (!kind) throw new RangeError(`There is no message ${name}`);
  return kind;
}

describe('the vectors of messages between hubs', () => {
  test.each(vectors)('$message $diagnostic is decoded to its value', ({ message, hex, value }) => {
    expect(kindOf(message).decode(bytesOf(hex))).toEqual(value);
  });

  // Which bytes come of deflating is up to the library that does it.
  test.each(vectors.filter(({ message }) => message !== 'blob-answer'))(
    '$message $diagnostic is the encoding of its value',
    ({ message, hex, value }) => {
      expect(Buffer.from(kindOf(message).encode(value)).toString('hex')).toBe(hex);
    },
  );

  test.each(vectors)('$message $diagnostic has the same value for another decoder', ({ hex, diagnostic }) => {
    expect(diagnosticOf(bytesOf(hex))).toBe(diagnostic);
  });

  test.each(refused)('$message with $why is refused for that', ({ message, hex, refusal }) => {
    expect(refusal).not.toBe('');
    expect(() => kindOf(message).decode(bytesOf(hex))).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR', message: refusal }));
  });

  test.each(MESSAGE_KINDS)('$name has vectors of both kinds and a rule in the CDDL', ({ name }) => {
    expect(vectors.some(({ message }) => message === name)).toBe(true);
    expect(refused.some(({ message }) => message === name)).toBe(true);
    expect(CDDL).toMatch(new RegExp(`^${name} = `, 'm'));
  });
});
