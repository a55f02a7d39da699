import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { joinedJson, jsonPieces, MAX_BYTE_STRINGS, writtenJson } from '../../src/codec/message-json.ts';
import type { Json, JsonSchema } from '../../src/core/json.ts';

const BYTES = { contentEncoding: 'base64' };
const PLACE = { within: undefined, step: 'Message' };
const base64 = (...bytes: number[]) => Buffer.from(bytes).toString('base64');

describe('JSON with bytes in it', () => {
  test('has them where the schema has base64, and nowhere else', () => {
    const schema = { properties: { image: BYTES } };
    const value = { note: 'AAEC', image: 'AAEC', zoom: 1.5 };
    const { text, pieces } = writtenJson(value, schema);
    expect(pieces).toEqual(['{"image":"', Uint8Array.of(0, 1, 2), '","note":"AAEC","zoom":1.5}']);
    expect(text).toBe(canonicalJson(value));
    expect(writtenJson(value, {})).toEqual({ text, pieces: text });
  });

  test('keeps text that its bytes do not encode to, and text beyond the limit', () => {
    const odd = { image: 'AB==' };
    expect(writtenJson(odd, { properties: { image: BYTES } }).pieces).toBe(canonicalJson(odd));
    const many = Array.from({ length: MAX_BYTE_STRINGS + 3 }, (_, index) => base64(index));
    const { text, pieces } = writtenJson(many, { items: BYTES });
    expect([text, pieces.length, joinedJson(pieces)]).toEqual([canonicalJson(many), 2 * MAX_BYTE_STRINGS + 1, text]);
  });

  test('may be one byte string as a whole', () => {
    expect(writtenJson('AAEC', BYTES)).toEqual({ text: '"AAEC"', pieces: ['"', Uint8Array.of(0, 1, 2), '"'] });
  });

  test('has the RFC 8785 text of any value and schema, and the pieces join to it', () => {
    const leaf = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.base64String(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
    );
    const { value } = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom('a', 'b', '__proto__', '10', '9', 'é'), tie('value'), { maxKeys: 4 }),
      ),
    }));
    const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small' },
        fc.constant(BYTES),
        fc.constant({}),
        fc.record({ items: tie('schema') }),
        fc.record({ additionalProperties: tie('schema'), properties: fc.dictionary(fc.constantFrom('a', 'b', '10'), tie('schema')) }),
        fc.record({ oneOf: fc.array(tie('schema'), { maxLength: 2 }) }),
      ),
    }));
    const type = jsonPieces({ max: 1_000_000, arrives: 'in one' });
    fc.assert(
      fc.property(value, schema, (given, by) => {
        const { text, pieces } = writtenJson(given, by);
        expect(text).toBe(canonicalJson(given));
        expect(type.fromCbor(type.toCbor(pieces, PLACE), PLACE)).toBe(text);
      }),
    );
  });

  test('is bounded by its length on the wire, and is copied by a hub that forwards it', () => {
    const { pieces } = writtenJson(base64(1, 2, 3, 4, 5, 6), BYTES);
    const type = (max: number) => jsonPieces({ max, arrives: 'in pieces' });
    expect(() => type(7).toCbor(pieces, PLACE)).toThrow('Message refused: it is more than 7 bytes');
    const message = Uint8Array.of(9, 1, 2, 3);
    const arrived = type(8).fromCbor(['"', message.subarray(1), '"'], PLACE);
    message.fill(0);
    expect(arrived).toEqual(['"', Uint8Array.of(1, 2, 3), '"']);
  });
});
